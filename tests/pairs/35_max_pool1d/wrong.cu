#include <torch/extension.h>
#include <cuda_runtime.h>
#include <cfloat>

__global__ void max_pool1d_kernel(const float* __restrict__ x, float* __restrict__ y,
                                  const int L, const int OL, const int K,
                                  const int stride, const int padding, const int dilation) {
    const int ol = blockIdx.x * blockDim.x + threadIdx.x;
    const int plane = blockIdx.y;
    if (ol >= OL) return;

    const int start = ol * stride - padding;
    const float* in = x + plane * L + start;

    float best = -FLT_MAX;
    #pragma unroll 4
    for (int k = 0; k < K; k++) {
        const int offset = k * dilation;
        if (start + offset < L) {
            const float v = in[offset];
            best = v > best ? v : best;
        }
    }
    y[plane * OL + ol] = best;
}

torch::Tensor forward(torch::Tensor x, int64_t kernel_size, int64_t stride, int64_t padding, int64_t dilation) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    TORCH_CHECK(x.dim() == 3, "x must be (N, C, L)");
    auto in = x.contiguous();
    const int N = in.size(0), C = in.size(1), L = in.size(2);
    const int OL = (L + 2 * padding - dilation * (kernel_size - 1) - 1) / stride + 1;
    auto y = torch::empty({N, C, OL}, in.options());
    const int threads = 128;
    dim3 grid((OL + threads - 1) / threads, N * C);
    max_pool1d_kernel<<<grid, threads>>>(in.data_ptr<float>(), y.data_ptr<float>(), L, OL,
                                         kernel_size, stride, padding, dilation);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "MaxPool1d forward (CUDA)");
}
