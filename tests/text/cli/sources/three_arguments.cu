// The reference takes other arguments than the inputs give: its file is named.
// REQUIRES: nvcc
// ARGS: check %d/new.cu %s --inputs %d/rows.json
// EXIT: 4
// CHECK: error[invalid]: %any(Tensor, Tensor, Tensor)
// CHECK: three_arguments.cu
#include <torch/extension.h>
torch::Tensor forward(torch::Tensor x, torch::Tensor y, torch::Tensor z) { return x + y + z; }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
