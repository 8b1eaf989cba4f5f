#include <torch/extension.h>
#include <cuda_runtime.h>
#include <math.h>

__global__ void gauss_kernel(const float* __restrict__ x, const float* __restrict__ scale,
                             float* __restrict__ out, const int dim, const int n) {
    const int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        out[i] = expf(-x[i] * x[i]) * scale[i % dim];
    }
}

__global__ void add_sigmoid_kernel(const float* __restrict__ y, float* __restrict__ out, const int n) {
    const int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        out[i] += 1.0f / (1.0f + expf(-y[i]));
    }
}

torch::Tensor forward(torch::Tensor x, torch::Tensor y, torch::Tensor scale) {
    TORCH_CHECK(x.is_cuda() && y.is_cuda() && scale.is_cuda(), "inputs must be CUDA tensors");
    x = x.contiguous();
    y = y.contiguous();
    const int n = x.numel();
    auto out = torch::empty_like(x);

    static cudaStream_t streams[2] = {nullptr, nullptr};
    if (!streams[0]) {
        cudaStreamCreateWithFlags(&streams[0], cudaStreamNonBlocking);
        cudaStreamCreateWithFlags(&streams[1], cudaStreamNonBlocking);
    }
    const int threads = 256;
    const int blocks = std::min((n + threads - 1) / threads, 512);
    gauss_kernel<<<blocks, threads, 0, streams[0]>>>(x.data_ptr<float>(), scale.data_ptr<float>(),
                                                     out.data_ptr<float>(), (int)x.size(-1), n);
    add_sigmoid_kernel<<<blocks, threads, 0, streams[1]>>>(y.data_ptr<float>(), out.data_ptr<float>(), n);
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Gauss + sigmoid forward (CUDA)");
}
