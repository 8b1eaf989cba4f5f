// Kernels alone need a launch file.
// REQUIRES: nvcc
// ARGS: check %s %d/../sources/rows.json
// EXIT: 4
// CHECK: error[invalid]: the extension has no PYBIND11_MODULE
// CHECK: (kernels without host function: --launch L.toml)
__global__ void f(float* x) { x[0] = 0; }
