#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <cuda_runtime.h>

// One warp per plane.
__global__ void global_avg_pool_kernel(const float* __restrict__ x, float* __restrict__ y,
                                       const int planes, const int HW) {
    const int plane = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    const int lane = threadIdx.x % 32;
    if (plane >= planes) return;
    const float* p = x + (size_t)plane * HW;

    float sum = 0.0f;
    for (int i = lane; i < HW; i += 32) sum += __ldg(p + i);
    for (int mask = 16; mask >= 1; mask /= 2) sum += __shfl_xor_sync(0xffffffff, sum, mask);
    if (lane == 0) y[plane] = sum / HW;
}

torch::Tensor forward(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    TORCH_CHECK(x.dim() == 4, "x must be NCHW");
    x = x.contiguous();
    const int N = x.size(0), C = x.size(1), HW = x.size(2) * x.size(3);
    auto y = torch::empty({N, C, 1, 1}, x.options());
    const int threads = 256;
    const int planes_per_block = threads / 32;
    const int blocks = (N * C + planes_per_block - 1) / planes_per_block;
    global_avg_pool_kernel<<<blocks, threads, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), N * C, HW);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Global average pooling (CUDA)");
}
