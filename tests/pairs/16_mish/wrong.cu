#include <torch/extension.h>
#include <cuda_runtime.h>

__device__ __forceinline__ float fast_tanh(float z) {
    const float e = __expf(2.0f * z);
    return (e - 1.0f) / (e + 1.0f);
}

__global__ void mish_kernel(const float* __restrict__ x, float* __restrict__ y, const int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        const float v = x[i];
        const float sp = v > 20.0f ? v : __logf(1.0f + __expf(v));
        y[i] = v * fast_tanh(sp);
    }
}

torch::Tensor forward(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    x = x.contiguous();
    auto y = torch::empty_like(x);
    const int n = x.numel();
    const int threads = 256;
    mish_kernel<<<(n + threads - 1) / threads, threads>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Mish forward (CUDA)");
}
