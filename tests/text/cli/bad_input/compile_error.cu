// The compiler's words, once, and the line.
// REQUIRES: nvcc
// ARGS: check %s %d/../sources/rows.json --json %t/out.json
// EXIT: 4
// CHECK: error[invalid]: the compiler rejects the source:
// CHECK: compile_error.cu(14): error: identifier "undeclared" is undefined
// CHECK: --> %pathcompile_error.cu:14
// CHECK-FILE: %t/out.json
// CHECK: "exit_code": 4
// CHECK: "line": 14

#include <torch/extension.h>
torch::Tensor forward(torch::Tensor x, torch::Tensor weight) {
  return undeclared(x);
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
