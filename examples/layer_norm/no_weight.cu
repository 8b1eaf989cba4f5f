// As right.cu, but weight and bias are never applied. A fresh LayerNorm has weight 1 and bias 0, so
// every test with random input passes.
#include <torch/extension.h>

__device__ float2 warp_sum(float2 v) {
  for (int d = 16; d > 0; d /= 2) {
    v.x += __shfl_xor_sync(0xffffffffu, v.x, d);
    v.y += __shfl_xor_sync(0xffffffffu, v.y, d);
  }
  return v;
}

__global__ void layer_norm(const float* x, const float* weight, const float* bias, float* y,
                           int features) {
  __shared__ float2 partial[8];
  const float* row = x + static_cast<size_t>(blockIdx.x) * features;
  float2 sum = {0, 0};
  for (int i = threadIdx.x; i < features; i += blockDim.x) {
    sum.x += row[i];
    sum.y += row[i] * row[i];
  }
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
  __syncthreads();
  float2 total = {0, 0};
  for (int w = 0; w < 8; ++w) {
    total.x += partial[w].x;
    total.y += partial[w].y;
  }
  float mean = total.x / features;
  float scale = rsqrtf(total.y / features - mean * mean + 1e-5f);
  for (int i = threadIdx.x; i < features; i += blockDim.x) {
    y[static_cast<size_t>(blockIdx.x) * features + i] = (row[i] - mean) * scale;
  }
}

torch::Tensor forward(torch::Tensor x, torch::Tensor weight, torch::Tensor bias) {
  auto y = torch::empty_like(x);
  layer_norm<<<x.size(0), 256>>>(x.data_ptr<float>(), weight.data_ptr<float>(),
                                 bias.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward, "layer norm"); }
