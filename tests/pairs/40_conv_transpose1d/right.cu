#include <torch/extension.h>
#include <cuda_runtime.h>

// Gather form: out[o] = bias + sum over (ic, k) with i * stride - padding + k == o of x[i] * w[k].
__global__ void conv_transpose1d_kernel(const float* __restrict__ x, const float* __restrict__ weight,
                                        const float* __restrict__ bias, float* __restrict__ y,
                                        const int N, const int IC, const int OC,
                                        const int L, const int OL, const int K,
                                        const int stride, const int padding) {
    const int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= N * OC * OL) return;
    const int o = idx % OL;
    const int oc = (idx / OL) % OC;
    const int n = idx / (OL * OC);

    float acc = bias[oc];
    for (int k = 0; k < K; k++) {
        const int t = o + padding - k;
        if (t < 0 || t % stride != 0) continue;
        const int i = t / stride;
        if (i >= L) continue;
        for (int ic = 0; ic < IC; ic++) {
            acc += x[(n * IC + ic) * L + i] * weight[(ic * OC + oc) * K + k];
        }
    }
    y[idx] = acc;
}

torch::Tensor forward(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, int64_t stride, int64_t padding) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    TORCH_CHECK(weight.is_cuda(), "weight must be a CUDA tensor");
    TORCH_CHECK(x.size(1) == weight.size(0), "channel mismatch");
    x = x.contiguous();
    weight = weight.contiguous();
    bias = bias.contiguous();
    const int N = x.size(0), IC = x.size(1), L = x.size(2);
    const int OC = weight.size(1), K = weight.size(2);
    const int OL = (L - 1) * stride - 2 * padding + K;
    auto y = torch::empty({N, OC, OL}, x.options());
    const int threads = 256;
    const int blocks = (N * OC * OL + threads - 1) / threads;
    conv_transpose1d_kernel<<<blocks, threads>>>(
        x.data_ptr<float>(), weight.data_ptr<float>(), bias.data_ptr<float>(), y.data_ptr<float>(),
        N, IC, OC, L, OL, K, (int)stride, (int)padding);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "ConvTranspose1d forward (CUDA)");
}
