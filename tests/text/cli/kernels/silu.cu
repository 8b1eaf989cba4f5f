// Two files of kernels alone, launched as a TOML file says: both builds of both are made, so that
// the exponential is a function and the proof needs no model of its polynomial.
// REQUIRES: nvcc
// ARGS: check %s %d/old.cu --launch %d/silu.toml
// CHECK: proved: equal to the reference at 1100 of 1100 output elements
// CHECK-NOT: PTX alone
// CHECK-NOT: no concrete run
// CHECK: a wrong proof has a chance below
#include <cuda_fp16.h>

__device__ __forceinline__ float sigmoid(float v) { return 1.0f / (1.0f + expf(-v)); }

template <int kUnroll>
__device__ void run(const float* x, float* y, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += kUnroll * gridDim.x * blockDim.x)
    y[i] = x[i] * sigmoid(x[i]);
}

__global__ void silu(const float* x, float* y, int n) { run<1>(x, y, n); }

// Plain nvcc has operators on half; PyTorch's flags take them away.
__global__ void unused(half* h) { h[threadIdx.x] = h[threadIdx.x] * h[threadIdx.x]; }
