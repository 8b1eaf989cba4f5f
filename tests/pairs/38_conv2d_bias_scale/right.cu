#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void conv2d_relu_bias_scale_kernel(const float* __restrict__ x,
                                              const float* __restrict__ conv_weight,
                                              const float* __restrict__ conv_bias,
                                              const float* __restrict__ bias,
                                              const float* __restrict__ scale,
                                              float* __restrict__ out,
                                              int N, int IC, int H, int W,
                                              int OC, int K, int OH, int OW) {
    const int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= N * OC * OH * OW) return;

    const int ow = idx % OW;
    const int oh = (idx / OW) % OH;
    const int oc = (idx / (OW * OH)) % OC;
    const int n = idx / (OW * OH * OC);

    float acc = conv_bias[oc];
    for (int ic = 0; ic < IC; ++ic) {
        for (int i = 0; i < K; ++i) {
            for (int j = 0; j < K; ++j) {
                acc += x[((n * IC + ic) * H + oh + i) * W + ow + j] *
                       conv_weight[((oc * IC + ic) * K + i) * K + j];
            }
        }
    }
    const float r = acc > 0.0f ? acc : 0.0f;
    out[idx] = (r + bias[oc]) * scale[oc];
}

torch::Tensor forward(torch::Tensor x, torch::Tensor conv_weight, torch::Tensor conv_bias,
                      torch::Tensor bias, torch::Tensor scale) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    TORCH_CHECK(conv_weight.is_cuda(), "conv_weight must be a CUDA tensor");
    TORCH_CHECK(conv_weight.size(2) == conv_weight.size(3), "only square kernels");
    const int N = x.size(0), IC = x.size(1), H = x.size(2), W = x.size(3);
    const int OC = conv_weight.size(0), K = conv_weight.size(2);
    const int OH = H - K + 1, OW = W - K + 1;
    auto out = torch::empty({N, OC, OH, OW}, x.options());

    const int total = N * OC * OH * OW;
    const int block_size = 256;
    const int grid_size = (total + block_size - 1) / block_size;
    conv2d_relu_bias_scale_kernel<<<grid_size, block_size>>>(
        x.contiguous().data_ptr<float>(), conv_weight.contiguous().data_ptr<float>(),
        conv_bias.data_ptr<float>(), bias.data_ptr<float>(), scale.data_ptr<float>(),
        out.data_ptr<float>(), N, IC, H, W, OC, K, OH, OW);
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Conv2d + ReLU + bias + scale forward (CUDA)");
}
