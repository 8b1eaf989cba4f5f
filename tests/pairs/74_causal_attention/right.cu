#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <cmath>
#include <cstdint>

// Flash-attention style: one block per (head, 64 queries), key tiles of 64,
// 16x16 threads, every thread owns a 4x4 piece of S and a 4x4 piece of O.
constexpr int D = 64;
constexpr int BM = 64;
constexpr int BN = 64;
constexpr int LD = 68;
constexpr int SMEM_BYTES = (D * LD + D * LD + BN * LD + BM * LD) * (int)sizeof(float);

__global__ void __launch_bounds__(256)
causal_attn_kernel(const float* __restrict__ q, const float* __restrict__ k,
                   const float* __restrict__ v, float* __restrict__ o,
                   int S, float scale_log2) {
    extern __shared__ __align__(16) float sm[];
    float* Qs = sm;                 // [D][LD], transposed and pre-scaled
    float* Ks = Qs + D * LD;        // [D][LD], transposed
    float* Vs = Ks + D * LD;        // [BN][LD]
    float* Ps = Vs + BN * LD;       // [BM][LD]

    const int tid = threadIdx.x;
    const int tx = tid & 15;
    const int ty = tid >> 4;
    const int q0 = (int)(gridDim.x - 1 - blockIdx.x) * BM;   // longest rows first
    const int64_t base = (int64_t)blockIdx.y * S * D;

    for (int i = tid; i < BM * D / 4; i += 256) {
        const int r = i & 63, c = (i >> 6) * 4;
        float4 t = make_float4(0.f, 0.f, 0.f, 0.f);
        if (q0 + r < S) t = __ldg(reinterpret_cast<const float4*>(q + base + (int64_t)(q0 + r) * D + c));
        Qs[(c + 0) * LD + r] = t.x * scale_log2;
        Qs[(c + 1) * LD + r] = t.y * scale_log2;
        Qs[(c + 2) * LD + r] = t.z * scale_log2;
        Qs[(c + 3) * LD + r] = t.w * scale_log2;
    }

    float acc[4][4] = {};
    float m[4], l[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) { m[i] = -INFINITY; l[i] = 0.f; }

    const int kend = min(S, q0 + BM);
    for (int k0 = 0; k0 < kend; k0 += BN) {
        __syncthreads();
        for (int i = tid; i < BN * D / 4; i += 256) {
            {
                const int r = i & 63, c = (i >> 6) * 4;
                float4 t = make_float4(0.f, 0.f, 0.f, 0.f);
                if (k0 + r < S) t = __ldg(reinterpret_cast<const float4*>(k + base + (int64_t)(k0 + r) * D + c));
                Ks[(c + 0) * LD + r] = t.x;
                Ks[(c + 1) * LD + r] = t.y;
                Ks[(c + 2) * LD + r] = t.z;
                Ks[(c + 3) * LD + r] = t.w;
            }
            {
                const int r = i >> 4, c = (i & 15) * 4;
                float4 t = make_float4(0.f, 0.f, 0.f, 0.f);
                if (k0 + r < S) t = __ldg(reinterpret_cast<const float4*>(v + base + (int64_t)(k0 + r) * D + c));
                *reinterpret_cast<float4*>(Vs + r * LD + c) = t;
            }
        }
        __syncthreads();

        float s[4][4] = {};
#pragma unroll 8
        for (int d = 0; d < D; ++d) {
            const float4 a = *reinterpret_cast<const float4*>(Qs + d * LD + ty * 4);
            const float4 b = *reinterpret_cast<const float4*>(Ks + d * LD + tx * 4);
            const float av[4] = {a.x, a.y, a.z, a.w};
            const float bv[4] = {b.x, b.y, b.z, b.w};
#pragma unroll
            for (int i = 0; i < 4; ++i)
#pragma unroll
                for (int j = 0; j < 4; ++j) s[i][j] = fmaf(av[i], bv[j], s[i][j]);
        }

        if (k0 + BN - 1 > q0 || k0 + BN > S) {
#pragma unroll
            for (int i = 0; i < 4; ++i)
#pragma unroll
                for (int j = 0; j < 4; ++j) {
                    const int key = k0 + tx * 4 + j;
                    if (key > q0 + ty * 4 + i || key >= S) s[i][j] = -INFINITY;
                }
        }

#pragma unroll
        for (int i = 0; i < 4; ++i) {
            float mx = fmaxf(fmaxf(s[i][0], s[i][1]), fmaxf(s[i][2], s[i][3]));
#pragma unroll
            for (int off = 8; off > 0; off >>= 1) mx = fmaxf(mx, __shfl_xor_sync(0xffffffffu, mx, off));
            const float mn = fmaxf(m[i], mx);
            const float corr = exp2f(m[i] - mn);
            m[i] = mn;
            float4 p;
            p.x = exp2f(s[i][0] - mn);
            p.y = exp2f(s[i][1] - mn);
            p.z = exp2f(s[i][2] - mn);
            p.w = exp2f(s[i][3] - mn);
            float sum = (p.x + p.y) + (p.z + p.w);
#pragma unroll
            for (int off = 8; off > 0; off >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, off);
            l[i] = l[i] * corr + sum;
#pragma unroll
            for (int j = 0; j < 4; ++j) acc[i][j] *= corr;
            *reinterpret_cast<float4*>(Ps + (ty * 4 + i) * LD + tx * 4) = p;
        }
        __syncwarp();   // rows of P are produced and consumed by the same half-warp

#pragma unroll 4
        for (int n = 0; n < BN; n += 4) {
            float4 pv[4];
#pragma unroll
            for (int i = 0; i < 4; ++i) pv[i] = *reinterpret_cast<const float4*>(Ps + (ty * 4 + i) * LD + n);
            const float4 v0 = *reinterpret_cast<const float4*>(Vs + (n + 0) * LD + tx * 4);
            const float4 v1 = *reinterpret_cast<const float4*>(Vs + (n + 1) * LD + tx * 4);
            const float4 v2 = *reinterpret_cast<const float4*>(Vs + (n + 2) * LD + tx * 4);
            const float4 v3 = *reinterpret_cast<const float4*>(Vs + (n + 3) * LD + tx * 4);
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                acc[i][0] += pv[i].x * v0.x + pv[i].y * v1.x + pv[i].z * v2.x + pv[i].w * v3.x;
                acc[i][1] += pv[i].x * v0.y + pv[i].y * v1.y + pv[i].z * v2.y + pv[i].w * v3.y;
                acc[i][2] += pv[i].x * v0.z + pv[i].y * v1.z + pv[i].z * v2.z + pv[i].w * v3.z;
                acc[i][3] += pv[i].x * v0.w + pv[i].y * v1.w + pv[i].z * v2.w + pv[i].w * v3.w;
            }
        }
    }

