#include <torch/extension.h>
#include <cuda_runtime.h>
#include <math.h>

template <typename scalar_t>
__device__ __forceinline__ scalar_t elu(scalar_t x, scalar_t alpha) {
    return x > static_cast<scalar_t>(0) ? x : alpha * (exp(x) - static_cast<scalar_t>(1));
}

template <typename scalar_t>
__global__ void elu_kernel(const scalar_t* __restrict__ x,
                           scalar_t* __restrict__ out,
                           scalar_t alpha,
                           size_t n) {
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        out[i] = elu(x[i], alpha);
    }
}

torch::Tensor forward(torch::Tensor x, double alpha) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    TORCH_CHECK(x.is_contiguous(), "x must be contiguous");
    auto out = torch::empty_like(x);
    const size_t n = x.numel();
    const int threads = 512;
    const int blocks = (n + threads - 1) / threads;

    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "elu_cuda", [&] {
        elu_kernel<scalar_t><<<blocks, threads>>>(
            x.data_ptr<scalar_t>(), out.data_ptr<scalar_t>(), static_cast<scalar_t>(alpha), n);
    });
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "ELU activation (CUDA)");
}
