#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <cuda_bf16.h>
#include <mma.h>
#include <cstdint>

using namespace nvcuda;

// [M, K] x [K, N] with bf16 tensor cores, fp32 accumulation.
// 128x64 block tile, 8 warps in a 4x2 grid, 32x32 per warp.
constexpr int BM = 128;
constexpr int BN = 64;
constexpr int BK = 32;
constexpr int LDA = BK + 8;
constexpr int LDB = BN + 8;
constexpr int LDC = BN + 4;
constexpr int SMEM = BM * LDC * 4;     // the output tile is the larger use

template <bool VEC>
__device__ __forceinline__ uint4 load8(const __nv_bfloat16* __restrict__ p, int r, int c, int rows, int cols) {
    uint4 v = make_uint4(0u, 0u, 0u, 0u);
    if (r < rows) {
        const __nv_bfloat16* __restrict__ q = p + (int64_t)r * cols + c;
        if (VEC) {
            if (c < cols) v = __ldg(reinterpret_cast<const uint4*>(q));
        } else {
            const unsigned short* __restrict__ s = reinterpret_cast<const unsigned short*>(q);
            unsigned h[8];
#pragma unroll
            for (int i = 0; i < 8; ++i) h[i] = c + i < cols ? (unsigned)s[i] : 0u;
            v.x = h[0] | (h[1] << 16);
            v.y = h[2] | (h[3] << 16);
            v.z = h[4] | (h[5] << 16);
            v.w = h[6] | (h[7] << 16);
        }
    }
    return v;
}

template <bool VEC>
__global__ void __launch_bounds__(256)
gemm_bf16_kernel(const __nv_bfloat16* __restrict__ A, const __nv_bfloat16* __restrict__ B,
                 __nv_bfloat16* __restrict__ C, int M, int N, int K) {
    __shared__ __align__(128) unsigned char smem[SMEM];
    __nv_bfloat16* As = reinterpret_cast<__nv_bfloat16*>(smem);   // [BM][LDA]
    __nv_bfloat16* Bs = As + BM * LDA;                            // [BK][LDB]
    float* Cs = reinterpret_cast<float*>(smem);                   // [BM][LDC], after the main loop

    const int tid = threadIdx.x;
    const int warp = tid >> 5;
    const int wm = (warp >> 1) * 32, wn = (warp & 1) * 32;
    const int m0 = blockIdx.x * BM, n0 = blockIdx.y * BN;

    wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc[2][2];
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int j = 0; j < 2; ++j) wmma::fill_fragment(acc[i][j], 0.f);

    for (int k0 = 0; k0 < K; k0 += BK) {
        uint4 ra[2];
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const int t = tid + i * 256;
            ra[i] = load8<VEC>(A, m0 + (t >> 2), k0 + (t & 3) * 8, M, K);
        }
        const uint4 rb = load8<VEC>(B, k0 + (tid >> 3), n0 + (tid & 7) * 8, K, N);
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const int t = tid + i * 256;
            *reinterpret_cast<uint4*>(As + (t >> 2) * LDA + (t & 3) * 8) = ra[i];
        }
        *reinterpret_cast<uint4*>(Bs + (tid >> 3) * LDB + (tid & 7) * 8) = rb;
        __syncthreads();

#pragma unroll
        for (int kk = 0; kk < BK; kk += 16) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> fa[2];
            wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::row_major> fb[2];
#pragma unroll
            for (int i = 0; i < 2; ++i) wmma::load_matrix_sync(fa[i], As + (wm + i * 16) * LDA + kk, LDA);
#pragma unroll
            for (int j = 0; j < 2; ++j) wmma::load_matrix_sync(fb[j], Bs + kk * LDB + wn + j * 16, LDB);
#pragma unroll
            for (int i = 0; i < 2; ++i)
#pragma unroll
                for (int j = 0; j < 2; ++j) wmma::mma_sync(acc[i][j], fa[i], fb[j], acc[i][j]);
        }
    }

    __syncthreads();      // everyone is done with As and Bs
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int j = 0; j < 2; ++j)
            wmma::store_matrix_sync(Cs + (wm + i * 16) * LDC + wn + j * 16, acc[i][j], LDC, wmma::mem_row_major);
    __syncthreads();

    for (int t = tid; t < BM * BN / 8; t += 256) {
        const int r = t >> 3, c = (t & 7) * 8;
        const int m = m0 + r, n = n0 + c;
        if (m >= M) continue;
        const float* src = Cs + r * LDC + c;
        __nv_bfloat16* __restrict__ dst = C + (int64_t)m * N + n;
        if (VEC) {
            if (n < N) {
                __align__(16) __nv_bfloat162 h[4];
#pragma unroll
                for (int q = 0; q < 4; ++q) h[q] = __floats2bfloat162_rn(src[2 * q], src[2 * q + 1]);
                *reinterpret_cast<uint4*>(dst) = *reinterpret_cast<const uint4*>(h);
            }
        } else {
#pragma unroll
            for (int q = 0; q < 8; ++q)
                if (n + q < N) dst[q] = __float2bfloat16(src[q]);
        }
    }
}

torch::Tensor forward(torch::Tensor A, torch::Tensor B) {
    TORCH_CHECK(A.is_cuda() && A.scalar_type() == torch::kBFloat16 && A.dim() == 4, "A must be 4-D bfloat16 CUDA");
    TORCH_CHECK(B.is_cuda() && B.scalar_type() == torch::kBFloat16 && B.dim() == 2, "B must be 2-D bfloat16 CUDA");
    TORCH_CHECK(A.size(3) == B.size(0), "inner dimensions must agree");
    const c10::cuda::CUDAGuard guard(A.device());
    auto a = A.contiguous(), b = B.contiguous();
    const int K = (int)b.size(0), N = (int)b.size(1);
    const int64_t M64 = a.size(0) * a.size(1) * a.size(2);
    TORCH_CHECK(M64 < (1LL << 31) - BM, "too many rows");
    const int M = (int)M64;
    auto c = torch::empty({a.size(0), a.size(1), a.size(2), (int64_t)N}, a.options());
    if (c.numel() == 0) return c;
    const auto* ap = reinterpret_cast<const __nv_bfloat16*>(a.data_ptr<at::BFloat16>());
    const auto* bp = reinterpret_cast<const __nv_bfloat16*>(b.data_ptr<at::BFloat16>());
    auto* cp = reinterpret_cast<__nv_bfloat16*>(c.data_ptr<at::BFloat16>());
    const bool vec = K % 8 == 0 && N % 8 == 0 &&
                     ((reinterpret_cast<uintptr_t>(ap) | reinterpret_cast<uintptr_t>(bp)) & 15) == 0;
    const dim3 grid((M + BM - 1) / BM, (N + BN - 1) / BN);
    auto stream = at::cuda::getCurrentCUDAStream();
    if (vec) {
        gemm_bf16_kernel<true><<<grid, 256, 0, stream>>>(ap, bp, cp, M, N, K);
    } else {
        gemm_bf16_kernel<false><<<grid, 256, 0, stream>>>(ap, bp, cp, M, N, K);
    }
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return c;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "bijl,lk->bijk in bf16 (CUDA)");
}
