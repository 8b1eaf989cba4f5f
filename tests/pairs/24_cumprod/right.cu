#include <torch/extension.h>
#include <cuda_runtime.h>

template <typename scalar_t>
__global__ void cumprod_kernel(scalar_t* __restrict__ output,
                               const scalar_t* __restrict__ input,
                               const int64_t stride,
                               const int64_t dim_size,
                               const int64_t total_scans) {
    const int64_t idx = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (idx >= total_scans) return;
    const int64_t outer = idx / stride;
    const int64_t inner = idx % stride;
    const int64_t start = outer * stride * dim_size + inner;

    scalar_t product = 1;
    for (int64_t i = 0; i < dim_size; i++) {
        product *= input[start + i * stride];
        output[start + i * stride] = product;
    }
}

torch::Tensor forward(torch::Tensor input, int64_t dim) {
    TORCH_CHECK(input.is_cuda(), "input must be a CUDA tensor");
    if (dim < 0) dim += input.dim();
    input = input.contiguous();
    auto output = torch::empty_like(input);
    const int64_t dim_size = input.size(dim);
    const int64_t stride = input.stride(dim);
    const int64_t total_scans = input.numel() / dim_size;
    const int threads = 256;
    const int blocks = (total_scans + threads - 1) / threads;
    AT_DISPATCH_FLOATING_TYPES(input.scalar_type(), "cumprod_cuda", ([&] {
        cumprod_kernel<scalar_t><<<blocks, threads>>>(
            output.data_ptr<scalar_t>(), input.data_ptr<scalar_t>(), stride, dim_size, total_scans);
    }));
    return output;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Cumulative product (CUDA)");
}
