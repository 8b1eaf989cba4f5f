#include <torch/extension.h>
#include <cuda_runtime.h>
#include <cuda_fp16.h>

__global__ void half_mul_add_kernel(const __half* __restrict__ a, const __half* __restrict__ b,
                                    const __half* __restrict__ c, __half* __restrict__ out, const int n) {
    const int i = (blockIdx.x * blockDim.x + threadIdx.x) * 2;
    if (i + 1 < n) {
        const __half2 va = *reinterpret_cast<const __half2*>(a + i);
        const __half2 vb = *reinterpret_cast<const __half2*>(b + i);
        const __half2 vc = *reinterpret_cast<const __half2*>(c + i);
        *reinterpret_cast<__half2*>(out + i) = __hadd2(__hmul2(va, vb), vc);
    } else if (i < n) {
        out[i] = __hadd(__hmul(a[i], b[i]), c[i]);
    }
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b, torch::Tensor c) {
    TORCH_CHECK(a.is_cuda() && b.is_cuda() && c.is_cuda(), "inputs must be CUDA tensors");
    TORCH_CHECK(a.scalar_type() == torch::kHalf, "a must be half");
    TORCH_CHECK(a.sizes() == b.sizes() && a.sizes() == c.sizes(), "shape mismatch");
    a = a.contiguous();
    b = b.contiguous();
    c = c.contiguous();
    auto out = torch::empty_like(a);
    const int n = a.numel();
    const int pairs = (n + 1) / 2;
    const int threads = 256;
    const int blocks = (pairs + threads - 1) / threads;
    half_mul_add_kernel<<<blocks, threads>>>(
        reinterpret_cast<const __half*>(a.data_ptr<at::Half>()),
        reinterpret_cast<const __half*>(b.data_ptr<at::Half>()),
        reinterpret_cast<const __half*>(c.data_ptr<at::Half>()),
        reinterpret_cast<__half*>(out.data_ptr<at::Half>()), n);
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Half precision multiply-add (CUDA)");
}
