#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void linear_kernel(const float* __restrict__ x, const float* __restrict__ w,
                              const float* __restrict__ b, float* __restrict__ y,
                              int N, int IN, int OUT) {
    const int o = blockIdx.x * blockDim.x + threadIdx.x;
    const int n = blockIdx.y;
    if (o >= OUT) return;
    float acc = b[o];
    for (int i = 0; i < IN; i++) acc += x[n * IN + i] * w[o * IN + i];
    y[n * OUT + o] = acc;
}

// One block per sample; thread g normalises group g, then the block adds everything up.
__global__ void group_norm_mean_kernel(const float* __restrict__ y, const float* __restrict__ gamma,
                                       const float* __restrict__ beta, float* __restrict__ out,
                                       int OUT, int G) {
    extern __shared__ float group_sum[];
    const int n = blockIdx.x;
    const int size = OUT / G;
    for (int g = threadIdx.x; g < G; g += blockDim.x) {
        const float* p = y + n * OUT + g * size;
        float mean = 0.0f;
        for (int i = 0; i < size; i++) mean += p[i];
        mean /= size;
        float var = 0.0f;
        for (int i = 0; i < size; i++) var += (p[i] - mean) * (p[i] - mean);
        var /= size;
        const float inv = rsqrtf(var + 1e-5f);
        float s = 0.0f;
        for (int i = 0; i < size; i++) {
            const int c = g * size + i;
            s += (p[i] - mean) * inv * gamma[c] + beta[c];
        }
        group_sum[g] = s;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        float total = 0.0f;
        for (int g = 0; g < G; g++) total += group_sum[g];
        out[n] = total / OUT;
    }
}

torch::Tensor forward(torch::Tensor x, torch::Tensor weight, torch::Tensor bias,
                      torch::Tensor gn_weight, torch::Tensor gn_bias, int64_t num_groups) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    TORCH_CHECK(weight.size(0) % num_groups == 0, "features must be divisible by num_groups");
    x = x.contiguous();
    weight = weight.contiguous();
    const int N = x.size(0), IN = x.size(1), OUT = weight.size(0);
    auto y = torch::empty({N, OUT}, x.options());
    auto out = torch::empty({N}, x.options());

    const int threads = 128;
    linear_kernel<<<dim3((OUT + threads - 1) / threads, N), threads>>>(
        x.data_ptr<float>(), weight.data_ptr<float>(), bias.data_ptr<float>(), y.data_ptr<float>(), N, IN, OUT);
    group_norm_mean_kernel<<<N, 32, num_groups * sizeof(float)>>>(
        y.data_ptr<float>(), gn_weight.data_ptr<float>(), gn_bias.data_ptr<float>(), out.data_ptr<float>(),
        OUT, (int)num_groups);
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Linear + GroupNorm + mean forward (CUDA)");
}
