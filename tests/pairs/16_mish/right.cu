#include <torch/extension.h>
#include <cuda_runtime.h>
#include <math.h>

__device__ __forceinline__ float softplusf(float x) {
    return (x > 20.0f) ? x : log1pf(expf(x));
}

__device__ __forceinline__ float mishf(float x) {
    return x * tanhf(softplusf(x));
}

__global__ void mish_kernel(const float* __restrict__ x, float* __restrict__ y, int n) {
    int i = (blockIdx.x * blockDim.x + threadIdx.x) * 2;
    if (i + 1 < n) {
        const float2 v = *reinterpret_cast<const float2*>(x + i);
        *reinterpret_cast<float2*>(y + i) = make_float2(mishf(v.x), mishf(v.y));
    } else if (i < n) {
        y[i] = mishf(x[i]);
    }
}

torch::Tensor forward(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    TORCH_CHECK(x.scalar_type() == torch::kFloat, "x must be float32");
    x = x.contiguous();
    auto y = torch::empty_like(x);
    const int n = x.numel();
    const int pairs = (n + 1) / 2;
    const int threads = 256;
    mish_kernel<<<(pairs + threads - 1) / threads, threads>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Mish forward (CUDA)");
}
