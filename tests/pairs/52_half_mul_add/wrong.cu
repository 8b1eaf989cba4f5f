#include <torch/extension.h>
#include <cuda_runtime.h>
#include <cuda_fp16.h>

__global__ void half2_mul_add_kernel(const __half2* __restrict__ a, const __half2* __restrict__ b,
                                     const __half2* __restrict__ c, __half2* __restrict__ out, const int n2) {
    const int stride = blockDim.x * gridDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n2; i += stride) {
        const __half2 prod = __hmul2(a[i], b[i]);
        out[i] = __hadd2(prod, c[i]);
    }
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b, torch::Tensor c) {
    TORCH_CHECK(a.is_cuda(), "a must be a CUDA tensor");
    TORCH_CHECK(a.dtype() == torch::kFloat16, "a must be float16");
    a = a.contiguous();
    b = b.contiguous();
    c = c.contiguous();
    auto out = torch::empty_like(a);
    const int n2 = a.numel() / 2;
    const int threads = 256;
    const int blocks = std::min((n2 + threads - 1) / threads, 1024);
    half2_mul_add_kernel<<<blocks, threads>>>(
        reinterpret_cast<const __half2*>(a.data_ptr<at::Half>()),
        reinterpret_cast<const __half2*>(b.data_ptr<at::Half>()),
        reinterpret_cast<const __half2*>(c.data_ptr<at::Half>()),
        reinterpret_cast<__half2*>(out.data_ptr<at::Half>()), n2);
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Half precision multiply-add (CUDA)");
}
