#include <torch/extension.h>
#include <cuda_runtime.h>

__device__ __forceinline__ float leaky_relu(float x, float slope) {
    const float pos = fmaxf(x, 0.0f);
    const float neg = fmaxf(-x, 0.0f);
    return pos + slope * neg;
}

__global__ void leaky_relu_kernel(const float* __restrict__ x, float* __restrict__ out,
                                  float negative_slope, int n) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx < n) {
        out[idx] = leaky_relu(x[idx], negative_slope);
    }
}

torch::Tensor forward(torch::Tensor x, float negative_slope) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    TORCH_CHECK(x.is_contiguous(), "x must be contiguous");
    auto out = torch::empty_like(x);
    int n = x.numel();
    const int threads = 1024;
    const int blocks = (n + threads - 1) / threads;
    leaky_relu_kernel<<<blocks, threads>>>(x.data_ptr<float>(), out.data_ptr<float>(), negative_slope, n);
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "LeakyReLU forward (CUDA)");
}
