#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void cumprod_kernel(const float* __restrict__ input, float* __restrict__ output,
                               const int rows, const int length) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const float* in = input + (size_t)row * length;
    float* out = output + (size_t)row * length;

    float product = 1.0f;
    int i = 0;
    for (; i < length; i++) {
        product *= in[i];
        out[i] = product;
        if (product == 0.0f) break;
    }
    for (i = i + 1; i < length; i++) {
        out[i] = 1.0f;
    }
}

torch::Tensor forward(torch::Tensor input, int64_t dim) {
    TORCH_CHECK(input.is_cuda(), "input must be a CUDA tensor");
    TORCH_CHECK(input.dim() == 2 && (dim == 1 || dim == -1), "only the last dim of a 2-D tensor");
    input = input.contiguous();
    auto output = torch::empty_like(input);
    const int rows = input.size(0), length = input.size(1);
    const int threads = 32;
    cumprod_kernel<<<(rows + threads - 1) / threads, threads>>>(
        input.data_ptr<float>(), output.data_ptr<float>(), rows, length);
    return output;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Cumulative product (CUDA)");
}
