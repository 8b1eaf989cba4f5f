// More values than the registers that the bound leaves.
__global__ void __launch_bounds__(1024, 2) spills(const float* x, float* y, int n) {
  float v[64];
#pragma unroll
  for (int k = 0; k < 64; ++k) v[k] = x[k * n + threadIdx.x];  // PLANT line loads=64x4 copies=64
  __syncthreads();
#pragma unroll
  for (int k = 0; k < 64; ++k) y[k * n + threadIdx.x] = v[63 - k] * v[(k * 7) & 63];  // PLANT line stores=64x4 fp32=64 spills=1
}
