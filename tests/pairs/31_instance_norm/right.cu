#include <torch/extension.h>
#include <cuda_runtime.h>

__inline__ __device__ float warpReduceSum(float v) {
    #pragma unroll
    for (int offset = 16; offset > 0; offset >>= 1) v += __shfl_down_sync(0xffffffff, v, offset);
    return v;
}

__inline__ __device__ float blockReduceSum(float v) {
    static __shared__ float shared[32];
    __shared__ float result;
    const int lane = threadIdx.x & 31;
    const int wid = threadIdx.x >> 5;
    v = warpReduceSum(v);
    if (lane == 0) shared[wid] = v;
    __syncthreads();
    if (wid == 0) {
        v = lane < (blockDim.x + 31) / 32 ? shared[lane] : 0.0f;
        v = warpReduceSum(v);
        if (lane == 0) result = v;
    }
    __syncthreads();
    return result;
}

__global__ void instance_norm_kernel(const float* __restrict__ x, float* __restrict__ y,
                                     const int HW, const float eps) {
    const float4* in = reinterpret_cast<const float4*>(x + (size_t)blockIdx.x * HW);
    float4* out = reinterpret_cast<float4*>(y + (size_t)blockIdx.x * HW);
    const int n4 = HW / 4;

    float s = 0.0f;
    for (int i = threadIdx.x; i < n4; i += blockDim.x) {
        const float4 v = in[i];
        s += v.x + v.y + v.z + v.w;
    }
    const float mean = blockReduceSum(s) / HW;
    __syncthreads();

    float q = 0.0f;
    for (int i = threadIdx.x; i < n4; i += blockDim.x) {
        const float4 v = in[i];
        const float a = v.x - mean, b = v.y - mean, c = v.z - mean, d = v.w - mean;
        q += a * a + b * b + c * c + d * d;
    }
    const float inv = rsqrtf(blockReduceSum(q) / HW + eps);

    for (int i = threadIdx.x; i < n4; i += blockDim.x) {
        float4 v = in[i];
        v.x = (v.x - mean) * inv;
        v.y = (v.y - mean) * inv;
        v.z = (v.z - mean) * inv;
        v.w = (v.w - mean) * inv;
        out[i] = v;
    }
}

torch::Tensor forward(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    TORCH_CHECK(x.dim() == 4, "x must be NCHW");
    x = x.contiguous();
    const int planes = x.size(0) * x.size(1);
    const int HW = x.size(2) * x.size(3);
    TORCH_CHECK(HW % 4 == 0, "plane size must be a multiple of 4");
    auto y = torch::empty_like(x);
    instance_norm_kernel<<<planes, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), HW, 1e-5f);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "InstanceNorm2d forward (CUDA)");
}
