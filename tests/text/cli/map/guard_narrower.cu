// ARGS: guard %s %d/inputs/narrow.cu
// EXIT: 1
// REQUIRES: nvcc
// CHECK: regression: k(float4*, float4 const*): global load width: 16 B before, 4 B now
// CHECK: regression: k(float4*, float4 const*): global store width: 16 B before, 4 B now
__global__ void k(float4* to, const float4* from) { to[threadIdx.x] = from[threadIdx.x]; }
