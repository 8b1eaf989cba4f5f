#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void hardswish_kernel(const float* __restrict__ x, float* __restrict__ y, const int64_t n) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float v = x[i];
    const float gate = fminf(fmaxf(v + 3.0f, 0.0f), 6.0f);
    y[i] = v * gate / 6.0f;
}

torch::Tensor forward(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    TORCH_CHECK(x.scalar_type() == torch::kFloat32, "only float32 is supported");
    auto xc = x.contiguous();
    auto y = torch::empty_like(xc);
    const int64_t n = xc.numel();
    constexpr int threads = 256;
    const dim3 grid(static_cast<unsigned>((n + threads - 1) / threads));
    hardswish_kernel<<<grid, threads>>>(xc.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "HardSwish forward (CUDA)");
}
