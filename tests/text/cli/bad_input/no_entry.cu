// The host function has another name than --entry says.
// REQUIRES: nvcc
// ARGS: check %s %d/../sources/rows.json
// EXIT: 4
// CHECK: error[invalid]: the extension has no function 'forward'; it has: apply
// CHECK: no_entry.cu
#include <torch/extension.h>
torch::Tensor apply(torch::Tensor x) { return x; }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("apply", &apply); }
