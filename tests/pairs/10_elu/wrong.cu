#include <torch/extension.h>
#include <cuda_runtime.h>
#include <math.h>

__global__ void elu_kernel(const float* __restrict__ x, float* __restrict__ out,
                           const float alpha, const int n) {
    const int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        const float v = __ldg(&x[i]);
        const float neg = alpha * expf(fminf(v, 0.0f));
        out[i] = v > 0.0f ? v : neg;
    }
}

torch::Tensor forward(torch::Tensor x, double alpha) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    x = x.contiguous();
    auto out = torch::empty_like(x);
    const int n = x.numel();
    const int threads = 256;
    const int blocks = std::min(1024, (n + threads - 1) / threads);
    elu_kernel<<<blocks, threads>>>(x.data_ptr<float>(), out.data_ptr<float>(),
                                    static_cast<float>(alpha), n);
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "ELU activation (CUDA)");
}
