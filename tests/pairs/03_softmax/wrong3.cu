#include <torch/extension.h>
#include <cuda_runtime.h>

__inline__ __device__ float warp_reduce_sum(float v) {
    #pragma unroll
    for (int offset = 16; offset > 0; offset >>= 1)
        v += __shfl_down_sync(0xffffffff, v, offset);
    return v;
}

__global__ void softmax_first_kernel(const float* __restrict__ x, float* __restrict__ y, int dim) {
    __shared__ float warp_sums[32];
    const int tid = threadIdx.x;
    const int lane = tid & 31;
    const int wid = tid >> 5;
    const int n_warps = blockDim.x >> 5;
    const size_t base = (size_t)blockIdx.x * dim;

    const float pivot = x[base];
    float local = 0.0f;
    for (int i = tid; i < dim; i += blockDim.x) {
        local += expf(x[base + i] - pivot);
    }
    local = warp_reduce_sum(local);
    if (lane == 0) warp_sums[wid] = local;
    __syncthreads();
    if (wid == 0) {
        float v = (lane < n_warps) ? warp_sums[lane] : 0.0f;
        v = warp_reduce_sum(v);
        if (lane == 0) warp_sums[0] = v;
    }
    __syncthreads();
    const float inv = 1.0f / warp_sums[0];

    for (int i = tid; i < dim; i += blockDim.x) {
        y[base + i] = expf(x[base + i] - pivot) * inv;
    }
}

torch::Tensor forward(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda(), "x must be on the GPU");
    TORCH_CHECK(x.is_contiguous(), "x must be contiguous");
    auto y = torch::empty_like(x);
    const int rows = x.size(0);
    const int dim = x.size(1);
    softmax_first_kernel<<<rows, 1024>>>(x.data_ptr<float>(), y.data_ptr<float>(), dim);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Softmax forward (CUDA)");
}
