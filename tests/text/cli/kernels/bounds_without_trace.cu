// A barrier under a condition on data, which no trace follows; the store beyond shared memory is
// seen all the same, and refutes.
// REQUIRES: nvcc
// ARGS: check %s %d/silu.cu --launch %d/silu.toml
// EXIT: 1
// CHECK: refuted: out-of-bounds
// CHECK: unsupported
__global__ void silu(const float* x, float* y, int n) {
  __shared__ float s[256];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  s[threadIdx.x + 1] = i < n ? x[i] : 0;
  __syncthreads();
  float sum = s[threadIdx.x];
  if (x[0] > 0) {
    __syncthreads();
    s[threadIdx.x] = sum;
    __syncthreads();
    sum += s[threadIdx.x ^ 1];
  }
  if (i < n) y[i] = sum;
}
