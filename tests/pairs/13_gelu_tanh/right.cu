#include <torch/extension.h>
#include <cuda_runtime.h>
#include <math.h>

#define UNROLL 4

__global__ void __launch_bounds__(256) new_gelu_kernel(const float* __restrict__ x,
                                                       float* __restrict__ y,
                                                       const int n) {
    const float sqrt_2_over_pi = 0.7978845608f;
    const float coeff = 0.044715f;
    const int base = blockIdx.x * blockDim.x * UNROLL + threadIdx.x;

    #pragma unroll
    for (int u = 0; u < UNROLL; u++) {
        const int i = base + u * blockDim.x;
        if (i < n) {
            const float v = x[i];
            const float cube = v * v * v;
            const float t = tanhf((v + coeff * cube) * sqrt_2_over_pi);
            y[i] = 0.5f * v * (1.0f + t);
        }
    }
}

torch::Tensor forward(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda(), "Input tensor must be on CUDA");
    TORCH_CHECK(x.is_contiguous(), "Input tensor must be contiguous");
    auto y = torch::empty_like(x);
    const int n = x.numel();
    const int threads = 256;
    const int blocks = (n + threads * UNROLL - 1) / (threads * UNROLL);
    new_gelu_kernel<<<blocks, threads>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "GELU tanh forward (CUDA)");
}
