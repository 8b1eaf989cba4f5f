#include <torch/extension.h>
#include <cuda_runtime.h>
#include <math.h>

__device__ __forceinline__ float gelu_exact(float x) {
    return 0.5f * x * (1.0f + erff(x * 0.70710678118654752440f));
}

__global__ void gelu_kernel(const float* __restrict__ x, float* __restrict__ y, int n4, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n4) {
        const float4 v = __ldg(reinterpret_cast<const float4*>(x) + i);
        float4 r;
        r.x = gelu_exact(v.x);
        r.y = gelu_exact(v.y);
        r.z = gelu_exact(v.z);
        r.w = gelu_exact(v.w);
        reinterpret_cast<float4*>(y)[i] = r;
    }
    if (i == 0) {
        for (int j = n4 * 4; j < n; j++) y[j] = gelu_exact(x[j]);
    }
}

torch::Tensor forward(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    TORCH_CHECK(x.dtype() == torch::kFloat32, "x must be float32");
    x = x.contiguous();
    auto y = torch::empty_like(x);
    const int n = x.numel();
    const int n4 = n / 4;
    const int threads = 256;
    const int blocks = (n4 + threads - 1) / threads + (n4 == 0);
    gelu_kernel<<<blocks, threads>>>(x.data_ptr<float>(), y.data_ptr<float>(), n4, n);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "GELU forward (CUDA)");
}
