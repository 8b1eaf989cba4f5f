#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <cstdint>

constexpr float EPS = 1e-5f;
constexpr int THREADS = 512;
constexpr int VPT = 8;                 // float4 per thread kept in registers

__device__ __forceinline__ float block_sum(float v, float* sh) {
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
#pragma unroll
    for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(0xffffffffu, v, o);
    if (lane == 0) sh[warp] = v;
    __syncthreads();
    v = lane < THREADS / 32 ? sh[lane] : 0.f;
#pragma unroll
    for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(0xffffffffu, v, o);
    __syncthreads();
    return v;
}

// One block per (n, c) plane of at most THREADS * VPT float4.
__global__ void __launch_bounds__(THREADS)
instnorm_reg_kernel(const float4* __restrict__ x, const float* __restrict__ w,
                    const float* __restrict__ b, float4* __restrict__ y, int C, int hw4) {
    __shared__ float sh[32];
    const int64_t base = (int64_t)blockIdx.x * hw4;
    float4 v[VPT];
    float s = 0.f;
#pragma unroll
    for (int i = 0; i < VPT; ++i) {
        const int p = threadIdx.x + i * THREADS;
        v[i] = p < hw4 ? __ldg(x + base + p) : make_float4(0.f, 0.f, 0.f, 0.f);
        s += (v[i].x + v[i].y) + (v[i].z + v[i].w);
    }
    const float count = (float)hw4 * 4.f;
    const float mean = block_sum(s, sh) / count;

    float q = 0.f;
#pragma unroll
    for (int i = 0; i < VPT; ++i) {
        if (threadIdx.x + i * THREADS < hw4) {
            const float dx = v[i].x - mean, dy = v[i].y - mean, dz = v[i].z - mean, dw = v[i].w - mean;
            q += (dx * dx + dy * dy) + (dz * dz + dw * dw);
        }
    }
    const float var = block_sum(q, sh) / count;
    const int c = blockIdx.x % C;
    const float scale = rsqrtf(var + EPS) * w[c];
    const float shift = b[c];
#pragma unroll
    for (int i = 0; i < VPT; ++i) {
        const int p = threadIdx.x + i * THREADS;
        if (p < hw4) {
            float4 o;
            o.x = fmaf(v[i].x - mean, scale, shift);
            o.y = fmaf(v[i].y - mean, scale, shift);
            o.z = fmaf(v[i].z - mean, scale, shift);
            o.w = fmaf(v[i].w - mean, scale, shift);
            y[base + p] = o;
        }
    }
}

__global__ void __launch_bounds__(THREADS)
instnorm_generic_kernel(const float* __restrict__ x, const float* __restrict__ w,
                        const float* __restrict__ b, float* __restrict__ y, int C, int64_t hw) {
    __shared__ float sh[32];
    const float* __restrict__ p = x + (int64_t)blockIdx.x * hw;
    float* __restrict__ o = y + (int64_t)blockIdx.x * hw;
    float s = 0.f;
    for (int64_t i = threadIdx.x; i < hw; i += THREADS) s += p[i];
    const float count = (float)hw;
    const float mean = block_sum(s, sh) / count;
    float q = 0.f;
    for (int64_t i = threadIdx.x; i < hw; i += THREADS) {
        const float d = p[i] - mean;
        q = fmaf(d, d, q);
    }
    const float var = block_sum(q, sh) / count;
    const int c = blockIdx.x % C;
    const float scale = rsqrtf(var + EPS) * w[c];
    const float shift = b[c];
    for (int64_t i = threadIdx.x; i < hw; i += THREADS) o[i] = fmaf(p[i] - mean, scale, shift);
}

torch::Tensor forward(torch::Tensor x, torch::Tensor weight, torch::Tensor bias) {
    TORCH_CHECK(x.is_cuda() && x.scalar_type() == torch::kFloat32 && x.dim() == 4, "x must be 4-D float32 CUDA");
    const c10::cuda::CUDAGuard guard(x.device());
    auto xc = x.contiguous();
    auto wc = weight.contiguous(), bc = bias.contiguous();
    auto y = torch::empty_like(xc);
    if (xc.numel() == 0) return y;
    const int64_t N = xc.size(0), C = xc.size(1), hw = xc.size(2) * xc.size(3);
    const float* xp = xc.data_ptr<float>();
    float* yp = y.data_ptr<float>();
    auto stream = at::cuda::getCurrentCUDAStream();
    const bool vec = hw % 4 == 0 && (reinterpret_cast<uintptr_t>(xp) & 15) == 0;
    if (vec && hw / 4 <= THREADS * VPT) {
        instnorm_reg_kernel<<<(unsigned)(N * C), THREADS, 0, stream>>>(
            reinterpret_cast<const float4*>(xp), wc.data_ptr<float>(), bc.data_ptr<float>(),
            reinterpret_cast<float4*>(yp), (int)C, (int)(hw / 4));
    } else {
        instnorm_generic_kernel<<<(unsigned)(N * C), THREADS, 0, stream>>>(
            xp, wc.data_ptr<float>(), bc.data_ptr<float>(), yp, (int)C, hw);
    }
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "InstanceNorm2d forward (CUDA)");
}
