// ARGS: diff %s %d/inputs/moved.cu
// REQUIRES: nvcc
// CHECK: k(float*, int) changed
// CHECK: special function 0 → 1
// CHECK: regions as before
// CHECK-NOT: gone
__global__ void k(float* x, int n) {
  float s = 0;
#pragma unroll 1
  for (int i = 0; i < n; ++i) s += x[i];
  x[threadIdx.x] = s;
}
