// ARGS: guard %s %s
// REQUIRES: nvcc
// CHECK: no regression in 1 kernels
__global__ void k(float4* x, const float4* y) { x[threadIdx.x] = y[threadIdx.x]; }
