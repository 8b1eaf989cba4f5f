// Two stages of cp.async.
__device__ __forceinline__ void copy(float* to, const float* from) {
  unsigned s = static_cast<unsigned>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(s), "l"(from));  // PLANT line cp_async=2x16 inlined=2
}

__global__ void pipelined(const float* x, float* y, int n) {
  __shared__ float stage[2][128];
  copy(&stage[0][threadIdx.x * 4], x + threadIdx.x * 4);
  asm volatile("cp.async.commit_group;");
  float s = 0;
#pragma unroll 1
  for (int k = 0; k < n; ++k) {  // PLANT loop name=stages
    copy(&stage[(k + 1) & 1][threadIdx.x * 4], x + (k + 1) * 128 + threadIdx.x * 4);
    asm volatile("cp.async.commit_group;");
    asm volatile("cp.async.wait_group 1;");  // PLANT line wait=cp.async in=stages
    __syncthreads();  // PLANT line wait=bar in=stages
    s += stage[k & 1][threadIdx.x];  // PLANT line shared_loads=1x4 fp32=1 in=stages
    __syncthreads();  // PLANT line wait=bar in=stages
  }
  y[threadIdx.x] = s;  // PLANT line stores=1x4
}
