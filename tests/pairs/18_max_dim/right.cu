#include <torch/extension.h>
#include <cuda_runtime.h>
#include <vector>

template <typename scalar_t>
__global__ void max_reduce_kernel(const scalar_t* __restrict__ input,
                                  scalar_t* __restrict__ output,
                                  const int64_t dim_size,
                                  const int64_t inner_size,
                                  const int64_t total) {
    const int64_t idx = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (idx >= total) return;

    const int64_t outer_idx = idx / inner_size;
    const int64_t inner_idx = idx % inner_size;
    const scalar_t* p = input + outer_idx * dim_size * inner_size + inner_idx;

    scalar_t max_val = p[0];
    for (int64_t i = 1; i < dim_size; i++) {
        const scalar_t v = p[i * inner_size];
        max_val = v > max_val ? v : max_val;
    }
    output[idx] = max_val;
}

torch::Tensor forward(torch::Tensor input, int64_t dim) {
    TORCH_CHECK(input.is_cuda(), "input must be a CUDA tensor");
    if (dim < 0) dim += input.dim();
    TORCH_CHECK(dim >= 0 && dim < input.dim(), "bad dim");
    input = input.contiguous();

    int64_t outer_size = 1;
    for (int64_t i = 0; i < dim; i++) outer_size *= input.size(i);
    int64_t inner_size = 1;
    for (int64_t i = dim + 1; i < input.dim(); i++) inner_size *= input.size(i);
    const int64_t dim_size = input.size(dim);

    auto out_sizes = input.sizes().vec();
    out_sizes.erase(out_sizes.begin() + dim);
    auto output = torch::empty(out_sizes, input.options());

    const int64_t total = outer_size * inner_size;
    const int threads = 256;
    const int blocks = (total + threads - 1) / threads;
    AT_DISPATCH_FLOATING_TYPES(input.scalar_type(), "max_reduce_forward", ([&] {
        max_reduce_kernel<scalar_t><<<blocks, threads>>>(
            input.data_ptr<scalar_t>(), output.data_ptr<scalar_t>(), dim_size, inner_size, total);
    }));
    return output;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Max reduction over a dimension (CUDA)");
}
