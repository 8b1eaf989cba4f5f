// The old source leaves elements unwritten: there nothing is proved, and nothing refuted by it. Its
// host function has a name of its own.
// REQUIRES: nvcc
// ARGS: check %d/new.cu %s --inputs %d/rows.json --reference-entry first --json %t/out.json
// EXIT: 2
// CHECK: unknown: the reference: no thread writes 94 of the 350 elements
// CHECK-NOT: refuted
// CHECK-FILE: %t/out.json
// CHECK: "verdict": "unknown"
// CHECK: "class": "unwritten"
// CHECK: "side": "reference"
#include <torch/extension.h>
__global__ void scaled_relu(const float* x, const float* w, float* y, int n, int columns) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f) * w[i % columns];
}

torch::Tensor first(torch::Tensor x, torch::Tensor weight) {
  auto y = torch::empty_like(x);
  int n = x.numel(), columns = x.size(1);
  scaled_relu<<<n / 128, 128>>>(x.data_ptr<float>(), weight.data_ptr<float>(), y.data_ptr<float>(), n, columns);
  return y;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("first", &first); }
