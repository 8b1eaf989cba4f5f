// A tile loop with an unrolled, inlined inner product between two barriers.
__device__ __forceinline__ float step(float a, float b, float c) {
  return a * b + c;  // PLANT line fp32=16 copies=16 in=tile inlined=1
}

__global__ void tiled(const float* A, const float* B, float* C, int n) {
  __shared__ float sa[16][16];
  __shared__ float sb[16][16];
  int row = blockIdx.y * 16 + threadIdx.y;
  int col = blockIdx.x * 16 + threadIdx.x;
  float acc = 0;
  for (int t = 0; t < n / 16; ++t) {  // PLANT loop name=tile
    sa[threadIdx.y][threadIdx.x] = A[row * n + t * 16 + threadIdx.x];  // PLANT line loads=1x4 in=tile
    sb[threadIdx.y][threadIdx.x] = B[(t * 16 + threadIdx.y) * n + col];  // PLANT line loads=1x4 in=tile
    __syncthreads();  // PLANT line wait=bar in=tile
#pragma unroll
    for (int k = 0; k < 16; ++k)
      acc = step(sa[threadIdx.y][k], sb[k][threadIdx.x], acc);  // PLANT line copies=16 in=tile
    __syncthreads();  // PLANT line wait=bar in=tile
  }
  C[row * n + col] = acc;  // PLANT line stores=1x4
}
