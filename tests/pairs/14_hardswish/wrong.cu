#include <torch/extension.h>
#include <cuda_runtime.h>

__device__ __forceinline__ float hardsigmoid(float v) {
    return fminf(__fmaf_rn(v, 1.0f / 6.0f, 0.5f), 1.0f);
}

__global__ void hardswish_kernel(const float* __restrict__ x, float* __restrict__ y, int n) {
    const int stride = gridDim.x * blockDim.x;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    #pragma unroll 4
    for (; i < n; i += stride) {
        const float v = x[i];
        y[i] = v * hardsigmoid(v);
    }
}

torch::Tensor forward(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    x = x.contiguous();
    auto y = torch::empty_like(x);
    const int n = x.numel();
    hardswish_kernel<<<512, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "HardSwish forward (CUDA)");
}
