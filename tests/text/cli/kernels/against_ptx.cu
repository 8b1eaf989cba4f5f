// A source against PTX that is all there is of the other version.
// REQUIRES: nvcc
// ARGS: check %s %d/square.ptx --launch %d/square.toml
// CHECK: proved: equal to the reference at 300 of 300 output elements
// CHECK: square.ptx: PTX alone
// CHECK-NOT: against_ptx.cu: PTX alone
__global__ void square(const float* x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < 300) y[i] = x[i] * x[i];
}
