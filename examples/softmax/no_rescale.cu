// As right.cu, but the sums are merged without being rescaled to the common maximum. Where all
// threads see about the same maximum, as with random input, the result is close.
#include <torch/extension.h>

__global__ void softmax(const float* x, float* y, int features) {
  __shared__ float maxima[256], sums[256];
  const float* row = x + static_cast<size_t>(blockIdx.x) * features;
  float m = -INFINITY, s = 0;
  for (int i = threadIdx.x; i < features; i += 256) {
    float next = fmaxf(m, row[i]);
    s = s * __expf(m - next) + __expf(row[i] - next);
    m = next;
  }
  maxima[threadIdx.x] = m;
  sums[threadIdx.x] = s;
  __syncthreads();
  for (int d = 128; d > 0; d /= 2) {
    if (threadIdx.x < d) {
      float a = maxima[threadIdx.x], b = maxima[threadIdx.x + d], c = fmaxf(a, b);
      sums[threadIdx.x] += sums[threadIdx.x + d];
      maxima[threadIdx.x] = c;
    }
    __syncthreads();
  }
  for (int i = threadIdx.x; i < features; i += 256) {
    y[static_cast<size_t>(blockIdx.x) * features + i] = __expf(row[i] - maxima[0]) / sums[0];
  }
}

torch::Tensor forward(torch::Tensor x) {
  auto y = torch::empty_like(x);
  softmax<<<x.size(0), 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward, "softmax"); }
