#include <torch/extension.h>
#include <cuda_runtime.h>

#define MAX_GROUPS 16

// One block per sample, one warp per group (round robin).
__global__ void group_norm_kernel(const float* __restrict__ x, const float* __restrict__ weight,
                                  const float* __restrict__ bias, float* __restrict__ y,
                                  const int C, const int HW, const int G, const float eps) {
    __shared__ float s_mean[MAX_GROUPS];
    __shared__ float s_rstd[MAX_GROUPS];
    const int lane = threadIdx.x & 31, wid = threadIdx.x >> 5, nwarps = blockDim.x >> 5;
    const int cpg = C / G;
    const int elems = cpg * HW;
    const float* xs = x + (size_t)blockIdx.x * C * HW;
    float* ys = y + (size_t)blockIdx.x * C * HW;

    for (int g = wid; g < G; g += nwarps) {
        const float* p = xs + (size_t)g * elems;
        float s = 0.f;
        for (int i = lane; i < elems; i += 32) s += p[i];
        for (int o = 16; o > 0; o >>= 1) s += __shfl_xor_sync(0xffffffff, s, o);
        const float mu = s / elems;
        float q = 0.f;
        for (int i = lane; i < elems; i += 32) q += (p[i] - mu) * (p[i] - mu);
        for (int o = 16; o > 0; o >>= 1) q += __shfl_xor_sync(0xffffffff, q, o);
        if (lane == 0) {
            s_mean[g] = mu;
            s_rstd[g] = rsqrtf(q / elems + eps);
        }
    }
    __syncthreads();

    for (int i = threadIdx.x; i < C * HW; i += blockDim.x) {
        const int c = i / HW;
        const int g = c / cpg;
        ys[i] = (xs[i] - s_mean[g]) * s_rstd[g] * weight[c] + bias[c];
    }
}

torch::Tensor forward(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, int64_t num_groups, double eps) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    x = x.contiguous();
    const int N = x.size(0), C = x.size(1);
    const int HW = x.numel() / (N * C);
    auto y = torch::empty_like(x);
    group_norm_kernel<<<N, 512>>>(x.data_ptr<float>(), weight.data_ptr<float>(), bias.data_ptr<float>(),
                                  y.data_ptr<float>(), C, HW, (int)num_groups, (float)eps);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "GroupNorm forward (CUDA)");
}
