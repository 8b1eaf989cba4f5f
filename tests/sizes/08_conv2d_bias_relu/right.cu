#include <torch/extension.h>
#include <cuda_runtime.h>
#include <cstdint>

constexpr int K = 3;
constexpr int BLOCK_W = 32;
constexpr int BLOCK_H = 8;
constexpr int ROWS = 4;                  // output rows of a thread
constexpr int TILE_H = BLOCK_H * ROWS;
constexpr int CHANNEL_CHUNK = 64;        // input channels whose weights are in shared memory

// Direct 3x3 convolution (stride 1, no padding), then relu, then + bias. A block computes a
// 32x32 tile of one output channel of one image; a thread computes 4 consecutive rows.
__global__ void __launch_bounds__(BLOCK_W* BLOCK_H)
conv2d_relu_bias_kernel(const float* __restrict__ x, const float* __restrict__ weight,
                        const float* __restrict__ conv_bias, const float* __restrict__ bias,
                        float* __restrict__ y, int64_t planes, int in_channels, int out_channels,
                        int height, int width, int out_height, int out_width) {
    __shared__ float s_weight[CHANNEL_CHUNK * K * K];

    const int tid = threadIdx.y * BLOCK_W + threadIdx.x;
    const int out_x = blockIdx.x * BLOCK_W + threadIdx.x;
    const int out_y = blockIdx.y * TILE_H + threadIdx.y * ROWS;

    for (int64_t plane = blockIdx.z; plane < planes; plane += gridDim.z) {
        const int64_t image = plane / out_channels;
        const int oc = static_cast<int>(plane % out_channels);
        const float* xi = x + image * in_channels * height * width;
        const float* wo = weight + static_cast<int64_t>(oc) * in_channels * K * K;

        float acc[ROWS];
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            acc[r] = 0.0f;
        }

        for (int c0 = 0; c0 < in_channels; c0 += CHANNEL_CHUNK) {
            const int chunk = min(CHANNEL_CHUNK, in_channels - c0);
            __syncthreads();
            for (int i = tid; i < chunk * K * K; i += BLOCK_W * BLOCK_H) {
                s_weight[i] = wo[static_cast<int64_t>(c0) * K * K + i];
            }
            __syncthreads();

            if (out_x < out_width) {
                for (int c = 0; c < chunk; ++c) {
                    const float* xc = xi + static_cast<int64_t>(c0 + c) * height * width + out_x;
                    const float* w = s_weight + c * K * K;
#pragma unroll
                    for (int r = 0; r < ROWS + K - 1; ++r) {
                        const int in_y = out_y + r;
                        float v[K];
#pragma unroll
                        for (int kx = 0; kx < K; ++kx) {
                            v[kx] = in_y < height
                                        ? __ldg(xc + static_cast<int64_t>(in_y) * width + kx)
                                        : 0.0f;
                        }
#pragma unroll
                        for (int ky = 0; ky < K; ++ky) {
                            const int o = r - ky;
                            if (o >= 0 && o < ROWS) {
#pragma unroll
                                for (int kx = 0; kx < K; ++kx) {
                                    acc[o] = fmaf(v[kx], w[ky * K + kx], acc[o]);
                                }
                            }
                        }
                    }
                }
            }
        }

        if (out_x < out_width) {
            const float cb = conv_bias[oc];
            const float b = bias[oc];
#pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                if (out_y + r < out_height) {
                    const float activated = fmaxf(acc[r] + cb, 0.0f);
                    y[(plane * out_height + out_y + r) * out_width + out_x] = activated + b;
                }
            }
        }
    }
}

torch::Tensor forward(torch::Tensor x, torch::Tensor conv_weight, torch::Tensor conv_bias,
                      torch::Tensor bias) {
    TORCH_CHECK(x.is_cuda() && conv_weight.is_cuda() && conv_bias.is_cuda() && bias.is_cuda(),
                "inputs must be CUDA tensors");
    TORCH_CHECK(x.scalar_type() == torch::kFloat32, "x must be float32");
    TORCH_CHECK(x.dim() == 4 && conv_weight.dim() == 4, "x and conv_weight must be 4D");
    TORCH_CHECK(conv_weight.size(2) == K && conv_weight.size(3) == K, "the kernel must be 3x3");
    TORCH_CHECK(conv_weight.size(1) == x.size(1), "channels must match");
    x = x.contiguous();
    conv_weight = conv_weight.contiguous();
    conv_bias = conv_bias.contiguous();
    bias = bias.contiguous();

    const int64_t batch = x.size(0);
    const int in_channels = x.size(1);
    const int height = x.size(2);
    const int width = x.size(3);
    const int out_channels = conv_weight.size(0);
    const int out_height = height - K + 1;
    const int out_width = width - K + 1;
    TORCH_CHECK(out_height > 0 && out_width > 0, "x is smaller than the kernel");
    TORCH_CHECK(conv_bias.numel() == out_channels && bias.numel() == out_channels,
                "one bias per output channel expected");
    auto y = torch::empty({batch, out_channels, out_height, out_width}, x.options());
    const int64_t planes = batch * out_channels;
    if (planes == 0) {
        return y;
    }

    const dim3 block(BLOCK_W, BLOCK_H);
    const dim3 grid((out_width + BLOCK_W - 1) / BLOCK_W, (out_height + TILE_H - 1) / TILE_H,
                    static_cast<unsigned>(planes < 65535 ? planes : 65535));
    conv2d_relu_bias_kernel<<<grid, block>>>(
        x.data_ptr<float>(), conv_weight.data_ptr<float>(), conv_bias.data_ptr<float>(),
        bias.data_ptr<float>(), y.data_ptr<float>(), planes, in_channels, out_channels, height,
        width, out_height, out_width);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Conv2d 3x3 + ReLU + bias (CUDA)");
}
