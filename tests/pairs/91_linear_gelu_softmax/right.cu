#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <cmath>
#include <cstdint>

constexpr int BM = 128;
constexpr int BN = 128;
constexpr int BK = 8;
constexpr int LD = BM + 4;

__device__ __forceinline__ float gelu(float v) {
    return 0.5f * v * (1.f + erff(v * 0.70710678118654752f));
}

template <bool VEC>
__device__ __forceinline__ float4 load4(const float* __restrict__ p, int r, int k, int rows, int K) {
    float4 v = make_float4(0.f, 0.f, 0.f, 0.f);
    if (r < rows) {
        const float* __restrict__ q = p + (int64_t)r * K + k;
        if (VEC) {
            if (k < K) v = __ldg(reinterpret_cast<const float4*>(q));
        } else {
            if (k + 0 < K) v.x = __ldg(q + 0);
            if (k + 1 < K) v.y = __ldg(q + 1);
            if (k + 2 < K) v.z = __ldg(q + 2);
            if (k + 3 < K) v.w = __ldg(q + 3);
        }
    }
    return v;
}

// y = gelu(x W^T + b), 128x128 tile, 8x8 per thread, double buffered
template <bool VEC>
__global__ void __launch_bounds__(256)
linear_gelu_kernel(const float* __restrict__ x, const float* __restrict__ w, const float* __restrict__ bias,
                   float* __restrict__ y, int M, int N, int K) {
    __shared__ __align__(16) float Xs[2][BK][LD];
    __shared__ __align__(16) float Ws[2][BK][LD];

    const int tid = threadIdx.x;
    const int tx = tid & 15, ty = tid >> 4;
    const int m0 = blockIdx.y * BM, n0 = blockIdx.x * BN;
    const int lr = tid >> 1, lk = (tid & 1) * 4;

    float acc[8][8] = {};
    float4 rx = load4<VEC>(x, m0 + lr, lk, M, K);
    float4 rw = load4<VEC>(w, n0 + lr, lk, N, K);
    const int tiles = (K + BK - 1) / BK;

    for (int t = 0; t < tiles; ++t) {
        const int cur = t & 1;
        Xs[cur][lk + 0][lr] = rx.x;
        Xs[cur][lk + 1][lr] = rx.y;
        Xs[cur][lk + 2][lr] = rx.z;
        Xs[cur][lk + 3][lr] = rx.w;
        Ws[cur][lk + 0][lr] = rw.x;
        Ws[cur][lk + 1][lr] = rw.y;
        Ws[cur][lk + 2][lr] = rw.z;
        Ws[cur][lk + 3][lr] = rw.w;
        __syncthreads();      // one barrier a tile: the other buffer was last read before it
        if (t + 1 < tiles) {
            rx = load4<VEC>(x, m0 + lr, (t + 1) * BK + lk, M, K);
            rw = load4<VEC>(w, n0 + lr, (t + 1) * BK + lk, N, K);
        }
#pragma unroll
        for (int k = 0; k < BK; ++k) {
            const float4 a0 = *reinterpret_cast<const float4*>(&Xs[cur][k][ty * 4]);
            const float4 a1 = *reinterpret_cast<const float4*>(&Xs[cur][k][64 + ty * 4]);
            const float4 b0 = *reinterpret_cast<const float4*>(&Ws[cur][k][tx * 4]);
            const float4 b1 = *reinterpret_cast<const float4*>(&Ws[cur][k][64 + tx * 4]);
            const float a[8] = {a0.x, a0.y, a0.z, a0.w, a1.x, a1.y, a1.z, a1.w};
            const float b[8] = {b0.x, b0.y, b0.z, b0.w, b1.x, b1.y, b1.z, b1.w};
#pragma unroll
            for (int i = 0; i < 8; ++i)
#pragma unroll
                for (int j = 0; j < 8; ++j) acc[i][j] = fmaf(a[i], b[j], acc[i][j]);
        }
    }

#pragma unroll
    for (int j = 0; j < 8; ++j) {
        const int n = n0 + (j < 4 ? tx * 4 + j : 64 + tx * 4 + j - 4);
        const float bj = n < N ? __ldg(bias + n) : 0.f;
#pragma unroll
        for (int i = 0; i < 8; ++i) acc[i][j] = gelu(acc[i][j] + bj);
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        const int m = m0 + (i < 4 ? ty * 4 + i : 64 + ty * 4 + i - 4);
        if (m >= M) continue;
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            const int n = n0 + h * 64 + tx * 4;
            float* __restrict__ dst = y + (int64_t)m * N + n;
            if (N % 4 == 0) {
                if (n < N)
                    *reinterpret_cast<float4*>(dst) =
                        make_float4(acc[i][h * 4], acc[i][h * 4 + 1], acc[i][h * 4 + 2], acc[i][h * 4 + 3]);
            } else {
#pragma unroll
                for (int j = 0; j < 4; ++j)
                    if (n + j < N) dst[j] = acc[i][h * 4 + j];
            }
        }
    }
}

