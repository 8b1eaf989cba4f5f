// The GEMM whose PTX is tests/perf/gemm.ptx (nvcc -ptx -arch=sm_90 -O3 gemm.cu).
extern "C" __global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  __shared__ float a[32][32], b[32][32];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int row = blockIdx.y * 32 + ty, col = blockIdx.x * 32 + tx;
  float acc = 0.f;
  for (int t = 0; t < (K + 31) / 32; ++t) {
    a[ty][tx] = row < M && t * 32 + tx < K ? A[row * K + t * 32 + tx] : 0.f;
    b[ty][tx] = col < N && t * 32 + ty < K ? B[(t * 32 + ty) * N + col] : 0.f;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 32; ++k) acc += a[ty][k] * b[k][tx];
    __syncthreads();
  }
  if (row < M && col < N) C[row * N + col] = acc;
}
