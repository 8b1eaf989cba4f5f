#include <torch/extension.h>
#include <cuda_runtime.h>

#define CHECK_CUDA(x) TORCH_CHECK(x.is_cuda(), #x " must be a CUDA tensor")
#define CHECK_CONTIGUOUS(x) TORCH_CHECK(x.is_contiguous(), #x " must be contiguous")
#define CHECK_INPUT(x) CHECK_CUDA(x); CHECK_CONTIGUOUS(x)

#define BLOCK 256

__device__ float block_reduce(float v, float* smem) {
    smem[threadIdx.x] = v;
    __syncthreads();
    for (int s = BLOCK / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) smem[threadIdx.x] += smem[threadIdx.x + s];
        __syncthreads();
    }
    float r = smem[0];
    __syncthreads();
    return r;
}

// One block per channel.
__global__ void batch_norm_kernel(const float* __restrict__ x,
                                  const float* __restrict__ weight,
                                  const float* __restrict__ bias,
                                  float* __restrict__ running_mean,
                                  float* __restrict__ running_var,
                                  float* __restrict__ y,
                                  const bool training,
                                  const float momentum,
                                  const float eps,
                                  const int N, const int C, const int HW) {
    __shared__ float smem[BLOCK];
    const int c = blockIdx.x;
    const int count = N * HW;

    float mean, var;
    if (training) {
        float s = 0.0f;
        for (int i = threadIdx.x; i < count; i += BLOCK) {
            const int n = i / HW, p = i % HW;
            s += x[((size_t)n * C + c) * HW + p];
        }
        mean = block_reduce(s, smem) / count;

        float sq = 0.0f;
        for (int i = threadIdx.x; i < count; i += BLOCK) {
            const int n = i / HW, p = i % HW;
            const float d = x[((size_t)n * C + c) * HW + p] - mean;
            sq += d * d;
        }
        const float m2 = block_reduce(sq, smem);
        var = m2 / count;

        if (threadIdx.x == 0) {
            running_mean[c] = (1.0f - momentum) * running_mean[c] + momentum * mean;
            running_var[c] = (1.0f - momentum) * running_var[c] + momentum * (m2 / (count - 1));
        }
    } else {
        mean = running_mean[c];
        var = running_var[c];
    }

    const float inv_std = rsqrtf(var + eps);
    const float w = weight[c];
    const float b = bias[c];
    for (int i = threadIdx.x; i < count; i += BLOCK) {
        const int n = i / HW, p = i % HW;
        const size_t idx = ((size_t)n * C + c) * HW + p;
        y[idx] = (x[idx] - mean) * inv_std * w + b;
    }
}

torch::Tensor forward(torch::Tensor x, torch::Tensor weight, torch::Tensor bias,
                      torch::Tensor running_mean, torch::Tensor running_var,
                      bool training, double momentum, double eps) {
    CHECK_INPUT(x);
    CHECK_INPUT(weight);
    CHECK_INPUT(bias);
    CHECK_INPUT(running_mean);
    CHECK_INPUT(running_var);

    const int N = x.size(0);
    const int C = x.size(1);
    const int HW = x.size(2) * x.size(3);
    auto y = torch::empty_like(x);
    batch_norm_kernel<<<C, BLOCK>>>(
        x.data_ptr<float>(), weight.data_ptr<float>(), bias.data_ptr<float>(),
        running_mean.data_ptr<float>(), running_var.data_ptr<float>(), y.data_ptr<float>(),
        training, (float)momentum, (float)eps, N, C, HW);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "BatchNorm forward (CUDA)");
}
