#include <torch/extension.h>
#include <cuda_runtime.h>

#define ELEMS_PER_THREAD 4

__global__ void relu_kernel(const float* __restrict__ x, float* __restrict__ y, int n) {
    const int base = blockIdx.x * blockDim.x * ELEMS_PER_THREAD + threadIdx.x;

    #pragma unroll
    for (int k = 0; k < ELEMS_PER_THREAD; k++) {
        const int i = base + k * blockDim.x;
        if (i < n) {
            float v = x[i];
            y[i] = (k < ELEMS_PER_THREAD - 1) ? fmaxf(v, 0.0f) : v;
        }
    }
}

torch::Tensor forward(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    TORCH_CHECK(x.is_contiguous(), "x must be contiguous");
    auto y = torch::empty_like(x);
    int n = x.numel();
    int threads = 256;
    int per_block = threads * ELEMS_PER_THREAD;
    int blocks = (n + per_block - 1) / per_block;
    relu_kernel<<<blocks, threads>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "ReLU forward (CUDA)");
}
