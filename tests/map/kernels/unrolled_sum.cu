// A loop that nvcc unrolls by four, with a remainder.
__global__ void unrolled_sum(const float* x, float* y, int n) {
  float s = 0;
#pragma unroll 4
  for (int i = 0; i < n; ++i)  // PLANT loop name=sum
    s += x[i * 32 + threadIdx.x];  // PLANT line copies=4 in=sum loops=2
  y[threadIdx.x] = s;  // PLANT line stores=1x4
}
