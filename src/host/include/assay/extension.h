#pragma once
// What <torch/extension.h> brings. torch::nn::functional comes where a source names it (see
// source_scan.cpp).
#include <cmath>

#include "assay/cuda.h"
#include "assay/dispatch.h"
#include "assay/python.h"
#include "assay/torch.h"

namespace torch {
template <class R, class... A>
auto wrap_pybind_function(R (*f)(A...)) {
  return f;
}
}  // namespace torch
