// Two kernels and a device function that stays a call.
__device__ __noinline__ float hard(float x) {
  return x / (1.0f + x * x);  // PLANT line function=hard
}

__global__ void first(float* x) {
  x[threadIdx.x] = hard(x[threadIdx.x]);  // PLANT line loads=1x4 stores=1x4 function=first
}

__global__ void second(float* x) {
  x[threadIdx.x] = hard(x[threadIdx.x]) + 1.0f;  // PLANT line loads=1x4 stores=1x4 fp32=1 function=second
}