#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const int r = q0 + ty * 4 + i;
        if (r < S) {
            const float inv = 1.f / l[i];
            *reinterpret_cast<float4*>(o + base + (int64_t)r * D + tx * 4) =
                make_float4(acc[i][0] * inv, acc[i][1] * inv, acc[i][2] * inv, acc[i][3] * inv);
        }
    }
}

static torch::Tensor dense16(const torch::Tensor& t) {
    auto c = t.contiguous();
    if (reinterpret_cast<uintptr_t>(c.data_ptr<float>()) & 15) c = c.clone();
    return c;
}

torch::Tensor forward(torch::Tensor q, torch::Tensor k, torch::Tensor v) {
    TORCH_CHECK(q.is_cuda() && q.scalar_type() == torch::kFloat32 && q.dim() == 4, "q must be 4-D float32 CUDA");
    TORCH_CHECK(q.sizes() == k.sizes() && q.sizes() == v.sizes(), "q, k and v must have one shape");
    TORCH_CHECK(q.size(3) == D, "head_dim must be 64");
    const c10::cuda::CUDAGuard guard(q.device());
    auto qc = dense16(q), kc = dense16(k), vc = dense16(v);
    auto o = torch::empty_like(qc);
    if (o.numel() == 0) return o;
    const int S = (int)qc.size(2);
    const int64_t BH = qc.size(0) * qc.size(1);
    TORCH_CHECK(BH <= 65535, "too many heads");
    const float scale_log2 = (float)(1.4426950408889634 / std::sqrt((double)D));
    C10_CUDA_CHECK(cudaFuncSetAttribute(causal_attn_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, SMEM_BYTES));
    const dim3 grid((S + BM - 1) / BM, (unsigned)BH);
    causal_attn_kernel<<<grid, 256, SMEM_BYTES, at::cuda::getCurrentCUDAStream()>>>(
        qc.data_ptr<float>(), kc.data_ptr<float>(), vc.data_ptr<float>(), o.data_ptr<float>(), S, scale_log2);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return o;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "causal attention (CUDA)");
}
