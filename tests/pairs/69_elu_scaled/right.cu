#include <torch/extension.h>

__global__ void elu_kernel(const float* __restrict__ x, float* __restrict__ out, float alpha,
                           float scale, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const float v = x[i];
        out[i] = scale * (v > 0.0f ? v : alpha * expm1f(v));
    }
}

torch::Tensor forward(torch::Tensor x, double alpha, double scale) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    x = x.contiguous();
    auto out = torch::empty_like(x);
    const int n = x.numel();
    elu_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), out.data_ptr<float>(),
                                         static_cast<float>(alpha), static_cast<float>(scale), n);
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "scaled ELU (CUDA)");
}
