// ARGS: map %s
// REQUIRES: nvcc
// ENV: ASSAY_NVDISASM=
// CHECK: not known: machine instructions: no nvdisasm
// CHECK: k(float*)
// CHECK: loop %int for (int i = 0; i < n; ++i)
// CHECK: named regions
// CHECK: add up %any 1 fp32
// CHECK-NOT: internal
#include <assay/region.h>
__global__ void k(float* x) {
  int n = static_cast<int>(x[0]);
  float s = 0;
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    ASSAY_REGION("add up");
    s += x[i];
  }
  x[threadIdx.x] = s;
}
