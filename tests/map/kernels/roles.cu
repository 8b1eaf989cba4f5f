// A producer warp and consumers that meet at mbarriers.
#include <cstdint>

__device__ __forceinline__ void wait(uint32_t bar, int phase) {
  asm volatile(
      "{\n.reg .pred p;\nagain: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
      "@!p bra again;\n}" ::"r"(bar),
      "r"(phase));
}

__global__ void roles(const float* x, float* y, int n) {
  __shared__ float stage[128];
  __shared__ uint64_t full, empty;
  uint32_t f = static_cast<uint32_t>(__cvta_generic_to_shared(&full));
  uint32_t e = static_cast<uint32_t>(__cvta_generic_to_shared(&empty));
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 32;" ::"r"(f));
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 96;" ::"r"(e));
  }
  __syncthreads();
  if (threadIdx.x / 32 == 0) {
#pragma unroll 1
    for (int k = 0; k < n; ++k) {  // PLANT loop name=produce role=1
      wait(e, k & 1 ^ 1);
      stage[threadIdx.x] = x[k * 32 + threadIdx.x];  // PLANT line loads=1x4 in=produce
      asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(f));
    }
  } else {
    float s = 0;
#pragma unroll 1
    for (int k = 0; k < n; ++k) {  // PLANT loop name=consume role=1
      wait(f, k & 1);
      s += stage[threadIdx.x & 31];  // PLANT line shared_loads=1x4 fp32=1 in=consume
      asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(e));
    }
    y[threadIdx.x] = s;  // PLANT line stores=1x4
  }
}
