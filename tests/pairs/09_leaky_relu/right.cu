#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <cuda_runtime.h>

__global__ void leaky_relu_vec4_kernel(const float4* __restrict__ x,
                                       float4* __restrict__ y,
                                       const float slope,
                                       const int n4) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n4) return;
    float4 v = x[i];
    v.x = v.x >= 0.f ? v.x : v.x * slope;
    v.y = v.y >= 0.f ? v.y : v.y * slope;
    v.z = v.z >= 0.f ? v.z : v.z * slope;
    v.w = v.w >= 0.f ? v.w : v.w * slope;
    y[i] = v;
}

__global__ void leaky_relu_tail_kernel(const float* __restrict__ x,
                                       float* __restrict__ y,
                                       const float slope,
                                       const int start,
                                       const int n) {
    const int i = start + threadIdx.x;
    if (i < n) {
        y[i] = x[i] >= 0.f ? x[i] : x[i] * slope;
    }
}

torch::Tensor forward(torch::Tensor x, double negative_slope) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    TORCH_CHECK(x.scalar_type() == torch::kFloat32, "x must be float32");
    x = x.contiguous();
    auto y = torch::empty_like(x);
    const int n = x.numel();
    const int n4 = n / 4;
    const float slope = static_cast<float>(negative_slope);
    cudaStream_t stream = at::cuda::getCurrentCUDAStream();

    if (n4 > 0) {
        const int threads = 256;
        const int blocks = (n4 + threads - 1) / threads;
        leaky_relu_vec4_kernel<<<blocks, threads, 0, stream>>>(
            reinterpret_cast<const float4*>(x.data_ptr<float>()),
            reinterpret_cast<float4*>(y.data_ptr<float>()), slope, n4);
    }
    const int rest = n - n4 * 4;
    if (rest > 0) {
        leaky_relu_tail_kernel<<<1, 32, 0, stream>>>(
            x.data_ptr<float>(), y.data_ptr<float>(), slope, n4 * 4, n);
    }
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "LeakyReLU forward (CUDA)");
}
