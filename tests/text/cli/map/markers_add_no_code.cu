// ARGS: diff %s %d/inputs/unmarked.cu
// REQUIRES: nvcc
// CHECK: k(float*, int) same
#include <assay/region.h>
__global__ void k(float* x, int n) {
  float s = 0;
  for (int i = 0; i < n; ++i) {
    ASSAY_REGION("add up");
    s += x[i];
  }
  ASSAY_REGION("store");
  x[threadIdx.x] = s;
}
