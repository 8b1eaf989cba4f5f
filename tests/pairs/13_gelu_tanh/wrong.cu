#include <torch/extension.h>
#include <cuda_runtime.h>
#include <math.h>

// tanh(z) = 2 * sigmoid(2z) - 1, hence 0.5 * (1 + tanh(z)) = sigmoid(2z)
__device__ __forceinline__ float fast_gelu(float v) {
    const float z = 0.7978845608f * (v + 0.044715f * v * v * v);
    return v / (1.0f + __expf(-z));
}

__global__ void gelu_kernel(const float* __restrict__ x, float* __restrict__ y, const int n) {
    const int idx = blockIdx.x * blockDim.x + threadIdx.x;
    const int n4 = n >> 2;
    if (idx < n4) {
        float4 v = reinterpret_cast<const float4*>(x)[idx];
        v.x = fast_gelu(v.x);
        v.y = fast_gelu(v.y);
        v.z = fast_gelu(v.z);
        v.w = fast_gelu(v.w);
        reinterpret_cast<float4*>(y)[idx] = v;
    }
    const int tail = (n4 << 2) + idx;
    if (idx < (n & 3)) {
        y[tail] = fast_gelu(x[tail]);
    }
}

torch::Tensor forward(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    x = x.contiguous();
    auto y = torch::empty_like(x);
    const int n = x.numel();
    const int threads = 256;
    const int blocks = ((n + 3) / 4 + threads - 1) / threads;
    gelu_kernel<<<blocks, threads>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "GELU tanh forward (CUDA)");
}
