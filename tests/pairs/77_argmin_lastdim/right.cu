#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <climits>
#include <cmath>
#include <cstdint>

constexpr int THREADS = 256;

// Does (v, i) beat (bv, bi)?  nan is smaller than everything, ties go to the lower index.
__device__ __forceinline__ bool better(float v, int i, float bv, int bi) {
    const bool vn = isnan(v), bn = isnan(bv);
    if (vn || bn) return vn && (!bn || i < bi);
    return v < bv || (v == bv && i < bi);
}

__device__ __forceinline__ void take(float v, int i, float& bv, int& bi) {
    if (better(v, i, bv, bi)) { bv = v; bi = i; }
}

template <bool VEC>
__global__ void __launch_bounds__(THREADS)
argmin_kernel(const float* __restrict__ x, int64_t* __restrict__ y, int cols) {
    __shared__ float sv[THREADS / 32];
    __shared__ int si[THREADS / 32];
    const float* __restrict__ p = x + (int64_t)blockIdx.x * cols;

    float bv = INFINITY;
    int bi = INT_MAX;
    if (VEC) {
        const float4* __restrict__ p4 = reinterpret_cast<const float4*>(p);
        for (int j = threadIdx.x; j < cols / 4; j += THREADS) {
            const float4 v = __ldg(p4 + j);
            take(v.x, 4 * j + 0, bv, bi);
            take(v.y, 4 * j + 1, bv, bi);
            take(v.z, 4 * j + 2, bv, bi);
            take(v.w, 4 * j + 3, bv, bi);
        }
    } else {
        for (int j = threadIdx.x; j < cols; j += THREADS) take(p[j], j, bv, bi);
    }

#pragma unroll
    for (int o = 16; o > 0; o >>= 1) {
        const float ov = __shfl_down_sync(0xffffffffu, bv, o);
        const int oi = __shfl_down_sync(0xffffffffu, bi, o);
        take(ov, oi, bv, bi);
    }
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    if (lane == 0) { sv[warp] = bv; si[warp] = bi; }
    __syncthreads();
    if (warp == 0) {
        bv = lane < THREADS / 32 ? sv[lane] : INFINITY;
        bi = lane < THREADS / 32 ? si[lane] : INT_MAX;
#pragma unroll
        for (int o = THREADS / 64; o > 0; o >>= 1) {
            const float ov = __shfl_down_sync(0xffffffffu, bv, o);
            const int oi = __shfl_down_sync(0xffffffffu, bi, o);
            take(ov, oi, bv, bi);
        }
        if (lane == 0) y[blockIdx.x] = (int64_t)bi;
    }
}

torch::Tensor forward(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda() && x.scalar_type() == torch::kFloat32 && x.dim() == 2, "x must be 2-D float32 CUDA");
    TORCH_CHECK(x.size(1) > 0 && x.size(1) < INT_MAX, "bad reduction size");
    const c10::cuda::CUDAGuard guard(x.device());
    auto xc = x.contiguous();
    const int64_t rows = xc.size(0);
    const int cols = (int)xc.size(1);
    auto y = torch::empty({rows}, xc.options().dtype(torch::kInt64));
    if (rows == 0) return y;
    const float* xp = xc.data_ptr<float>();
    auto stream = at::cuda::getCurrentCUDAStream();
    if (cols % 4 == 0 && (reinterpret_cast<uintptr_t>(xp) & 15) == 0) {
        argmin_kernel<true><<<(unsigned)rows, THREADS, 0, stream>>>(xp, y.data_ptr<int64_t>(), cols);
    } else {
        argmin_kernel<false><<<(unsigned)rows, THREADS, 0, stream>>>(xp, y.data_ptr<int64_t>(), cols);
    }
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "argmin over the last dim (CUDA)");
}
