// Sources of symbolic.ptx (nvcc -ptx -arch=sm_90 -std=c++17 -O3): addresses that depend on data.
#include <stdint.h>

extern "C" {

__global__ void embedding(const int64_t* idx, const float* w, float* y, int n, int d) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n * d) y[i] = w[idx[i / d] * d + i % d];
}

__global__ void cross_entropy(const float* x, const int* label, float* loss, int n, int c) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= n) return;
  float m = x[r * c];
  for (int j = 1; j < c; ++j) m = fmaxf(m, x[r * c + j]);
  float s = 0;
  for (int j = 0; j < c; ++j) s += __expf(x[r * c + j] - m);
  loss[r] = __logf(s) + m - x[r * c + label[r]];
}

__global__ void gather4(const int* idx, const float4* w, float4* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = w[idx[i] + 1];
}

__global__ void scatter(const float* x, const int* idx, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && x[i] > 0) y[idx[i] * 2 + 1] = x[i];
}

__global__ void scatter_add(const float* x, const int* idx, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(y + idx[i], x[i]);
}

__global__ void histogram(const int* x, int* y, int n) {
  __shared__ int bins[32];
  bins[threadIdx.x & 31] = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(&bins[x[i]], 1);
  __syncthreads();
  if (threadIdx.x < 32) atomicAdd(y + threadIdx.x, bins[threadIdx.x]);
}

__global__ void local_scatter(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float a[4] = {0, 0, 0, 0};
  int best = 0;
  for (int j = 1; j < 4; ++j)
    if (x[i * 4 + j] > x[i * 4 + best]) best = j;
  a[best] = x[i * 4 + best];
  for (int j = 0; j < 4; ++j) y[i * 4 + j] = a[j] + best;
}

__global__ void shared_table(const int* idx, const float* x, float* y, int n) {
  __shared__ float t[16];
  if (threadIdx.x < 16) t[threadIdx.x] = x[threadIdx.x] * 2;
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = t[idx[i]];
}

__global__ void pointer_select(const float* a, const float* b, const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float* p = x[i] > 0 ? a : b;
  y[i] = p[i];
}

}  // extern "C"
