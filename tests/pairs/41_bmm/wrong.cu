#include <torch/extension.h>
#include <cuda_runtime.h>

#define BM 32
#define BN 32

// C[b] = A[b] * B[b]; the A panel stays in shared memory for the whole block, B streams through it.
__global__ void bmm_kernel(const float* __restrict__ A, const float* __restrict__ B,
                           float* __restrict__ C, int M, int K, int N) {
    extern __shared__ float panel[];  // BM x K of A followed by K x BN of B
    float* a_panel = panel;
    float* b_panel = panel + BM * K;

    const int batch = blockIdx.z;
    A += (size_t)batch * M * K;
    B += (size_t)batch * K * N;
    C += (size_t)batch * M * N;

    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * BM + ty;
    const int col = blockIdx.x * BN + tx;

    for (int k = tx; k < K; k += BN) a_panel[ty * K + k] = row < M ? A[row * K + k] : 0.0f;
    for (int k = ty; k < K; k += BM) b_panel[k * BN + tx] = col < N ? B[k * N + col] : 0.0f;
    __syncthreads();

    float sum = 0.0f;
    #pragma unroll 16
    for (int k = 0; k < K; k++) sum = fmaf(a_panel[ty * K + k], b_panel[k * BN + tx], sum);

    if (row < M && col < N) C[row * N + col] = sum;
}

torch::Tensor forward(torch::Tensor A, torch::Tensor B) {
    TORCH_CHECK(A.is_cuda(), "A must be a CUDA tensor");
    TORCH_CHECK(B.is_cuda(), "B must be a CUDA tensor");
    TORCH_CHECK(A.size(0) == B.size(0), "batch size mismatch");
    TORCH_CHECK(A.size(2) == B.size(1), "inner dimension mismatch");
    auto a = A.contiguous();
    auto b = B.contiguous();
    const int batch = a.size(0), M = a.size(1), K = a.size(2), N = b.size(2);
    auto C = torch::empty({batch, M, N}, a.options());

    const size_t smem_bytes = (BM * K + K * BN) * sizeof(float);
    dim3 threads(BN, BM);
    dim3 blocks((N + BN - 1) / BN, (M + BM - 1) / BM, batch);
    bmm_kernel<<<blocks, threads, smem_bytes>>>(
        a.data_ptr<float>(), b.data_ptr<float>(), C.data_ptr<float>(), M, K, N);
    return C;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Batched matmul (CUDA)");
}
