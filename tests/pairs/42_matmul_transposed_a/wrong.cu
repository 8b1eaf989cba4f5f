#include <torch/extension.h>
#include <cuda_runtime.h>

// Each thread computes a 1 x 4 strip of C.
__global__ void matmul_tn_kernel(const float* __restrict__ A, const float* __restrict__ B,
                                 float* __restrict__ C, const int M, const int N, const int K) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int col = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    if (row >= M || col >= N) return;

    float acc[4] = {0.f, 0.f, 0.f, 0.f};
    const int width = min(4, N - col);
    for (int k = 0; k < K; k++) {
        const float a = __ldg(&A[k * K + row]);
        for (int j = 0; j < width; j++) {
            acc[j] += a * __ldg(&B[k * N + col + j]);
        }
    }
    for (int j = 0; j < width; j++) C[row * N + col + j] = acc[j];
}

torch::Tensor forward(torch::Tensor A, torch::Tensor B) {
    TORCH_CHECK(A.is_cuda(), "A must be a CUDA tensor");
    TORCH_CHECK(B.is_cuda(), "B must be a CUDA tensor");
    A = A.contiguous();
    B = B.contiguous();
    const int K = A.size(0);
    const int M = A.size(1);
    const int N = B.size(1);
    auto C = torch::empty({M, N}, A.options());
    dim3 block(16, 16);
    dim3 grid((N + 63) / 64, (M + 15) / 16);
    matmul_tn_kernel<<<grid, block>>>(A.data_ptr<float>(), B.data_ptr<float>(), C.data_ptr<float>(), M, N, K);
    return C;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Matmul with transposed A (CUDA)");
}
