#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void row_mean_kernel(const float* __restrict__ x, float* __restrict__ out, const int cols) {
    __shared__ float warp_sums[32];
    const float* row = x + (size_t)blockIdx.x * cols;

    float sum = 0.0f;
    for (int i = threadIdx.x; i < cols; i += blockDim.x) {
        sum += row[i];
    }
    for (int offset = warpSize / 2; offset > 0; offset /= 2) {
        sum += __shfl_down_sync(0xFFFFFFFF, sum, offset);
    }
    const int lane = threadIdx.x % warpSize;
    const int warp = threadIdx.x / warpSize;
    if (lane == 0) warp_sums[warp] = sum;
    __syncthreads();

    if (warp == 0) {
        const int num_warps = blockDim.x / warpSize;
        sum = lane < num_warps ? warp_sums[lane] : 0.0f;
        for (int offset = warpSize / 2; offset > 0; offset /= 2) {
            sum += __shfl_down_sync(0xFFFFFFFF, sum, offset);
        }
        if (lane == 0) out[blockIdx.x] = sum / static_cast<float>(cols);
    }
}

torch::Tensor forward(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    TORCH_CHECK(x.dim() == 2, "x must be 2D");
    x = x.contiguous();
    const int rows = x.size(0);
    const int cols = x.size(1);
    auto out = torch::empty({rows}, x.options());
    row_mean_kernel<<<rows, 192>>>(x.data_ptr<float>(), out.data_ptr<float>(), cols);
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Row mean (CUDA)");
}
