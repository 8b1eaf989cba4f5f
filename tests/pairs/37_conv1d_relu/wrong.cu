#include <torch/extension.h>
#include <cuda_runtime.h>

#define TILE_L 64
#define CH 4
#define MAX_K 7

// Each block: TILE_L outputs of one output channel; CH input channels staged at a time.
__global__ void conv1d_relu_kernel(const float* __restrict__ x, const float* __restrict__ weight,
                                   const float* __restrict__ bias, float* __restrict__ y,
                                   const int IC, const int OC, const int L, const int OL, const int K) {
    __shared__ float tile[CH][TILE_L + MAX_K - 1];
    const int tid = threadIdx.x;
    const int l0 = blockIdx.x * TILE_L;
    const int oc = blockIdx.y, n = blockIdx.z;
    const int span = TILE_L + K - 1;

    float acc = __ldg(bias + oc);
    for (int c = 0; c < IC / CH; c++) {
        for (int i = tid; i < CH * span; i += TILE_L) {
            const int ch = i / span, p = i % span;
            const int pos = l0 + p;
            tile[ch][p] = pos < L ? x[((size_t)n * IC + c * CH + ch) * L + pos] : 0.0f;
        }
        __syncthreads();
        #pragma unroll
        for (int ch = 0; ch < CH; ch++) {
            const float* w = weight + ((size_t)oc * IC + c * CH + ch) * K;
            for (int k = 0; k < K; k++) acc = fmaf(tile[ch][tid + k], __ldg(w + k), acc);
        }
        __syncthreads();
    }

    const int ol = l0 + tid;
    if (ol < OL) y[((size_t)n * OC + oc) * OL + ol] = acc > 0.0f ? acc : 0.0f;
}

torch::Tensor forward(torch::Tensor x, torch::Tensor weight, torch::Tensor bias) {
    TORCH_CHECK(x.is_cuda() && weight.is_cuda() && bias.is_cuda(), "all tensors must be on the GPU");
    TORCH_CHECK(weight.size(2) <= MAX_K, "kernel size too large");
    x = x.contiguous();
    weight = weight.contiguous();
    const int N = x.size(0), IC = x.size(1), L = x.size(2);
    const int OC = weight.size(0), K = weight.size(2);
    const int OL = L - K + 1;
    auto y = torch::empty({N, OC, OL}, x.options());
    dim3 grid((OL + TILE_L - 1) / TILE_L, OC, N);
    conv1d_relu_kernel<<<grid, TILE_L>>>(x.data_ptr<float>(), weight.data_ptr<float>(),
                                         bias.data_ptr<float>(), y.data_ptr<float>(), IC, OC, L, OL, K);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Conv1d + ReLU forward (CUDA)");
}
