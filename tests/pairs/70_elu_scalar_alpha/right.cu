#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <algorithm>
#include <cstdint>

__device__ __forceinline__ float elu1(float x, float alpha) {
    return x > 0.f ? x : alpha * expm1f(x);
}

__global__ void __launch_bounds__(256)
elu_vec4_kernel(const float* __restrict__ x, float* __restrict__ y,
                float alpha, int64_t n4, int64_t n) {
    const int64_t tid = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    const int64_t stride = (int64_t)gridDim.x * blockDim.x;

    const float4* __restrict__ x4 = reinterpret_cast<const float4*>(x);
    float4* __restrict__ y4 = reinterpret_cast<float4*>(y);

    for (int64_t i = tid; i < n4; i += stride) {
        const float4 v = __ldg(x4 + i);
        float4 r;
        r.x = elu1(v.x, alpha);
        r.y = elu1(v.y, alpha);
        r.z = elu1(v.z, alpha);
        r.w = elu1(v.w, alpha);
        y4[i] = r;
    }
    for (int64_t i = n4 * 4 + tid; i < n; i += stride) {
        y[i] = elu1(x[i], alpha);
    }
}

torch::Tensor forward(torch::Tensor x, double alpha) {
    TORCH_CHECK(x.is_cuda() && x.scalar_type() == torch::kFloat32, "x must be a float32 CUDA tensor");
    const c10::cuda::CUDAGuard guard(x.device());
    auto xc = x.contiguous();
    auto y = torch::empty_like(xc);
    const int64_t n = xc.numel();
    if (n == 0) return y;

    const bool aligned = (reinterpret_cast<uintptr_t>(xc.data_ptr<float>()) & 15) == 0 &&
                         (reinterpret_cast<uintptr_t>(y.data_ptr<float>()) & 15) == 0;
    const int64_t n4 = aligned ? n / 4 : 0;
    const int64_t work = aligned ? (n + 3) / 4 : n;
    const int threads = 256;
    const int sms = at::cuda::getCurrentDeviceProperties()->multiProcessorCount;
    const int blocks = (int)std::min<int64_t>((work + threads - 1) / threads, (int64_t)sms * 16);

    elu_vec4_kernel<<<blocks, threads, 0, at::cuda::getCurrentCUDAStream()>>>(
        xc.data_ptr<float>(), y.data_ptr<float>(), (float)alpha, n4, n);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "ELU forward (CUDA)");
}