constexpr int SM_THREADS = 256;

struct SumOp { __device__ __forceinline__ float operator()(float a, float b) const { return a + b; } };
struct MaxOp { __device__ __forceinline__ float operator()(float a, float b) const { return fmaxf(a, b); } };

template <typename Op>
__device__ __forceinline__ float block_reduce(float v, float identity, float* sh, Op op) {
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
#pragma unroll
    for (int o = 16; o > 0; o >>= 1) v = op(v, __shfl_xor_sync(0xffffffffu, v, o));
    if (lane == 0) sh[warp] = v;
    __syncthreads();
    v = lane < SM_THREADS / 32 ? sh[lane] : identity;
#pragma unroll
    for (int o = 16; o > 0; o >>= 1) v = op(v, __shfl_xor_sync(0xffffffffu, v, o));
    __syncthreads();
    return v;
}

// in-place softmax of a row of exactly 4 * SM_THREADS values
__global__ void __launch_bounds__(SM_THREADS)
softmax1024_kernel(float4* __restrict__ y) {
    __shared__ float sh[32];
    float4* __restrict__ row = y + (int64_t)blockIdx.x * SM_THREADS;
    float4 v = row[threadIdx.x];
    const float m = block_reduce(fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)), -INFINITY, sh, MaxOp());
    v.x = __expf(v.x - m);
    v.y = __expf(v.y - m);
    v.z = __expf(v.z - m);
    v.w = __expf(v.w - m);
    const float s = block_reduce((v.x + v.y) + (v.z + v.w), 0.f, sh, SumOp());
    const float inv = 1.f / s;
    v.x *= inv; v.y *= inv; v.z *= inv; v.w *= inv;
    row[threadIdx.x] = v;
}

__global__ void __launch_bounds__(SM_THREADS)
softmax_generic_kernel(float* y, int N) {
    __shared__ float sh[32];
    float* row = y + (int64_t)blockIdx.x * N;
    float m = -INFINITY;
    for (int i = threadIdx.x; i < N; i += SM_THREADS) m = fmaxf(m, row[i]);
    m = block_reduce(m, -INFINITY, sh, MaxOp());
    float s = 0.f;
    for (int i = threadIdx.x; i < N; i += SM_THREADS) s += __expf(row[i] - m);
    s = block_reduce(s, 0.f, sh, SumOp());
    const float inv = 1.f / s;
    for (int i = threadIdx.x; i < N; i += SM_THREADS) row[i] = __expf(row[i] - m) * inv;
}

torch::Tensor forward(torch::Tensor x, torch::Tensor weight, torch::Tensor bias) {
    TORCH_CHECK(x.is_cuda() && x.scalar_type() == torch::kFloat32 && x.dim() == 2, "x must be 2-D float32 CUDA");
    TORCH_CHECK(weight.dim() == 2 && weight.size(1) == x.size(1) && bias.numel() == weight.size(0), "bad weight or bias");
    const c10::cuda::CUDAGuard guard(x.device());
    auto xc = x.contiguous(), wc = weight.contiguous(), bc = bias.contiguous();
    const int M = (int)xc.size(0), K = (int)xc.size(1), N = (int)wc.size(0);
    auto y = torch::empty({M, N}, xc.options());
    if (y.numel() == 0) return y;
    const bool vec = K % 4 == 0 && ((reinterpret_cast<uintptr_t>(xc.data_ptr<float>()) |
                                     reinterpret_cast<uintptr_t>(wc.data_ptr<float>())) & 15) == 0;
    const dim3 grid((N + BN - 1) / BN, (M + BM - 1) / BM);
    auto stream = at::cuda::getCurrentCUDAStream();
    if (vec) {
        linear_gelu_kernel<true><<<grid, 256, 0, stream>>>(
            xc.data_ptr<float>(), wc.data_ptr<float>(), bc.data_ptr<float>(), y.data_ptr<float>(), M, N, K);
    } else {
        linear_gelu_kernel<false><<<grid, 256, 0, stream>>>(
            xc.data_ptr<float>(), wc.data_ptr<float>(), bc.data_ptr<float>(), y.data_ptr<float>(), M, N, K);
    }
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    if (N == 4 * SM_THREADS) {
        softmax1024_kernel<<<M, SM_THREADS, 0, stream>>>(reinterpret_cast<float4*>(y.data_ptr<float>()));
    } else {
        softmax_generic_kernel<<<M, SM_THREADS, 0, stream>>>(y.data_ptr<float>(), N);
    }
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "linear + GELU + softmax (CUDA)");
}
