#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void conv_transpose1d_kernel(const float* __restrict__ x, const float* __restrict__ weight,
                                        const float* __restrict__ bias, float* __restrict__ y,
                                        const int IC, const int OC, const int L, const int OL,
                                        const int K, const int stride, const int padding) {
    const int o = blockIdx.x * blockDim.x + threadIdx.x;
    const int oc = blockIdx.y;
    const int n = blockIdx.z;
    if (o >= OL) return;

    float acc = 0.0f;
    for (int ic = 0; ic < IC; ic++) {
        const float* xp = x + (n * IC + ic) * L;
        const float* wp = weight + (ic * OC + oc) * K;
        #pragma unroll 5
        for (int k = 0; k < K; k++) {
            const int t = o + padding - k;
            if (t % stride == 0) {
                const int i = t / stride;
                if (i < L) acc += xp[i] * __ldg(wp + k);
            }
        }
    }
    y[(n * OC + oc) * OL + o] = acc + bias[oc];
}

torch::Tensor forward(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, int64_t stride, int64_t padding) {
    TORCH_CHECK(x.is_cuda() && weight.is_cuda() && bias.is_cuda(), "inputs must be CUDA tensors");
    x = x.contiguous();
    weight = weight.contiguous();
    const int N = x.size(0), IC = x.size(1), L = x.size(2);
    const int OC = weight.size(1), K = weight.size(2);
    const int OL = (L - 1) * stride - 2 * padding + K;
    auto y = torch::empty({N, OC, OL}, x.options());
    const int threads = 128;
    dim3 grid((OL + threads - 1) / threads, OC, N);
    conv_transpose1d_kernel<<<grid, threads>>>(
        x.data_ptr<float>(), weight.data_ptr<float>(), bias.data_ptr<float>(), y.data_ptr<float>(),
        IC, OC, L, OL, K, stride, padding);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "ConvTranspose1d forward (CUDA)");
}
