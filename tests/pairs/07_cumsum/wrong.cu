#include <torch/extension.h>
#include <cuda_runtime.h>

// Inclusive Hillis-Steele scan per row, processed in chunks.
template <int BLOCK_SIZE>
__global__ void cumsum_kernel(const float* __restrict__ x, float* __restrict__ out, const int length) {
    __shared__ float temp[BLOCK_SIZE];
    __shared__ float carry;

    const int tid = threadIdx.x;
    const float* x_row = x + blockIdx.x * length;
    float* o_row = out + blockIdx.x * length;

    if (tid == 0) carry = 0.0f;
    __syncthreads();

    const int chunks = (length + BLOCK_SIZE - 1) / BLOCK_SIZE;
    for (int c = 0; c < chunks; ++c) {
        const int i = c * BLOCK_SIZE + tid;
        temp[tid] = i < length ? x_row[i] : 0.0f;
        __syncthreads();

        for (int d = 1; d < BLOCK_SIZE; d *= 2) {
            if (tid >= d) {
                temp[tid] += temp[tid - d];
            }
            __syncthreads();
        }

        if (i < length) {
            o_row[i] = temp[tid] + carry;
        }
        __syncthreads();
        if (tid == BLOCK_SIZE - 1) carry += temp[tid];
        __syncthreads();
    }
}

torch::Tensor forward(torch::Tensor x, int64_t dim) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    TORCH_CHECK(x.dim() == 2, "expected a 2D tensor");
    TORCH_CHECK(dim == 1, "expected dim == 1");
    auto input = x.contiguous();
    auto out = torch::empty_like(input);
    const int rows = input.size(0);
    const int length = input.size(1);
    cumsum_kernel<256><<<rows, 256>>>(input.data_ptr<float>(), out.data_ptr<float>(), length);
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Cumulative sum (CUDA)");
}
