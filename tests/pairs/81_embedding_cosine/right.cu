#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/macros/Macros.h>
#include <cstdint>

constexpr float EPS = 1e-8f;
constexpr int WARPS = 8;

__device__ __forceinline__ float warp_sum(float v) {
#pragma unroll
    for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(0xffffffffu, v, o);
    return v;
}

__device__ __forceinline__ float dot4(float4 a, float4 b) {
    return fmaf(a.x, b.x, fmaf(a.y, b.y, fmaf(a.z, b.z, a.w * b.w)));
}

__device__ __forceinline__ float clamp_norm(float n) { return n < EPS ? EPS : n; }

// one warp per pair, dim == 128: a row is one float4 per lane
__global__ void __launch_bounds__(WARPS * 32)
cosine128_kernel(const int64_t* __restrict__ users, const int64_t* __restrict__ items,
                 const float4* __restrict__ uw, const float4* __restrict__ iw,
                 float* __restrict__ out, int64_t B, int64_t nu, int64_t ni) {
    const int lane = threadIdx.x & 31;
    const int64_t pair = (int64_t)blockIdx.x * WARPS + (threadIdx.x >> 5);
    if (pair >= B) return;                 // whole warps leave
    const int64_t u = users[pair], i = items[pair];
    CUDA_KERNEL_ASSERT(u >= 0 && u < nu && i >= 0 && i < ni);
    float4 a = __ldg(uw + u * 32 + lane);
    float4 b = __ldg(iw + i * 32 + lane);
    const float na = clamp_norm(sqrtf(warp_sum(dot4(a, a))));
    const float nb = clamp_norm(sqrtf(warp_sum(dot4(b, b))));
    a.x /= na; a.y /= na; a.z /= na; a.w /= na;
    b.x /= nb; b.y /= nb; b.z /= nb; b.w /= nb;
    const float d = warp_sum(dot4(a, b));
    if (lane == 0) out[pair] = d;
}

__global__ void __launch_bounds__(WARPS * 32)
cosine_generic_kernel(const int64_t* __restrict__ users, const int64_t* __restrict__ items,
                      const float* __restrict__ uw, const float* __restrict__ iw,
                      float* __restrict__ out, int64_t B, int64_t nu, int64_t ni, int dim) {
    const int lane = threadIdx.x & 31;
    const int64_t pair = (int64_t)blockIdx.x * WARPS + (threadIdx.x >> 5);
    if (pair >= B) return;
    const int64_t u = users[pair], i = items[pair];
    CUDA_KERNEL_ASSERT(u >= 0 && u < nu && i >= 0 && i < ni);
    const float* __restrict__ a = uw + u * dim;
    const float* __restrict__ b = iw + i * dim;
    float sa = 0.f, sb = 0.f;
    for (int k = lane; k < dim; k += 32) {
        sa = fmaf(a[k], a[k], sa);
        sb = fmaf(b[k], b[k], sb);
    }
    const float na = clamp_norm(sqrtf(warp_sum(sa)));
    const float nb = clamp_norm(sqrtf(warp_sum(sb)));
    float d = 0.f;
    for (int k = lane; k < dim; k += 32) d = fmaf(a[k] / na, b[k] / nb, d);
    d = warp_sum(d);
    if (lane == 0) out[pair] = d;
}

torch::Tensor forward(torch::Tensor users, torch::Tensor items,
                      torch::Tensor user_weight, torch::Tensor item_weight) {
    TORCH_CHECK(users.is_cuda() && users.scalar_type() == torch::kInt64 && users.dim() == 1, "users: 1-D int64 CUDA");
    TORCH_CHECK(items.is_cuda() && items.scalar_type() == torch::kInt64 && items.dim() == 1, "items: 1-D int64 CUDA");
    TORCH_CHECK(users.size(0) == items.size(0), "users and items must have one length");
    TORCH_CHECK(user_weight.scalar_type() == torch::kFloat32 && item_weight.scalar_type() == torch::kFloat32, "float32 tables");
    TORCH_CHECK(user_weight.size(1) == item_weight.size(1), "embedding sizes must agree");
    const c10::cuda::CUDAGuard guard(users.device());
    auto uc = users.contiguous(), ic = items.contiguous();
    auto uw = user_weight.contiguous(), iw = item_weight.contiguous();
    const int64_t B = uc.size(0);
    const int dim = (int)uw.size(1);
    auto out = torch::empty({B}, uw.options().requires_grad(false));
    if (B == 0) return out;
    const unsigned blocks = (unsigned)((B + WARPS - 1) / WARPS);
    auto stream = at::cuda::getCurrentCUDAStream();
    const bool aligned = ((reinterpret_cast<uintptr_t>(uw.data_ptr<float>()) |
                           reinterpret_cast<uintptr_t>(iw.data_ptr<float>())) & 15) == 0;
    if (dim == 128 && aligned) {
        cosine128_kernel<<<blocks, WARPS * 32, 0, stream>>>(
            uc.data_ptr<int64_t>(), ic.data_ptr<int64_t>(),
            reinterpret_cast<const float4*>(uw.data_ptr<float>()),
            reinterpret_cast<const float4*>(iw.data_ptr<float>()),
            out.data_ptr<float>(), B, uw.size(0), iw.size(0));
    } else {
        cosine_generic_kernel<<<blocks, WARPS * 32, 0, stream>>>(
            uc.data_ptr<int64_t>(), ic.data_ptr<int64_t>(), uw.data_ptr<float>(), iw.data_ptr<float>(),
            out.data_ptr<float>(), B, uw.size(0), iw.size(0), dim);
    }
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "embedding + cosine similarity (CUDA)");
}
