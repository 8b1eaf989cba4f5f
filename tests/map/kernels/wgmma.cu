// Two asynchronous tensor operations and their wait.
#include <cstdint>

__global__ void wgmma_pair(uint64_t a, uint64_t b, float* out, int n) {
  float d[4] = {0, 0, 0, 0};
#pragma unroll 1
  for (int k = 0; k < n; ++k) {  // PLANT loop name=k
    asm volatile("wgmma.fence.sync.aligned;");
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0,%1,%2,%3}, %4, %5, 1, 1, 1, 0, 0;"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "l"(a + k), "l"(b));  // PLANT line tensor=1 in=k
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0,%1,%2,%3}, %4, %5, 1, 1, 1, 0, 0;"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "l"(a + k + 2), "l"(b + 2));  // PLANT line tensor=1 in=k
    asm volatile("wgmma.commit_group.sync.aligned;");
    asm volatile("wgmma.wait_group.sync.aligned 0;");  // PLANT line wait=wgmma in=k
  }
  for (int i = 0; i < 4; ++i) out[threadIdx.x * 4 + i] = d[i];
}
