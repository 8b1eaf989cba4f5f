#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <cuda_runtime.h>
#include <math.h>

__global__ void gauss_kernel(const float* __restrict__ x, const float* __restrict__ scale,
                             float* __restrict__ out, const int dim, const int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = expf(-x[i] * x[i]) * scale[i % dim];
}

__global__ void add_sigmoid_kernel(const float* __restrict__ gauss, const float* __restrict__ y,
                                   float* __restrict__ out, const int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = gauss[i] + 1.0f / (1.0f + expf(-y[i]));
}

torch::Tensor forward(torch::Tensor x, torch::Tensor y, torch::Tensor scale) {
    TORCH_CHECK(x.is_cuda() && y.is_cuda() && scale.is_cuda(), "inputs must be CUDA tensors");
    TORCH_CHECK(x.sizes() == y.sizes(), "shape mismatch");
    x = x.contiguous();
    y = y.contiguous();
    const int n = x.numel();
    const int dim = x.size(-1);
    auto gauss = torch::empty_like(x);
    auto out = torch::empty_like(x);

    cudaStream_t stream = at::cuda::getCurrentCUDAStream();
    const int threads = 256;
    const int blocks = (n + threads - 1) / threads;
    gauss_kernel<<<blocks, threads, 0, stream>>>(x.data_ptr<float>(), scale.data_ptr<float>(),
                                                 gauss.data_ptr<float>(), dim, n);
    add_sigmoid_kernel<<<blocks, threads, 0, stream>>>(gauss.data_ptr<float>(), y.data_ptr<float>(),
                                                       out.data_ptr<float>(), n);
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Gauss + sigmoid forward (CUDA)");
}
