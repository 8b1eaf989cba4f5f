#include <torch/extension.h>
#include <cuda_runtime.h>
#include <vector>

__global__ void sum_reduce_kernel(const float* __restrict__ input,
                                  float* __restrict__ output,
                                  int64_t outer_size,
                                  int64_t reduce_size,
                                  int64_t inner_size) {
    const int64_t idx = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= outer_size * inner_size) return;
    const int64_t o = idx / inner_size;
    const int64_t i = idx % inner_size;

    const float* p = input + o * reduce_size * inner_size + i;
    float sum = 0.0f;
    for (int64_t r = 0; r < reduce_size; r++) {
        sum += p[r * inner_size];
    }
    output[idx] = sum;
}

torch::Tensor forward(torch::Tensor input, int64_t dim) {
    TORCH_CHECK(input.is_cuda(), "input must be a CUDA tensor");
    input = input.contiguous();
    if (dim < 0) dim += input.dim();

    std::vector<int64_t> sizes = input.sizes().vec();
    const int64_t reduce_size = sizes[dim];
    int64_t outer_size = 1;
    for (int i = 0; i < dim; i++) outer_size *= sizes[i];
    int64_t inner_size = 1;
    for (size_t i = dim + 1; i < sizes.size(); i++) inner_size *= sizes[i];

    sizes[dim] = 1;
    auto output = torch::empty(sizes, input.options());
    const int threads = 256;
    const int blocks = (outer_size * inner_size + threads - 1) / threads;
    sum_reduce_kernel<<<blocks, threads>>>(
        input.data_ptr<float>(), output.data_ptr<float>(), outer_size, reduce_size, inner_size);
    return output;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Sum reduction (CUDA)");
}
