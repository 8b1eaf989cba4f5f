#include <torch/extension.h>
#include <cuda_runtime.h>
#include <math.h>

__global__ void sum_squares_kernel(const float* __restrict__ x, float* __restrict__ total, const int n) {
    __shared__ float block_sum;
    if (threadIdx.x == 0) block_sum = 0.0f;
    __syncthreads();

    float s = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        s += x[i] * x[i];
    }
    for (int o = 16; o > 0; o >>= 1) s += __shfl_down_sync(0xffffffff, s, o);
    if ((threadIdx.x & 31) == 0) atomicAdd(&block_sum, s);
    __syncthreads();

    if (threadIdx.x == 0) atomicAdd(total, block_sum);
}

__global__ void divide_kernel(const float* __restrict__ x, const float* __restrict__ total,
                              float* __restrict__ y, const int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] / sqrtf(*total);
}

torch::Tensor forward(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    x = x.contiguous();
    const int n = x.numel();
    auto y = torch::empty_like(x);
    auto total = torch::zeros({1}, x.options());
    const int threads = 256;
    const int blocks = (n + threads - 1) / threads;
    sum_squares_kernel<<<std::min(blocks, 1024), threads>>>(x.data_ptr<float>(), total.data_ptr<float>(), n);
    divide_kernel<<<blocks, threads>>>(x.data_ptr<float>(), total.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Frobenius norm normalization (CUDA)");
}
