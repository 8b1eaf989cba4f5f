#include <torch/extension.h>
#include <cuda_runtime.h>

template <int THREADS>
__global__ void group_norm_fused_kernel(const float* __restrict__ x, const float* __restrict__ weight,
                                        const float* __restrict__ bias, float* __restrict__ y,
                                        const int group_elems, const int num_groups, const float eps) {
    __shared__ float red[THREADS];
    const int tid = threadIdx.x;
    const int g = blockIdx.x % num_groups;
    const float* p = x + (size_t)blockIdx.x * group_elems;
    float* q = y + (size_t)blockIdx.x * group_elems;

    float s = 0.0f;
    for (int i = tid; i < group_elems; i += THREADS) s += p[i];
    red[tid] = s;
    __syncthreads();
    #pragma unroll
    for (int k = THREADS / 2; k > 0; k >>= 1) {
        if (tid < k) red[tid] += red[tid + k];
        __syncthreads();
    }
    const float mean = red[0] / group_elems;
    __syncthreads();

    float v = 0.0f;
    for (int i = tid; i < group_elems; i += THREADS) v += (p[i] - mean) * (p[i] - mean);
    red[tid] = v;
    __syncthreads();
    #pragma unroll
    for (int k = THREADS / 2; k > 0; k >>= 1) {
        if (tid < k) red[tid] += red[tid + k];
        __syncthreads();
    }
    const float scale = rsqrtf(red[0] / group_elems + eps) * weight[g];
    const float shift = bias[g];

    for (int i = tid; i < group_elems; i += THREADS) {
        q[i] = (p[i] - mean) * scale + shift;
    }
}

torch::Tensor forward(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, int64_t num_groups, double eps) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    x = x.contiguous();
    const int N = x.size(0);
    const int group_elems = x.numel() / (N * num_groups);
    auto y = torch::empty_like(x);
    group_norm_fused_kernel<256><<<N * num_groups, 256>>>(
        x.data_ptr<float>(), weight.data_ptr<float>(), bias.data_ptr<float>(), y.data_ptr<float>(),
        group_elems, (int)num_groups, (float)eps);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "GroupNorm forward (CUDA)");
}
