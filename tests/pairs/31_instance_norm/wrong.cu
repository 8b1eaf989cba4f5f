#include <torch/extension.h>
#include <cuda_runtime.h>
#include <math.h>

#define BLOCK_SIZE 256

__global__ void instance_norm_kernel(const float* __restrict__ x, float* __restrict__ y,
                                     const int HW, const float eps) {
    __shared__ float s_data[BLOCK_SIZE];
    __shared__ float s_mean;
    __shared__ float s_inv_std;
    const int tid = threadIdx.x;
    const size_t base = (size_t)blockIdx.x * HW;

    float acc = 0.0f;
    for (int i = tid; i < HW; i += BLOCK_SIZE) acc += x[base + i];
    s_data[tid] = acc;
    __syncthreads();
    for (int s = BLOCK_SIZE / 2; s > 0; s >>= 1) {
        if (tid < s) s_data[tid] += s_data[tid + s];
        __syncthreads();
    }
    if (tid == 0) s_mean = s_data[0] / HW;
    __syncthreads();

    const float mean = s_mean;
    acc = 0.0f;
    for (int i = tid; i < HW; i += BLOCK_SIZE) {
        const float diff = x[base + i] - mean;
        acc += diff * diff;
    }
    s_data[tid] = acc;
    __syncthreads();
    for (int s = BLOCK_SIZE / 2; s > 0; s >>= 1) {
        if (tid < s) s_data[tid] += s_data[tid + s];
        __syncthreads();
    }
    if (tid == 0) s_inv_std = 1.0f / (sqrtf(s_data[0] / HW) + eps);
    __syncthreads();

    for (int i = tid; i < HW; i += BLOCK_SIZE) {
        y[base + i] = (x[base + i] - mean) * s_inv_std;
    }
}

torch::Tensor forward(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    TORCH_CHECK(x.dim() == 4, "x must be NCHW");
    x = x.contiguous();
    auto y = torch::empty_like(x);
    const int HW = x.size(2) * x.size(3);
    instance_norm_kernel<<<x.size(0) * x.size(1), BLOCK_SIZE>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), HW, 1e-5f);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "InstanceNorm2d forward (CUDA)");
}
