#include <torch/extension.h>
#include <cuda_runtime.h>

#define BLOCK 256

__global__ void layer_norm_kernel(const float* __restrict__ x,
                                  const float* __restrict__ weight,
                                  const float* __restrict__ bias,
                                  float* __restrict__ out,
                                  int features,
                                  float eps) {
    __shared__ float s_sum[BLOCK];
    __shared__ float s_sq[BLOCK];
    const int tid = threadIdx.x;
    const float* in = x + (size_t)blockIdx.x * features;
    float* o = out + (size_t)blockIdx.x * features;

    float sum = 0.0f;
    for (int i = tid; i < features; i += BLOCK) sum += in[i];
    s_sum[tid] = sum;
    __syncthreads();
    for (int s = BLOCK / 2; s > 0; s >>= 1) {
        if (tid < s) s_sum[tid] += s_sum[tid + s];
        __syncthreads();
    }
    const float mean = s_sum[0] / features;

    float sq = 0.0f;
    for (int i = tid; i < features; i += BLOCK) {
        float d = in[i] - mean;
        sq += d * d;
    }
    s_sq[tid] = sq;
    __syncthreads();
    for (int s = BLOCK / 2; s > 0; s >>= 1) {
        if (tid < s) s_sq[tid] += s_sq[tid + s];
        __syncthreads();
    }
    const float rstd = rsqrtf(s_sq[0] / features + eps);

    for (int i = tid; i < features; i += BLOCK) {
        o[i] = (in[i] - mean) * rstd;
    }
}

torch::Tensor forward(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, double eps) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    TORCH_CHECK(weight.is_cuda(), "weight must be a CUDA tensor");
    TORCH_CHECK(bias.is_cuda(), "bias must be a CUDA tensor");
    x = x.contiguous();
    auto out = torch::empty_like(x);
    const int features = x.size(-1);
    const int rows = x.numel() / features;
    layer_norm_kernel<<<rows, BLOCK>>>(
        x.data_ptr<float>(), weight.data_ptr<float>(), bias.data_ptr<float>(),
        out.data_ptr<float>(), features, (float)eps);
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "LayerNorm forward (CUDA)");
}
