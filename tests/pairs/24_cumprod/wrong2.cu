#include <torch/extension.h>
#include <cuda_runtime.h>

#define BLOCK 256
#define ITEMS 4

// One block per row: each thread scans ITEMS elements, then a scan of the thread products.
__global__ void cumprod_block_kernel(const float* __restrict__ input, float* __restrict__ output, const int length) {
    __shared__ float prods[BLOCK];
    const int tid = threadIdx.x;
    const size_t row = (size_t)blockIdx.x * length;

    float vals[ITEMS];
    float p = 1.0f;
    #pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        const int i = tid * ITEMS + k;
        p *= (i < length) ? input[row + i] : 1.0f;
        vals[k] = p;
    }
    prods[tid] = p;
    __syncthreads();

    for (int d = 1; d < BLOCK; d <<= 1) {
        const float left = tid >= d ? prods[tid - d] : 1.0f;
        __syncthreads();
        prods[tid] *= left;
        __syncthreads();
    }

    const float prefix = tid > 0 ? prods[tid] / p : 1.0f;
    #pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        const int i = tid * ITEMS + k;
        if (i < length) output[row + i] = prefix * vals[k];
    }
}

torch::Tensor forward(torch::Tensor input, int64_t dim) {
    TORCH_CHECK(input.is_cuda(), "input must be a CUDA tensor");
    TORCH_CHECK(input.dim() == 2 && dim == 1, "only dim 1 of a 2-D tensor");
    TORCH_CHECK(input.size(1) <= BLOCK * ITEMS, "row too long");
    input = input.contiguous();
    auto output = torch::empty_like(input);
    cumprod_block_kernel<<<input.size(0), BLOCK>>>(
        input.data_ptr<float>(), output.data_ptr<float>(), (int)input.size(1));
    return output;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Cumulative product (CUDA)");
}
