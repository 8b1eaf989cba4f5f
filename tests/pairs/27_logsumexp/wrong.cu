#include <torch/extension.h>
#include <cuda_runtime.h>
#include <math.h>

// Single pass with a running maximum per thread, then block reductions.
__global__ void logsumexp_online_kernel(const float* __restrict__ x, float* __restrict__ out, const int D) {
    __shared__ float red[256];
    const int tid = threadIdx.x;
    const float* row = x + (size_t)blockIdx.x * D;

    float m = -INFINITY;
    float s = 0.0f;
    for (int i = tid; i < D; i += blockDim.x) {
        const float v = row[i];
        if (v > m) {
            s = s * expf(m - v) + 1.0f;
            m = v;
        } else {
            s += expf(v - m);
        }
    }

    red[tid] = m;
    __syncthreads();
    for (int k = blockDim.x / 2; k > 0; k >>= 1) {
        if (tid < k) red[tid] = fmaxf(red[tid], red[tid + k]);
        __syncthreads();
    }
    const float row_max = red[0];
    __syncthreads();

    red[tid] = s;
    __syncthreads();
    for (int k = blockDim.x / 2; k > 0; k >>= 1) {
        if (tid < k) red[tid] += red[tid + k];
        __syncthreads();
    }
    if (tid == 0) out[blockIdx.x] = row_max + logf(red[0]);
}

torch::Tensor forward(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    TORCH_CHECK(x.dim() == 2, "x must be 2D");
    x = x.contiguous();
    const int rows = x.size(0);
    const int D = x.size(1);
    auto out = torch::empty({rows, 1}, x.options());
    logsumexp_online_kernel<<<rows, 256>>>(x.data_ptr<float>(), out.data_ptr<float>(), D);
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "LogSumExp forward (CUDA)");
}
