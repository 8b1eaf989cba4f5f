#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <cuda_runtime.h>

// One warp per row; chunks of 32 elements from the end, shuffle scan with a running carry.
__global__ void reverse_cumsum_kernel(const float* __restrict__ x, float* __restrict__ out,
                                      const int rows, const int length) {
    const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    if (row >= rows) return;
    const size_t base = (size_t)row * length;

    float carry = 0.0f;
    for (int done = 0; done < length; done += 32) {
        const int i = length - 1 - done - lane;
        float v = i >= 0 ? x[base + i] : 0.0f;

        #pragma unroll
        for (int d = 1; d < 32; d <<= 1) {
            const float up = __shfl_up_sync(0xffffffff, v, d);
            if (lane >= d) v += up;
        }
        v += carry;
        if (i >= 0) out[base + i] = v;
        carry = __shfl_sync(0xffffffff, v, 31);
    }
}

torch::Tensor forward(torch::Tensor x, int64_t dim) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    TORCH_CHECK(x.dim() == 2, "x must be 2D");
    TORCH_CHECK(dim == 1 || dim == -1, "only the last dim is supported");
    x = x.contiguous();
    auto out = torch::empty_like(x);
    const int rows = x.size(0);
    const int length = x.size(1);
    const int threads = 128;
    const int rows_per_block = threads / 32;
    const int blocks = (rows + rows_per_block - 1) / rows_per_block;
    reverse_cumsum_kernel<<<blocks, threads, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), out.data_ptr<float>(), rows, length);
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Reverse cumulative sum (CUDA)");
}
