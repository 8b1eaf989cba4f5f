#include <torch/extension.h>
#include <cuda_runtime.h>

template <unsigned int BLOCK>
__device__ float block_sum(float v, float* smem) {
    const unsigned int tid = threadIdx.x;
    smem[tid] = v;
    __syncthreads();
    if (BLOCK >= 512) { if (tid < 256) smem[tid] += smem[tid + 256]; __syncthreads(); }
    if (BLOCK >= 256) { if (tid < 128) smem[tid] += smem[tid + 128]; __syncthreads(); }
    if (BLOCK >= 128) { if (tid < 64) smem[tid] += smem[tid + 64]; __syncthreads(); }
    if (tid < 32) {
        float r = smem[tid] + smem[tid + 32];
        #pragma unroll
        for (int offset = 16; offset > 0; offset /= 2) r += __shfl_down_sync(0xffffffff, r, offset);
        if (tid == 0) smem[0] = r;
    }
    __syncthreads();
    const float total = smem[0];
    __syncthreads();
    return total;
}

template <unsigned int BLOCK>
__global__ void var_kernel(const float* __restrict__ x, float* __restrict__ out, const int n) {
    __shared__ float smem[BLOCK];
    const float* row = x + (size_t)blockIdx.x * n;

    float s = 0.0f;
    for (int i = threadIdx.x; i < n; i += BLOCK) s += row[i];
    const float mean = block_sum<BLOCK>(s, smem) / n;

    float sq = 0.0f;
    for (int i = threadIdx.x; i < n; i += BLOCK) {
        const float d = row[i] - mean;
        sq += d * d;
    }
    const float total = block_sum<BLOCK>(sq, smem);
    if (threadIdx.x == 0) out[blockIdx.x] = total / (n - 1);
}

torch::Tensor forward(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    TORCH_CHECK(x.dim() == 2, "x must be 2D");
    x = x.contiguous();
    auto out = torch::empty({x.size(0)}, x.options());
    var_kernel<256><<<x.size(0), 256>>>(x.data_ptr<float>(), out.data_ptr<float>(), (int)x.size(1));
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Row variance (CUDA)");
}
