#include <torch/extension.h>
#include <cuda_runtime.h>

#define TILE 16

// 16x16 output pixels of one (n, oc) per block; input tile with halo in shared memory.
template <int K>
__global__ void conv2d_fused_kernel(const float* __restrict__ x, const float* __restrict__ w,
                                    const float* __restrict__ conv_bias, const float* __restrict__ bias,
                                    float* __restrict__ out,
                                    const int IC, const int H, const int W,
                                    const int OC, const int OH, const int OW) {
    __shared__ float tile[TILE + K - 1][TILE + K - 1];
    const int n = blockIdx.z / OC, oc = blockIdx.z % OC;
    const int oh0 = blockIdx.y * TILE, ow0 = blockIdx.x * TILE;
    const int oh = oh0 + threadIdx.y, ow = ow0 + threadIdx.x;

    float acc = 0.0f;
    for (int ic = 0; ic < IC; ic++) {
        const float* plane = x + (size_t)(n * IC + ic) * H * W;
        for (int i = threadIdx.y; i < TILE + K - 1; i += TILE) {
            for (int j = threadIdx.x; j < TILE + K - 1; j += TILE) {
                const int h = oh0 + i, c = ow0 + j;
                tile[i][j] = (h < H && c < W) ? plane[h * W + c] : 0.0f;
            }
        }
        __syncthreads();
        const float* wk = w + (oc * IC + ic) * K * K;
        #pragma unroll
        for (int i = 0; i < K; i++)
            #pragma unroll
            for (int j = 0; j < K; j++)
                acc += tile[threadIdx.y + i][threadIdx.x + j] * __ldg(wk + i * K + j);
        __syncthreads();
    }

    if (oh < OH && ow < OW) {
        out[((size_t)blockIdx.z * OH + oh) * OW + ow] = fmaxf(acc + conv_bias[oc] + bias[oc], 0.0f);
    }
}

torch::Tensor forward(torch::Tensor x, torch::Tensor conv_weight, torch::Tensor conv_bias,
                      torch::Tensor bias, torch::Tensor scale) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    TORCH_CHECK(conv_weight.size(2) == 3 && conv_weight.size(3) == 3, "expected a 3x3 kernel");
    x = x.contiguous();
    conv_weight = conv_weight.contiguous();
    const int N = x.size(0), IC = x.size(1), H = x.size(2), W = x.size(3);
    const int OC = conv_weight.size(0);
    const int OH = H - 2, OW = W - 2;
    auto out = torch::empty({N, OC, OH, OW}, x.options());
    dim3 block(TILE, TILE);
    dim3 grid((OW + TILE - 1) / TILE, (OH + TILE - 1) / TILE, N * OC);
    conv2d_fused_kernel<3><<<grid, block>>>(
        x.data_ptr<float>(), conv_weight.data_ptr<float>(), conv_bias.data_ptr<float>(),
        bias.data_ptr<float>(), out.data_ptr<float>(), IC, H, W, OC, OH, OW);
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Conv2d + ReLU + bias + scale forward (CUDA)");
}
