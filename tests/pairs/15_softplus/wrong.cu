#include <torch/extension.h>
#include <cuda_runtime.h>
#include <math.h>

__global__ void softplus_kernel(const float* __restrict__ input, float* __restrict__ output, const int size) {
    const int stride = blockDim.x * gridDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < size; i += stride) {
        output[i] = logf(1.0f + expf(input[i]));
    }
}

torch::Tensor forward(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    TORCH_CHECK(x.is_contiguous(), "x must be contiguous");
    auto output = torch::empty_like(x);
    const int size = x.numel();
    const int threads = 256;
    const int blocks = std::min((size + threads - 1) / threads, 65535);
    softplus_kernel<<<blocks, threads>>>(x.data_ptr<float>(), output.data_ptr<float>(), size);
    return output;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Softplus forward (CUDA)");
}
