// Two sources, called as the inputs file says, at its shapes; the shapes of both are altered alike.
// REQUIRES: nvcc
// ARGS: check %s %d/old.cu --inputs %d/rows.json
// CHECK: proved: equal to the reference at 350 of 350 output elements
// CHECK: at columns=71: proved
// CHECK: a wrong proof has a chance below
#include <torch/extension.h>
__global__ void rowwise(const float* x, const float* w, float* y, int n, int columns) {
  const float* row = x + blockIdx.x * columns;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) {
    float v = row[i];
    y[blockIdx.x * columns + i] = v > 0.0f ? v * w[i] : 0.0f;
  }
}

torch::Tensor forward(torch::Tensor x, torch::Tensor weight) {
  auto y = torch::empty_like(x);
  int n = x.numel(), columns = x.size(1);
  rowwise<<<n / columns, 32>>>(x.data_ptr<float>(), weight.data_ptr<float>(), y.data_ptr<float>(), n, columns);
  return y;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
