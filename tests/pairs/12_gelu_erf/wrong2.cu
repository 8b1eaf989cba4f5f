#include <torch/extension.h>
#include <cuda_runtime.h>
#include <math.h>

#define SQRT_2_OVER_PI 0.7978845608028654f
#define GELU_COEF 0.044715f

__global__ void gelu_kernel(const float* __restrict__ in, float* __restrict__ out, const int n) {
    const int stride = blockDim.x * gridDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        const float x = in[i];
        const float inner = SQRT_2_OVER_PI * (x + GELU_COEF * x * x * x);
        out[i] = 0.5f * x * (1.0f + tanhf(inner));
    }
}

torch::Tensor forward(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    auto in = x.contiguous();
    auto out = torch::empty_like(in);
    const int n = in.numel();
    const int threads = 512;
    const int blocks = std::min((n + threads - 1) / threads, 1024);
    gelu_kernel<<<blocks, threads>>>(in.data_ptr<float>(), out.data_ptr<float>(), n);
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "GELU forward (CUDA)");
}
