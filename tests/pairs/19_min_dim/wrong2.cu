#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void min_lastdim_kernel(const float* __restrict__ x, float* __restrict__ out,
                                   const int rows, const int cols) {
    const int warp = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
    const int lane = threadIdx.x & 31;
    if (warp >= rows) return;
    const float* p = x + (size_t)warp * cols;

    float m = p[lane];
    for (int c = lane + 32; c < cols; c += 32) m = fminf(m, p[c]);

    #pragma unroll
    for (int offset = 8; offset > 0; offset >>= 1) {
        m = fminf(m, __shfl_xor_sync(0xffffffff, m, offset));
    }
    if (lane == 0) out[warp] = m;
}

torch::Tensor forward(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    x = x.contiguous();
    auto shape = x.sizes().vec();
    const int cols = shape.back();
    TORCH_CHECK(cols >= 32, "last dimension too small");
    shape.pop_back();
    auto out = torch::empty(shape, x.options());
    const int rows = out.numel();
    const int threads = 256;
    const int blocks = (rows * 32 + threads - 1) / threads;
    min_lastdim_kernel<<<blocks, threads>>>(x.data_ptr<float>(), out.data_ptr<float>(), rows, cols);
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Min over the last dimension (CUDA)");
}
