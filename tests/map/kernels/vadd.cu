// One line that does everything.
__global__ void vadd(const float* a, const float* b, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];  // PLANT line loads=2x4 stores=1x4 fp32=1
}
