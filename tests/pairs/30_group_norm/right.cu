#include <torch/extension.h>
#include <cuda_runtime.h>

// Kernel 1: mean and inverse deviation of each (n, group).
__global__ void gn_stats_kernel(const float* __restrict__ x, float* __restrict__ mean, float* __restrict__ rstd,
                                const int group_elems, const float eps) {
    extern __shared__ float smem[];
    const int tid = threadIdx.x;
    const float* p = x + (size_t)blockIdx.x * group_elems;

    float s = 0.0f;
    for (int i = tid; i < group_elems; i += blockDim.x) s += p[i];
    smem[tid] = s;
    __syncthreads();
    for (int k = blockDim.x / 2; k > 0; k >>= 1) {
        if (tid < k) smem[tid] += smem[tid + k];
        __syncthreads();
    }
    const float mu = smem[0] / group_elems;
    __syncthreads();

    float sq = 0.0f;
    for (int i = tid; i < group_elems; i += blockDim.x) {
        const float d = p[i] - mu;
        sq += d * d;
    }
    smem[tid] = sq;
    __syncthreads();
    for (int k = blockDim.x / 2; k > 0; k >>= 1) {
        if (tid < k) smem[tid] += smem[tid + k];
        __syncthreads();
    }
    if (tid == 0) {
        mean[blockIdx.x] = mu;
        rstd[blockIdx.x] = rsqrtf(smem[0] / group_elems + eps);
    }
}

// Kernel 2: normalise and apply the affine transform.
__global__ void gn_apply_kernel(const float* __restrict__ x, const float* __restrict__ mean,
                                const float* __restrict__ rstd, const float* __restrict__ weight,
                                const float* __restrict__ bias, float* __restrict__ y,
                                const int C, const int HW, const int channels_per_group, const int total) {
    const int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= total) return;
    const int c = (idx / HW) % C;
    const int n = idx / (HW * C);
    const int g = n * (C / channels_per_group) + c / channels_per_group;
    y[idx] = (x[idx] - mean[g]) * rstd[g] * weight[c] + bias[c];
}

torch::Tensor forward(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, int64_t num_groups, double eps) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    TORCH_CHECK(x.dim() >= 2, "x must have a channel dimension");
    TORCH_CHECK(x.size(1) % num_groups == 0, "channels must be divisible by num_groups");
    x = x.contiguous();
    const int N = x.size(0);
    const int C = x.size(1);
    const int HW = x.numel() / (N * C);
    const int cpg = C / num_groups;

    auto y = torch::empty_like(x);
    auto mean = torch::empty({N, num_groups}, x.options());
    auto rstd = torch::empty({N, num_groups}, x.options());

    const int threads = 256;
    gn_stats_kernel<<<N * num_groups, threads, threads * sizeof(float)>>>(
        x.data_ptr<float>(), mean.data_ptr<float>(), rstd.data_ptr<float>(), cpg * HW, (float)eps);

    const int total = x.numel();
    gn_apply_kernel<<<(total + threads - 1) / threads, threads>>>(
        x.data_ptr<float>(), mean.data_ptr<float>(), rstd.data_ptr<float>(),
        weight.data_ptr<float>(), bias.data_ptr<float>(), y.data_ptr<float>(), C, HW, cpg, total);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "GroupNorm forward (CUDA)");
}
