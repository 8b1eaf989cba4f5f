#include <torch/extension.h>
#include <cuda_runtime.h>
#include <cfloat>

__global__ void min_lastdim_kernel(const float* __restrict__ x, float* __restrict__ out, const int cols) {
    __shared__ float s_min[128];
    const int tid = threadIdx.x;
    const float* p = x + (size_t)blockIdx.x * cols;

    float m = FLT_MAX;
    for (int c = tid; c < cols; c += 128) {
        m = fminf(m, p[c]);
    }
    s_min[tid] = m;
    __syncthreads();
    #pragma unroll
    for (int s = 64; s > 0; s >>= 1) {
        if (tid < s) s_min[tid] = fminf(s_min[tid], s_min[tid + s]);
        __syncthreads();
    }
    if (tid == 0) out[blockIdx.x] = s_min[0];
}

torch::Tensor forward(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    x = x.contiguous();
    auto shape = x.sizes().vec();
    const int cols = shape.back();
    shape.pop_back();
    auto out = torch::empty(shape, x.options());
    min_lastdim_kernel<<<out.numel(), 128>>>(x.data_ptr<float>(), out.data_ptr<float>(), cols);
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Min over the last dimension (CUDA)");
}
