#include <torch/extension.h>
#include <cuda_runtime.h>

#define TILE 32

// Whole K panels of A (TILE x K) and B (K x TILE) are staged in dynamic shared memory.
__global__ void bmm_panel_kernel(const float* __restrict__ A, const float* __restrict__ B,
                                 float* __restrict__ C, const int M, const int K, const int N) {
    extern __shared__ float smem[];
    float* As = smem;
    float* Bs = smem + TILE * K;

    const int b = blockIdx.z;
    const int row0 = blockIdx.y * TILE;
    const int col0 = blockIdx.x * TILE;
    const float* Ab = A + (size_t)b * M * K;
    const float* Bb = B + (size_t)b * K * N;
    const int tid = threadIdx.y * blockDim.x + threadIdx.x;
    const int nthreads = blockDim.x * blockDim.y;

    for (int i = tid; i < TILE * K; i += nthreads) {
        const int r = row0 + i / K;
        As[i] = r < M ? Ab[(size_t)r * K + i % K] : 0.0f;
    }
    for (int i = tid; i < K * TILE; i += nthreads) {
        const int c = col0 + i % TILE;
        Bs[i] = c < N ? Bb[(size_t)(i / TILE) * N + c] : 0.0f;
    }
    __syncthreads();

    float acc = 0.0f;
    for (int k = 0; k < K; k++) {
        acc += As[threadIdx.y * K + k] * Bs[k * TILE + threadIdx.x];
    }
    const int row = row0 + threadIdx.y, col = col0 + threadIdx.x;
    if (row < M && col < N) C[((size_t)b * M + row) * N + col] = acc;
}

torch::Tensor forward(torch::Tensor A, torch::Tensor B) {
    TORCH_CHECK(A.is_cuda() && B.is_cuda(), "A and B must be CUDA tensors");
    TORCH_CHECK(A.dim() == 3 && B.dim() == 3, "A and B must be 3D");
    TORCH_CHECK(A.size(0) == B.size(0) && A.size(2) == B.size(1), "shape mismatch");
    A = A.contiguous();
    B = B.contiguous();
    const int batch = A.size(0), M = A.size(1), K = A.size(2), N = B.size(2);
    auto C = torch::empty({batch, M, N}, A.options());

    const size_t smem = 2 * (size_t)TILE * K * sizeof(float);
    cudaError_t err = cudaFuncSetAttribute(bmm_panel_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                           (int)smem);
    TORCH_CHECK(err == cudaSuccess, "not enough shared memory for K = ", K);

    dim3 block(TILE, TILE);
    dim3 grid((N + TILE - 1) / TILE, (M + TILE - 1) / TILE, batch);
    bmm_panel_kernel<<<grid, block, smem>>>(A.data_ptr<float>(), B.data_ptr<float>(), C.data_ptr<float>(), M, K, N);
    TORCH_CHECK(cudaGetLastError() == cudaSuccess, "kernel launch failed");
    return C;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Batched matmul (CUDA)");
}
