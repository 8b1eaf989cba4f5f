// The old source asks for more threads than a block may have: nothing is compared with what is not
// run.
// REQUIRES: nvcc
// ARGS: check %d/new.cu %s --inputs %d/rows.json
// EXIT: 2
// CHECK: unknown: the reference: the launch of %any is refused
// CHECK-NOT: refuted:
#include <torch/extension.h>
__global__ void scaled_relu(const float* x, const float* w, float* y, int n, int columns) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f) * w[i % columns];
}

torch::Tensor forward(torch::Tensor x, torch::Tensor weight) {
  auto y = torch::empty_like(x);
  int n = x.numel(), columns = x.size(1);
  scaled_relu<<<1, 2048>>>(x.data_ptr<float>(), weight.data_ptr<float>(), y.data_ptr<float>(), n, columns);
  return y;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
