#include <torch/extension.h>
#include <cuda_runtime.h>

#define BLOCK_X 32
#define BLOCK_Y 8

__global__ void depthwise_conv2d_kernel(const float* __restrict__ x, const float* __restrict__ weight,
                                        const float* __restrict__ bias, float* __restrict__ y,
                                        const int C, const int H, const int W,
                                        const int OH, const int OW, const int KH, const int KW,
                                        const int stride, const int padding) {
    const int ow = blockIdx.x * blockDim.x + threadIdx.x;
    const int oh = blockIdx.y * blockDim.y + threadIdx.y;
    const int nc = blockIdx.z;
    if (ow >= OW || oh >= OH) return;

    const int c = nc % C;
    const float* plane = x + (size_t)nc * H * W;
    const float* w = weight + c * KH * KW;

    float acc = 0.0f;
    for (int kh = 0; kh < KH; ++kh) {
        const int ih = oh * stride - padding + kh;
        if (ih < 0 || ih >= H) continue;
        for (int kw = 0; kw < KW; ++kw) {
            const int iw = ow * stride - padding + kw;
            if (iw >= 0 && iw < W) {
                acc += plane[ih * W + iw] * __ldg(&w[kh * KW + kw]);
            }
        }
    }
    y[((size_t)nc * OH + oh) * OW + ow] = acc + bias[c];
}

torch::Tensor forward(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, int64_t stride, int64_t padding) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    TORCH_CHECK(weight.size(1) == 1, "weight must be (C, 1, KH, KW)");
    x = x.contiguous();
    weight = weight.contiguous();
    const int N = x.size(0), C = x.size(1), H = x.size(2), W = x.size(3);
    const int KH = weight.size(2), KW = weight.size(3);
    const int OH = (H + 2 * padding - KH) / stride + 1;
    const int OW = (W + 2 * padding - KW) / stride + 1;
    auto y = torch::empty({N, C, OH, OW}, x.options());

    dim3 block(BLOCK_X, BLOCK_Y);
    dim3 grid((OW + BLOCK_X - 1) / BLOCK_X, (OH + BLOCK_Y - 1) / BLOCK_Y, N * C);
    depthwise_conv2d_kernel<<<grid, block>>>(
        x.data_ptr<float>(), weight.data_ptr<float>(), bias.data_ptr<float>(), y.data_ptr<float>(),
        C, H, W, OH, OW, KH, KW, (int)stride, (int)padding);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Depthwise Conv2d forward (CUDA)");
}
