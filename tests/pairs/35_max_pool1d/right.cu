#include <torch/extension.h>
#include <cuda_runtime.h>
#include <math.h>

__global__ void max_pool1d_kernel(const float* __restrict__ x, float* __restrict__ y,
                                  const int total, const int L, const int OL,
                                  const int kernel_size, const int stride,
                                  const int padding, const int dilation) {
    const int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= total) return;
    const int ol = idx % OL;
    const int plane = idx / OL;
    const float* in = x + (size_t)plane * L;
    const int start = ol * stride - padding;

    float m = -INFINITY;
    for (int k = 0; k < kernel_size; ++k) {
        const int pos = start + k * dilation;
        if (pos >= 0 && pos < L) {
            m = fmaxf(m, in[pos]);
        }
    }
    y[idx] = m;
}

torch::Tensor forward(torch::Tensor x, int64_t kernel_size, int64_t stride, int64_t padding, int64_t dilation) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    TORCH_CHECK(x.dim() == 3, "x must be 3D");
    x = x.contiguous();
    const int N = x.size(0), C = x.size(1), L = x.size(2);
    const int OL = (L + 2 * padding - dilation * (kernel_size - 1) - 1) / stride + 1;
    TORCH_CHECK(OL > 0, "output length must be positive");
    auto y = torch::empty({N, C, OL}, x.options());
    const int total = N * C * OL;
    const int threads = 256;
    max_pool1d_kernel<<<(total + threads - 1) / threads, threads>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), total, L, OL,
        (int)kernel_size, (int)stride, (int)padding, (int)dilation);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "MaxPool1d forward (CUDA)");
}
