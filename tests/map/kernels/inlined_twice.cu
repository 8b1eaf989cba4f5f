// One device function with a loop, inlined at two places.
__device__ __forceinline__ float total(const float* x, int n) {
  float s = 0;
#pragma unroll 1
  for (int i = 0; i < n; ++i)  // PLANT loop name=total
    s += x[i];  // PLANT line loads=2x4 fp32=2 in=total inlined=2
  return s;
}

__global__ void twice(const float* x, const float* z, float* y, int n, int m) {
  float a = total(x, n);
  float b = total(z, m);
  y[0] = a * b;  // PLANT line stores=1x4 fp32=1
}
