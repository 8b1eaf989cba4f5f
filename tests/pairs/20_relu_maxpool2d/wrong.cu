#include <torch/extension.h>
#include <cuda_runtime.h>
#include <cfloat>

template <int K>
__global__ void relu_maxpool2d_kernel(const float* __restrict__ x, float* __restrict__ y,
                                      int total, int H, int W, int OH, int OW, int stride, int pad) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= total) return;
    int ow = idx % OW;
    int oh = (idx / OW) % OH;
    int plane = idx / (OW * OH);
    const float* in = x + plane * H * W;

    const int h0 = max(oh * stride - pad, 0), h1 = min(oh * stride - pad + K, H);
    const int w0 = max(ow * stride - pad, 0), w1 = min(ow * stride - pad + K, W);

    float best = -FLT_MAX;
    for (int h = h0; h < h1; h++) {
        for (int w = w0; w < w1; w++) {
            best = fmaxf(best, __ldg(in + h * W + w));
        }
    }
    y[idx] = best;
}

torch::Tensor forward(torch::Tensor x, int64_t kernel_size, int64_t stride, int64_t padding) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    TORCH_CHECK(kernel_size == 2 || kernel_size == 3, "kernel_size must be 2 or 3");
    x = x.contiguous();
    int N = x.size(0), C = x.size(1), H = x.size(2), W = x.size(3);
    int OH = (H + 2 * padding - kernel_size) / stride + 1;
    int OW = (W + 2 * padding - kernel_size) / stride + 1;
    auto y = torch::empty({N, C, OH, OW}, x.options());
    int total = y.numel();
    int threads = 256;
    int blocks = (total + threads - 1) / threads;
    if (kernel_size == 2) {
        relu_maxpool2d_kernel<2><<<blocks, threads>>>(x.data_ptr<float>(), y.data_ptr<float>(), total,
                                                      H, W, OH, OW, stride, padding);
    } else {
        relu_maxpool2d_kernel<3><<<blocks, threads>>>(x.data_ptr<float>(), y.data_ptr<float>(), total,
                                                      H, W, OH, OW, stride, padding);
    }
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "ReLU + MaxPool2d forward (CUDA)");
}
