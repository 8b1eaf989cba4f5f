#include <torch/extension.h>

#include "norm.h"

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &layer_norm, "layer norm"); }
