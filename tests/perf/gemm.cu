// The GEMMs whose PTX is tests/perf/gemm.ptx (nvcc -ptx -arch=sm_90 -O3 gemm.cu): CTAs of 8 x 8, 16
// x 16 and 32 x 32 threads, a tile of as many elements each.
template <int T>
__device__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  __shared__ float a[T][T], b[T][T];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int row = blockIdx.y * T + ty, col = blockIdx.x * T + tx;
  float acc = 0.f;
  for (int t = 0; t < (K + T - 1) / T; ++t) {
    a[ty][tx] = row < M && t * T + tx < K ? A[row * K + t * T + tx] : 0.f;
    b[ty][tx] = col < N && t * T + ty < K ? B[(t * T + ty) * N + col] : 0.f;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < T; ++k) acc += a[ty][k] * b[k][tx];
    __syncthreads();
  }
  if (row < M && col < N) C[row * N + col] = acc;
}

#define GEMM(T)                                                                              \
  extern "C" __global__ void gemm##T(const float* A, const float* B, float* C, int M, int N, \
                                     int K) {                                                \
    gemm<T>(A, B, C, M, N, K);                                                               \
  }
GEMM(8)
GEMM(16)
GEMM(32)
