// A gather at an index of many values, from a tensor that the launch before has changed otherwise
// than the reference's: what is read is not the tensor that the check began with.
// REQUIRES: nvcc
// ARGS: check %s %d/gather_old.cu --launch %d/gather.toml --at 0:3
// EXIT: 1
// CHECK: refuted
// CHECK-NOT: proved:
__global__ void scale(float* x) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < 10000) x[i] = x[i] * 2.0f;
}
__global__ void gather(const float* x, const int* index, float* y) {
  y[threadIdx.x] = x[index[threadIdx.x]];
}
