#include <torch/extension.h>
#include <cuda_runtime.h>

#define TILE 16
#define SPLIT_K 32

// Split-K: blockIdx.z handles one slice of K; partial results are combined with atomicAdd.
__global__ void matmul_split_k_kernel(const float* __restrict__ A, const float* __restrict__ B,
                                      float* __restrict__ C, const int M, const int K, const int N,
                                      const int slice) {
    __shared__ float As[TILE][TILE];
    __shared__ float Bs[TILE][TILE];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * TILE + ty;
    const int col = blockIdx.x * TILE + tx;
    const int k_begin = blockIdx.z * slice;
    const int k_end = min(k_begin + slice, K);

    float acc = 0.0f;
    for (int k0 = k_begin; k0 < k_end; k0 += TILE) {
        As[ty][tx] = (row < M && k0 + tx < k_end) ? A[(size_t)row * K + k0 + tx] : 0.0f;
        Bs[ty][tx] = (k0 + ty < k_end && col < N) ? B[(size_t)(k0 + ty) * N + col] : 0.0f;
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < TILE; k++) acc += As[ty][k] * Bs[k][tx];
        __syncthreads();
    }
    if (row < M && col < N) atomicAdd(&C[row * N + col], acc);
}

torch::Tensor forward(torch::Tensor A, torch::Tensor B) {
    TORCH_CHECK(A.is_cuda() && B.is_cuda(), "A and B must be CUDA tensors");
    TORCH_CHECK(A.size(1) == B.size(0), "inner dimensions must match");
    A = A.contiguous();
    B = B.contiguous();
    const int M = A.size(0), K = A.size(1), N = B.size(1);
    auto C = torch::zeros({M, N}, A.options());
    const int slice = (K + SPLIT_K - 1) / SPLIT_K;
    dim3 block(TILE, TILE);
    dim3 grid((N + TILE - 1) / TILE, (M + TILE - 1) / TILE, SPLIT_K);
    matmul_split_k_kernel<<<grid, block>>>(
        A.data_ptr<float>(), B.data_ptr<float>(), C.data_ptr<float>(), M, K, N, slice);
    return C;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Split-K matmul (CUDA)");
}
