#include <torch/extension.h>
#include <cuda_runtime.h>

__inline__ __device__ float2 warp_reduce(float2 v) {
    #pragma unroll
    for (int o = 16; o > 0; o >>= 1) {
        v.x += __shfl_xor_sync(0xffffffff, v.x, o);
        v.y += __shfl_xor_sync(0xffffffff, v.y, o);
    }
    return v;
}

__global__ void bn_train_kernel(const float* __restrict__ x, const float* __restrict__ weight,
                                const float* __restrict__ bias, float* running_mean, float* running_var,
                                float* __restrict__ y, float momentum, float eps, bool training,
                                int N, int C, int HW) {
    __shared__ float2 warp_part[32];
    __shared__ float s_mean, s_var;
    const int c = blockIdx.x;
    const int lane = threadIdx.x & 31, wid = threadIdx.x >> 5;

    if (training) {
        float2 acc = make_float2(0.f, 0.f);
        for (int n = 0; n < N; n++) {
            const float* p = x + ((size_t)n * C + c) * HW;
            for (int i = threadIdx.x; i < HW; i += blockDim.x) {
                acc.x += p[i];
                acc.y += p[i] * p[i];
            }
        }
        acc = warp_reduce(acc);
        if (lane == 0) warp_part[wid] = acc;
        __syncthreads();
        if (wid == 0) {
            acc = lane < (blockDim.x >> 5) ? warp_part[lane] : make_float2(0.f, 0.f);
            acc = warp_reduce(acc);
            if (lane == 0) {
                const float m = acc.x / (N * HW);
                const float v = acc.y / (N * HW) - m * m;
                s_mean = m;
                s_var = v;
                running_mean[c] = momentum * running_mean[c] + (1.f - momentum) * m;
                running_var[c] = momentum * running_var[c] + (1.f - momentum) * v;
            }
        }
    } else if (threadIdx.x == 0) {
        s_mean = running_mean[c];
        s_var = running_var[c];
    }
    __syncthreads();

    const float k = rsqrtf(s_var + eps) * weight[c];
    const float b = bias[c] - s_mean * k;
    for (int n = 0; n < N; n++) {
        const size_t base = ((size_t)n * C + c) * HW;
        for (int i = threadIdx.x; i < HW; i += blockDim.x) y[base + i] = x[base + i] * k + b;
    }
}

torch::Tensor forward(torch::Tensor x, torch::Tensor weight, torch::Tensor bias,
                      torch::Tensor running_mean, torch::Tensor running_var,
                      bool training, double momentum, double eps) {
    TORCH_CHECK(x.is_cuda() && weight.is_cuda() && bias.is_cuda(), "inputs must be CUDA tensors");
    TORCH_CHECK(x.is_contiguous(), "x must be contiguous");
    const int N = x.size(0), C = x.size(1), HW = x.size(2) * x.size(3);
    auto y = torch::empty_like(x);
    bn_train_kernel<<<C, 512>>>(x.data_ptr<float>(), weight.data_ptr<float>(), bias.data_ptr<float>(),
                                running_mean.data_ptr<float>(), running_var.data_ptr<float>(),
                                y.data_ptr<float>(), (float)momentum, (float)eps, training, N, C, HW);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "BatchNorm forward (CUDA)");
}
