#include <torch/extension.h>
#include <cuda_runtime.h>
#include <math.h>

#define BLOCK 128
#define MASK_VALUE -10000.0f

__global__ void causal_softmax_kernel(const float* __restrict__ x, float* __restrict__ y, const int T) {
    __shared__ float red[BLOCK];
    const int tid = threadIdx.x;
    const int i = blockIdx.x % T;
    const float* in = x + (size_t)blockIdx.x * T;
    float* out = y + (size_t)blockIdx.x * T;

    float m = -INFINITY;
    for (int j = tid; j < T; j += BLOCK) {
        const float v = j <= i ? in[j] : MASK_VALUE;
        m = fmaxf(m, v);
    }
    red[tid] = m;
    __syncthreads();
    for (int s = BLOCK / 2; s > 0; s >>= 1) {
        if (tid < s) red[tid] = fmaxf(red[tid], red[tid + s]);
        __syncthreads();
    }
    m = red[0];
    __syncthreads();

    float sum = 0.0f;
    for (int j = tid; j < T; j += BLOCK) {
        const float e = expf((j <= i ? in[j] : MASK_VALUE) - m);
        out[j] = e;
        sum += e;
    }
    red[tid] = sum;
    __syncthreads();
    for (int s = BLOCK / 2; s > 0; s >>= 1) {
        if (tid < s) red[tid] += red[tid + s];
        __syncthreads();
    }
    const float inv = 1.0f / red[0];
    for (int j = tid; j < T; j += BLOCK) out[j] *= inv;
}

torch::Tensor forward(torch::Tensor scores) {
    TORCH_CHECK(scores.is_cuda(), "scores must be a CUDA tensor");
    scores = scores.contiguous();
    auto out = torch::empty_like(scores);
    const int T = scores.size(-1);
    const int rows = scores.numel() / T;
    causal_softmax_kernel<<<rows, BLOCK>>>(scores.data_ptr<float>(), out.data_ptr<float>(), T);
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Causal softmax (CUDA)");
}
