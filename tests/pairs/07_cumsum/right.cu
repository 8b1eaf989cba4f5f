#include <torch/extension.h>
#include <cuda_runtime.h>

#define BLOCK 512

// One block per row; the row is scanned in chunks of BLOCK elements with a running carry.
__global__ void cumsum_kernel(const float* __restrict__ x, float* __restrict__ out, int length) {
    __shared__ float buf[BLOCK];
    const int tid = threadIdx.x;
    const size_t row = (size_t)blockIdx.x * length;

    float carry = 0.0f;
    for (int start = 0; start < length; start += BLOCK) {
        const int i = start + tid;
        buf[tid] = (i < length) ? x[row + i] : 0.0f;
        __syncthreads();

        for (int offset = 1; offset < BLOCK; offset <<= 1) {
            float add = 0.0f;
            if (tid >= offset) add = buf[tid - offset];
            __syncthreads();
            buf[tid] += add;
            __syncthreads();
        }

        if (i < length) out[row + i] = buf[tid] + carry;
        carry += buf[BLOCK - 1];
        __syncthreads();
    }
}

torch::Tensor forward(torch::Tensor x, int64_t dim) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    TORCH_CHECK(x.dim() == 2, "x must be 2D");
    TORCH_CHECK(dim == 1 || dim == -1, "only the last dimension is supported");
    x = x.contiguous();
    auto out = torch::empty_like(x);
    cumsum_kernel<<<x.size(0), BLOCK>>>(x.data_ptr<float>(), out.data_ptr<float>(), x.size(1));
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Cumulative sum (CUDA)");
}
