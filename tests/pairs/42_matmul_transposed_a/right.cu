#include <torch/extension.h>
#include <cuda_runtime.h>

constexpr int TILE = 16;

__global__ void matmul_tn_kernel(const float* __restrict__ A, const float* __restrict__ B,
                                 float* __restrict__ C, const int K, const int M, const int N) {
    __shared__ float As[TILE][TILE];  // As[k][m]
    __shared__ float Bs[TILE][TILE];  // Bs[k][n]
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int m = blockIdx.y * TILE + ty;
    const int n = blockIdx.x * TILE + tx;

    float acc = 0.0f;
    for (int k0 = 0; k0 < K; k0 += TILE) {
        const int k = k0 + ty;
        const int m_load = blockIdx.y * TILE + tx;
        As[ty][tx] = (k < K && m_load < M) ? A[(size_t)k * M + m_load] : 0.0f;
        Bs[ty][tx] = (k < K && n < N) ? B[(size_t)k * N + n] : 0.0f;
        __syncthreads();
        #pragma unroll
        for (int i = 0; i < TILE; ++i) acc += As[i][ty] * Bs[i][tx];
        __syncthreads();
    }
    if (m < M && n < N) C[(size_t)m * N + n] = acc;
}

torch::Tensor forward(torch::Tensor A, torch::Tensor B) {
    TORCH_CHECK(A.is_cuda() && B.is_cuda(), "A and B must be CUDA tensors");
    TORCH_CHECK(A.size(0) == B.size(0), "A and B must agree in dim 0");
    A = A.contiguous();
    B = B.contiguous();
    const int K = A.size(0), M = A.size(1), N = B.size(1);
    auto C = torch::empty({M, N}, A.options());
    dim3 block(TILE, TILE);
    dim3 grid((N + TILE - 1) / TILE, (M + TILE - 1) / TILE);
    matmul_tn_kernel<<<grid, block>>>(A.data_ptr<float>(), B.data_ptr<float>(), C.data_ptr<float>(), K, M, N);
    return C;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Matmul with transposed A (CUDA)");
}
