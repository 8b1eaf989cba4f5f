// The reference races: it is no measure, so nothing is refuted by it and nothing proved.
// REQUIRES: nvcc
// ARGS: check %s %d/racy.cu --launch %d/racy.toml
// EXIT: 2
// CHECK: unknown: the reference: two legal schedules give different values
// CHECK: warning[hazard]: reference: 
__global__ void reverse(const float* x, float* y) {
  __shared__ float s[64];
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = s[63 - threadIdx.x];
}
