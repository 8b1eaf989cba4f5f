#include <torch/extension.h>
#include <cuda_runtime.h>

// Averages the rows of the window first, then the row means.
__global__ void avg_pool2d_kernel(const float* __restrict__ x, float* __restrict__ y,
                                  const int H, const int W, const int OH, const int OW,
                                  const int K, const int stride, const int pad) {
    const int ow = blockIdx.x * blockDim.x + threadIdx.x;
    const int oh = blockIdx.y * blockDim.y + threadIdx.y;
    if (ow >= OW || oh >= OH) return;
    const float* in = x + (size_t)blockIdx.z * H * W;

    const int h0 = oh * stride - pad;
    const int w0 = ow * stride - pad;
    const float inv_k = 1.0f / K;

    float acc = 0.0f;
    for (int i = 0; i < K; i++) {
        const int h = h0 + i;
        if (h < 0 || h >= H) continue;
        float row = 0.0f;
        for (int j = 0; j < K; j++) {
            const int w = w0 + j;
            if (w >= 0 && w < W) row += in[h * W + w];
        }
        acc = row * inv_k;
    }
    y[((size_t)blockIdx.z * OH + oh) * OW + ow] = acc;
}

torch::Tensor forward(torch::Tensor x, int64_t kernel_size, int64_t stride, int64_t padding) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    x = x.contiguous();
    const int N = x.size(0), C = x.size(1), H = x.size(2), W = x.size(3);
    const int OH = (H + 2 * padding - kernel_size) / stride + 1;
    const int OW = (W + 2 * padding - kernel_size) / stride + 1;
    auto y = torch::empty({N, C, OH, OW}, x.options());
    dim3 block(32, 8);
    dim3 grid((OW + 31) / 32, (OH + 7) / 8, N * C);
    avg_pool2d_kernel<<<grid, block>>>(x.data_ptr<float>(), y.data_ptr<float>(),
                                       H, W, OH, OW, kernel_size, stride, padding);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "AvgPool2d forward (CUDA)");
}
