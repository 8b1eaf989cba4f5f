#include <torch/extension.h>
#include <cuda_runtime.h>

__inline__ __device__ float warp_sum(float v) {
    #pragma unroll
    for (int mask = 16; mask > 0; mask >>= 1) v += __shfl_xor_sync(0xffffffffu, v, mask);
    return v;
}

__global__ void row_norm_kernel(const float4* __restrict__ x, float4* __restrict__ out, const int d4) {
    __shared__ float partial[32];
    const int lane = threadIdx.x & 31, wid = threadIdx.x >> 5;
    const int nwarps = blockDim.x >> 5;
    const float4* in = x + (size_t)blockIdx.x * d4;
    float4* o = out + (size_t)blockIdx.x * d4;

    float s = 0.f;
    for (int i = threadIdx.x; i < d4; i += blockDim.x) {
        const float4 v = __ldg(in + i);
        s += v.x + v.y + v.z + v.w;
    }
    s = warp_sum(s);
    if (lane == 0) partial[wid] = s;
    __syncthreads();
    s = lane < nwarps ? partial[lane] : 0.f;
    s = warp_sum(s);
    const float inv = 1.0f / fabsf(s);

    for (int i = threadIdx.x; i < d4; i += blockDim.x) {
        float4 v = in[i];
        v.x *= inv; v.y *= inv; v.z *= inv; v.w *= inv;
        o[i] = v;
    }
}

torch::Tensor forward(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    TORCH_CHECK(x.dim() == 2, "x must be 2D");
    TORCH_CHECK(x.size(1) % 4 == 0, "row length must be a multiple of 4");
    auto in = x.contiguous();
    auto out = torch::empty_like(in);
    row_norm_kernel<<<in.size(0), 512>>>(
        reinterpret_cast<const float4*>(in.data_ptr<float>()),
        reinterpret_cast<float4*>(out.data_ptr<float>()), (int)(in.size(1) / 4));
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "L1 normalization (CUDA)");
}
