#include <torch/extension.h>
#include <cuda_runtime.h>

#define NUM_THREADS 256

__global__ void var_kernel(const float* __restrict__ x, float* __restrict__ out, const int n) {
    __shared__ float s_sum[NUM_THREADS];
    __shared__ float s_sq[NUM_THREADS];
    const int tid = threadIdx.x;
    const float* row = x + (size_t)blockIdx.x * n;

    float sum = 0.0f, sq = 0.0f;
    for (int i = tid; i < n; i += NUM_THREADS) {
        const float v = row[i];
        sum += v;
        sq += v * v;
    }
    s_sum[tid] = sum;
    s_sq[tid] = sq;
    __syncthreads();
    for (int s = NUM_THREADS / 2; s > 0; s >>= 1) {
        if (tid < s) {
            s_sum[tid] += s_sum[tid + s];
            s_sq[tid] += s_sq[tid + s];
        }
        __syncthreads();
    }
    if (tid == 0) {
        out[blockIdx.x] = (s_sq[0] - s_sum[0] * s_sum[0] / n) / (n - 1);
    }
}

torch::Tensor forward(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    TORCH_CHECK(x.is_contiguous(), "x must be contiguous");
    const int rows = x.size(0), n = x.size(1);
    auto out = torch::zeros({rows}, x.options());
    var_kernel<<<rows, NUM_THREADS>>>(x.data_ptr<float>(), out.data_ptr<float>(), n);
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Row variance (CUDA)");
}
