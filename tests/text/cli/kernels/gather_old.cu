__global__ void scale(float* x) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < 10000) x[i] = x[i] * 3.0f;
}
__global__ void gather(const float* x, const int* index, float* y) {
  y[threadIdx.x] = x[index[threadIdx.x]];
}
