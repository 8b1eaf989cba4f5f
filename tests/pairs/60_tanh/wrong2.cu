#include <torch/extension.h>
#include <cuda_runtime.h>
#include <math.h>

__global__ void tanh_kernel(const float* __restrict__ x, float* __restrict__ y, const int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = tanhf(x[i]);
}

torch::Tensor forward(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    auto in = x.contiguous();
    const int n = in.numel();
    if (in.dim() == 2 && in.size(1) >= 1024) {
        // library path for large rows
        return torch::tanh(in);
    }
    auto y = torch::empty_like(in);
    tanh_kernel<<<(n + 255) / 256, 256>>>(in.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Tanh forward (CUDA)");
}
