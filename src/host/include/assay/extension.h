#pragma once
// What <torch/extension.h> brings.
#include <cmath>

#include "assay/cuda.h"
#include "assay/dispatch.h"
#include "assay/nn.h"
#include "assay/python.h"

namespace torch {
template <class R, class... A>
auto wrap_pybind_function(R (*f)(A...)) {
  return f;
}
}  // namespace torch
