#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void var_kernel(const float* __restrict__ x, float* __restrict__ out, const int n) {
    __shared__ float2 smem[32];
    const int lane = threadIdx.x & 31, wid = threadIdx.x >> 5;
    const float* row = x + (size_t)blockIdx.x * n;

    float s = 0.f, sq = 0.f;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        const float v = row[i];
        s += v;
        sq = fmaf(v, v, sq);
    }
    #pragma unroll
    for (int o = 16; o > 0; o >>= 1) {
        s += __shfl_down_sync(0xffffffff, s, o);
        sq += __shfl_down_sync(0xffffffff, sq, o);
    }
    if (lane == 0) smem[wid] = make_float2(s, sq);
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < (blockDim.x >> 5); w++) {
            s += smem[w].x;
            sq += smem[w].y;
        }
        const float mean = s / n;
        out[blockIdx.x] = sq / n - mean * mean;
    }
}

torch::Tensor forward(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    x = x.contiguous();
    const int rows = x.size(0), n = x.size(1);
    auto out = torch::empty({rows}, x.options());
    var_kernel<<<rows, 256>>>(x.data_ptr<float>(), out.data_ptr<float>(), n);
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Row variance (CUDA)");
}
