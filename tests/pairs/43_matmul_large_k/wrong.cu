#include <torch/extension.h>
#include <cuda_runtime.h>

#define TS 32

__global__ void matmul_splitk_kernel(const float* __restrict__ A, const float* __restrict__ B,
                                     float* __restrict__ C, int M, int K, int N, int k_per_block) {
    __shared__ float sA[TS][TS + 1];
    __shared__ float sB[TS][TS + 1];

    const int row = blockIdx.y * TS + threadIdx.y;
    const int col = blockIdx.x * TS + threadIdx.x;
    const int k_start = blockIdx.z * k_per_block;
    const int k_stop = min(K, k_start + k_per_block);

    float sum = 0.0f;
    for (int t = k_start; t < k_stop; t += TS) {
        const int ka = t + threadIdx.x;
        const int kb = t + threadIdx.y;
        sA[threadIdx.y][threadIdx.x] = (row < M && ka < k_stop) ? A[row * K + ka] : 0.0f;
        sB[threadIdx.y][threadIdx.x] = (col < N && kb < k_stop) ? B[kb * N + col] : 0.0f;
        __syncthreads();
        #pragma unroll
        for (int i = 0; i < TS; ++i) sum += sA[threadIdx.y][i] * sB[i][threadIdx.x];
        __syncthreads();
    }

    if (row < M && col < N) {
        if (blockIdx.z == 0) {
            C[row * N + col] = sum;
        } else {
            atomicAdd(&C[row * N + col], sum);
        }
    }
}

torch::Tensor forward(torch::Tensor A, torch::Tensor B) {
    TORCH_CHECK(A.is_cuda(), "A must be a CUDA tensor");
    TORCH_CHECK(B.is_cuda(), "B must be a CUDA tensor");
    auto a = A.contiguous();
    auto b = B.contiguous();
    const int M = a.size(0), K = a.size(1), N = b.size(1);
    auto C = torch::zeros({M, N}, a.options());

    const int splits = K >= 4096 ? 16 : 1;
    const int k_per_block = (K + splits - 1) / splits;
    dim3 block(TS, TS);
    dim3 grid((N + TS - 1) / TS, (M + TS - 1) / TS, splits);
    matmul_splitk_kernel<<<grid, block>>>(
        a.data_ptr<float>(), b.data_ptr<float>(), C.data_ptr<float>(), M, K, N, k_per_block);
    return C;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Split-K matmul (CUDA)");
}
