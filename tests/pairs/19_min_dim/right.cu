#include <torch/extension.h>
#include <cuda_runtime.h>
#include <math.h>

#define WARPS_PER_BLOCK 4

// One warp per row.
__global__ void min_lastdim_kernel(const float* __restrict__ x, float* __restrict__ out,
                                   const int rows, const int cols) {
    const int row = blockIdx.x * WARPS_PER_BLOCK + threadIdx.y;
    if (row >= rows) return;
    const float* p = x + (size_t)row * cols;

    float m = INFINITY;
    for (int c = threadIdx.x; c < cols; c += 32) {
        m = fminf(m, p[c]);
    }
    #pragma unroll
    for (int offset = 16; offset > 0; offset >>= 1) {
        m = fminf(m, __shfl_down_sync(0xffffffff, m, offset));
    }
    if (threadIdx.x == 0) out[row] = m;
}

torch::Tensor forward(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    x = x.contiguous();
    auto shape = x.sizes().vec();
    const int cols = shape.back();
    shape.pop_back();
    auto out = torch::empty(shape, x.options());
    const int rows = out.numel();
    dim3 block(32, WARPS_PER_BLOCK);
    dim3 grid((rows + WARPS_PER_BLOCK - 1) / WARPS_PER_BLOCK);
    min_lastdim_kernel<<<grid, block>>>(x.data_ptr<float>(), out.data_ptr<float>(), rows, cols);
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Min over the last dimension (CUDA)");
}
