#include <torch/extension.h>
#include <cuda_runtime.h>
#include <math.h>

template <typename scalar_t>
__global__ void softplus_kernel(const scalar_t* __restrict__ input,
                                scalar_t* __restrict__ output,
                                const int size) {
    const int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx < size) {
        const scalar_t x = input[idx];
        output[idx] = x > static_cast<scalar_t>(20) ? x : log1p(exp(x));
    }
}

torch::Tensor forward(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    x = x.contiguous();
    auto output = torch::empty_like(x);
    const int size = x.numel();
    const int threads = 512;
    const int blocks = (size + threads - 1) / threads;
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "softplus_forward", ([&] {
        softplus_kernel<scalar_t><<<blocks, threads>>>(
            x.data_ptr<scalar_t>(), output.data_ptr<scalar_t>(), size);
    }));
    return output;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Softplus forward (CUDA)");
}
