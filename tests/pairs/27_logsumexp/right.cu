#include <torch/extension.h>
#include <cuda_runtime.h>
#include <cfloat>

struct MaxSum {
    float m;
    float s;
};

__device__ __forceinline__ MaxSum combine(MaxSum a, MaxSum b) {
    MaxSum r;
    r.m = fmaxf(a.m, b.m);
    r.s = a.s * expf(a.m - r.m) + b.s * expf(b.m - r.m);
    return r;
}

// Online logsumexp, one block per row.
__global__ void logsumexp_kernel(const float* __restrict__ x, float* __restrict__ out, const int D) {
    __shared__ float sm[256];
    __shared__ float ss[256];
    const int tid = threadIdx.x;
    const float* row = x + (size_t)blockIdx.x * D;

    MaxSum acc = {-FLT_MAX, 0.0f};
    for (int i = tid; i < D; i += blockDim.x) {
        acc = combine(acc, MaxSum{row[i], 1.0f});
    }
    sm[tid] = acc.m;
    ss[tid] = acc.s;
    __syncthreads();

    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) {
            const MaxSum r = combine(MaxSum{sm[tid], ss[tid]}, MaxSum{sm[tid + s], ss[tid + s]});
            sm[tid] = r.m;
            ss[tid] = r.s;
        }
        __syncthreads();
    }
    if (tid == 0) out[blockIdx.x] = sm[0] + logf(ss[0]);
}

torch::Tensor forward(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    TORCH_CHECK(x.dim() == 2, "x must be 2D");
    x = x.contiguous();
    auto out = torch::empty({x.size(0), 1}, x.options());
    logsumexp_kernel<<<x.size(0), 256>>>(x.data_ptr<float>(), out.data_ptr<float>(), (int)x.size(1));
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "LogSumExp forward (CUDA)");
}
