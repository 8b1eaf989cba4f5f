#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void l2_norm_kernel(const float* __restrict__ x, float* __restrict__ y, const int D) {
    __shared__ float warp_sum[32];
    const int lane = threadIdx.x & 31, wid = threadIdx.x >> 5;
    const float* p = x + (size_t)blockIdx.x * D;
    float* q = y + (size_t)blockIdx.x * D;

    float s = 0.0f;
    for (int i = threadIdx.x; i < D; i += blockDim.x) s = fmaf(p[i], p[i], s);
    #pragma unroll
    for (int o = 16; o > 0; o >>= 1) s += __shfl_down_sync(0xffffffff, s, o);
    if (lane == 0) warp_sum[wid] = s;
    __syncthreads();
    if (wid == 0) {
        s = lane < (blockDim.x >> 5) ? warp_sum[lane] : 0.0f;
        #pragma unroll
        for (int o = 16; o > 0; o >>= 1) s += __shfl_down_sync(0xffffffff, s, o);
        if (lane == 0) warp_sum[0] = s;
    }
    __syncthreads();

    const float inv_norm = 1.0f / warp_sum[0];
    for (int i = threadIdx.x; i < D; i += blockDim.x) q[i] = p[i] * inv_norm;
}

torch::Tensor forward(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    TORCH_CHECK(x.dim() == 2, "x must be 2D");
    x = x.contiguous();
    auto y = torch::empty_like(x);
    l2_norm_kernel<<<x.size(0), 1024>>>(x.data_ptr<float>(), y.data_ptr<float>(), (int)x.size(1));
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "L2 normalization (CUDA)");
}
