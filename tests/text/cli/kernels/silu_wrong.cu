// A bug against the old kernel, shown by the real builds of both.
// REQUIRES: nvcc
// ARGS: check %s %d/old.cu --launch %d/silu.toml
// EXIT: 1
// CHECK: refuted: value: the values differ
// CHECK: silu_wrong.cu:%int
// CHECK: the real builds of both on the virtual GPU
__global__ void silu(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] / (1.0f - expf(-x[i]));
}
