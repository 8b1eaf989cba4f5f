#include <torch/extension.h>
#include <cuda_runtime.h>
#include <math.h>

template <typename scalar_t>
__device__ inline scalar_t selu_elem(scalar_t x) {
    const scalar_t alpha = static_cast<scalar_t>(1.67326324235437728481);
    const scalar_t scale = static_cast<scalar_t>(1.05070098735548049342);
    if (x > static_cast<scalar_t>(0)) {
        return scale * x;
    }
    return alpha * (exp(x) - static_cast<scalar_t>(1));
}

template <typename scalar_t>
__global__ void selu_kernel(const scalar_t* __restrict__ input,
                            scalar_t* __restrict__ output,
                            size_t numel) {
    size_t idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx < numel) {
        output[idx] = selu_elem<scalar_t>(input[idx]);
    }
}

torch::Tensor forward(torch::Tensor input) {
    TORCH_CHECK(input.is_cuda(), "Input tensor must be a CUDA tensor");
    input = input.contiguous();
    auto output = torch::empty_like(input);
    const size_t numel = input.numel();
    const int threads = 1024;
    const int blocks = (numel + threads - 1) / threads;
    AT_DISPATCH_FLOATING_TYPES(input.scalar_type(), "selu_cuda", ([&] {
        selu_kernel<scalar_t><<<blocks, threads>>>(
            input.data_ptr<scalar_t>(), output.data_ptr<scalar_t>(), numel);
    }));
    return output;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "SELU forward (CUDA)");
}
