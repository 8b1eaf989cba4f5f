#include <torch/extension.h>
#include <cuda_runtime.h>

#define TILE_W 16
#define TILE_H 16

__global__ void depthwise_conv2d_kernel(const float* __restrict__ x, const float* __restrict__ weight,
                                        const float* __restrict__ bias, float* __restrict__ y,
                                        const int C, const int H, const int W,
                                        const int OH, const int OW, const int K,
                                        const int stride, const int padding) {
    const int ow = blockIdx.x * TILE_W + threadIdx.x;
    const int oh = blockIdx.y * TILE_H + threadIdx.y;
    const int nc = blockIdx.z;
    const int c = nc % C;

    if (threadIdx.x < TILE_W && oh < OH && ow < OW) {
        const float* plane = x + (size_t)nc * H * W;
        float sum = bias[c];
        #pragma unroll 3
        for (int i = 0; i < K; i++) {
            #pragma unroll 3
            for (int j = 0; j < K; j++) {
                const int ih = oh * stride + i - padding;
                const int iw = ow * stride + j - padding;
                if (ih >= 0 && ih < H && iw >= 0 && iw < W)
                    sum = fmaf(plane[ih * W + iw], weight[(c * K + i) * K + j], sum);
            }
        }
        y[((size_t)nc * OH + oh) * OW + ow] = sum;
    }
}

torch::Tensor forward(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, int64_t stride, int64_t padding) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    TORCH_CHECK(weight.is_cuda(), "weight must be a CUDA tensor");
    x = x.contiguous();
    weight = weight.contiguous();
    const int N = x.size(0), C = x.size(1), H = x.size(2), W = x.size(3);
    const int K = weight.size(2);
    const int OH = (H + 2 * padding - K) / stride + 1;
    const int OW = (W + 2 * padding - K) / stride + 1;
    auto y = torch::zeros({N, C, OH, OW}, x.options());

    const int threads = TILE_W * TILE_H;
    dim3 grid((OW + TILE_W - 1) / TILE_W, (OH + TILE_H - 1) / TILE_H, N * C);
    depthwise_conv2d_kernel<<<grid, threads>>>(
        x.data_ptr<float>(), weight.data_ptr<float>(), bias.data_ptr<float>(), y.data_ptr<float>(),
        C, H, W, OH, OW, K, (int)stride, (int)padding);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Depthwise Conv2d forward (CUDA)");
}
