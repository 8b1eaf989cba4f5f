#include <torch/extension.h>
#include <cuda_runtime.h>

constexpr int kThreads = 512;

__device__ float mish(float v) { return v * tanhf(log1pf(expf(v))); }

__device__ float total(float v, float* shared) {
  for (int d = 16; d > 0; d >>= 1) v += __shfl_xor_sync(0xffffffffu, v, d);
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = v;
  __syncthreads();
  v = threadIdx.x < kThreads / 32 ? shared[threadIdx.x] : 0.f;
  if (threadIdx.x < 32)
    for (int d = 16; d > 0; d >>= 1) v += __shfl_xor_sync(0xffffffffu, v, d);
  if (threadIdx.x == 0) shared[0] = v;
  __syncthreads();
  v = shared[0];
  __syncthreads();
  return v;
}

__global__ void mish_norm(const float* x, const float* weight, const float* bias,
                          float* running_mean, float* running_var, float* y, float momentum,
                          float eps, int n, int channels, int plane) {
  __shared__ float shared[kThreads / 32];
  const int c = blockIdx.x, count = n * plane;
  float sum = 0.f, squares = 0.f;
  for (int i = threadIdx.x; i < count; i += kThreads) {
    const float v = mish(x[(i / plane * channels + c) * plane + i % plane]);
    sum += v;
    squares += v * v;
  }
  const float mean = total(sum, shared) / count;
  const float var = total(squares, shared) / count - mean * mean;
  if (threadIdx.x == 0) {
    running_mean[c] += momentum * (mean - running_mean[c]);
    running_var[c] = (1.f - momentum) * running_var[c] + momentum * var * count / (count - 1);
  }
  const float scale = weight[c] * rsqrtf(var + eps);
  for (int i = threadIdx.x; i < count; i += kThreads) {
    const int at = (i / plane * channels + c) * plane + i % plane;
    y[at] = (mish(x[at]) - mean) * scale + bias[c];
  }
}

torch::Tensor forward(torch::Tensor x, torch::Tensor weight, torch::Tensor bias,
                      torch::Tensor running_mean, torch::Tensor running_var, double momentum,
                      double eps) {
  auto y = torch::empty_like(x);
  mish_norm<<<x.size(1), kThreads>>>(
      x.data_ptr<float>(), weight.data_ptr<float>(), bias.data_ptr<float>(),
      running_mean.data_ptr<float>(), running_var.data_ptr<float>(), y.data_ptr<float>(),
      static_cast<float>(momentum), static_cast<float>(eps), x.size(0), x.size(1),
      x.size(2) * x.size(3));
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
