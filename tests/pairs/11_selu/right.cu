#include <torch/extension.h>
#include <cuda_runtime.h>
#include <math.h>

__constant__ float kSelu[2] = {1.6732632423543772848170429916717f, 1.0507009873554804934193349852946f};

__global__ void selu_kernel(const float* __restrict__ input, float* __restrict__ output, int numel) {
    const float alpha = kSelu[0];
    const float scale = kSelu[1];
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    const int stride = blockDim.x * gridDim.x;
    while (idx < numel) {
        const float x = input[idx];
        output[idx] = scale * (x > 0.0f ? x : alpha * expm1f(x));
        idx += stride;
    }
}

torch::Tensor forward(torch::Tensor input) {
    TORCH_CHECK(input.is_cuda(), "Input tensor must be a CUDA tensor");
    TORCH_CHECK(input.scalar_type() == at::kFloat, "Input tensor must be float");
    input = input.contiguous();
    auto output = torch::empty_like(input);
    const int numel = input.numel();
    const int threads = 256;
    const int blocks = std::min((numel + threads - 1) / threads, 2048);
    selu_kernel<<<blocks, threads>>>(input.data_ptr<float>(), output.data_ptr<float>(), numel);
    return output;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "SELU forward (CUDA)");
}
