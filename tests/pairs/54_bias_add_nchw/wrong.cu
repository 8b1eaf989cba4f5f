#include <torch/extension.h>
#include <cuda_runtime.h>
#include <math.h>

template <typename scalar_t>
__global__ void bias_silu_kernel(const scalar_t* __restrict__ x, const scalar_t* __restrict__ bias,
                                 scalar_t* __restrict__ y, const int channels, const int width,
                                 const int64_t total) {
    const int64_t stride = (int64_t)gridDim.x * blockDim.x;
    for (int64_t idx = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; idx < total; idx += stride) {
        const int c = static_cast<int>((idx / width) % channels);
        const scalar_t v = x[idx] + bias[c];
        y[idx] = v * (scalar_t(1) / (scalar_t(1) + exp(-v)));
    }
}

torch::Tensor forward(torch::Tensor x, torch::Tensor bias) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    TORCH_CHECK(bias.is_cuda(), "bias must be a CUDA tensor");
    x = x.contiguous();
    bias = bias.contiguous();
    auto y = torch::empty_like(x);
    const int64_t total = x.numel();
    const int threads = 256;
    const int blocks = std::min<int64_t>((total + threads - 1) / threads, 65535);
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "bias_silu", ([&] {
        bias_silu_kernel<scalar_t><<<blocks, threads>>>(
            x.data_ptr<scalar_t>(), bias.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(),
            (int)x.size(1), (int)x.size(3), total);
    }));
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Bias + SiLU forward (CUDA)");
}
