#include <torch/extension.h>
#include <cuda_runtime.h>

template <typename scalar_t>
__global__ void argmin_kernel(const scalar_t* __restrict__ x, int64_t* __restrict__ output,
                              const int K, const int64_t outer_size, const int64_t inner_size) {
    const int64_t total = outer_size * inner_size;
    for (int64_t idx = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; idx < total;
         idx += (int64_t)gridDim.x * blockDim.x) {
        const int64_t outer = idx / inner_size;
        const int64_t inner = idx % inner_size;
        const scalar_t* slice = x + outer * K * inner_size + inner;
        scalar_t min_val = slice[0];
        int min_idx = 0;
        for (int k = 1; k < K; ++k) {
            const scalar_t val = slice[(int64_t)k * inner_size];
            if (val < min_val) {
                min_val = val;
                min_idx = k;
            }
        }
        output[idx] = min_idx;
    }
}

torch::Tensor forward(torch::Tensor x, int64_t dim) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    const int64_t dims = x.dim();
    if (dim < 0) dim += dims;
    TORCH_CHECK(dim >= 0 && dim < dims, "dim out of range");
    x = x.contiguous();

    int64_t outer_size = 1, inner_size = 1;
    std::vector<int64_t> out_sizes;
    for (int64_t i = 0; i < dims; i++) {
        if (i < dim) outer_size *= x.size(i);
        if (i > dim) inner_size *= x.size(i);
        if (i != dim) out_sizes.push_back(x.size(i));
    }
    const int K = static_cast<int>(x.size(dim));
    auto output = torch::empty(out_sizes, x.options().dtype(torch::kLong));
    const int threads = 256;
    const int blocks = static_cast<int>((outer_size * inner_size + threads - 1) / threads);
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "argmin_cuda", ([&] {
        argmin_kernel<scalar_t><<<blocks, threads>>>(
            x.data_ptr<scalar_t>(), output.data_ptr<int64_t>(), K, outer_size, inner_size);
    }));
    return output;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Argmin over a dimension (CUDA)");
}
