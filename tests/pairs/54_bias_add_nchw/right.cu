#include <torch/extension.h>
#include <cuda_runtime.h>
#include <math.h>

__global__ void bias_silu_kernel(const float* __restrict__ x, const float* __restrict__ bias,
                                 float* __restrict__ y, const int C, const int HW) {
    const int plane = blockIdx.y;
    const float b = bias[plane % C];
    const size_t base = (size_t)plane * HW;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < HW; i += gridDim.x * blockDim.x) {
        const float v = x[base + i] + b;
        y[base + i] = v / (1.0f + expf(-v));
    }
}

torch::Tensor forward(torch::Tensor x, torch::Tensor bias) {
    TORCH_CHECK(x.is_cuda() && bias.is_cuda(), "inputs must be CUDA tensors");
    TORCH_CHECK(x.size(1) == bias.numel(), "bias size mismatch");
    x = x.contiguous();
    auto y = torch::empty_like(x);
    const int N = x.size(0), C = x.size(1), HW = x.size(2) * x.size(3);
    const int threads = 128;
    dim3 grid((HW + threads - 1) / threads, N * C);
    bias_silu_kernel<<<grid, threads>>>(x.data_ptr<float>(), bias.data_ptr<float>(), y.data_ptr<float>(), C, HW);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Bias + SiLU forward (CUDA)");
}
