#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <climits>
#include <cmath>
#include <cstdint>

constexpr int THREADS = 256;

struct MS { float m, s; };   // running max, sum of exp(x - m)

__device__ __forceinline__ void push(MS& a, float x) {
    if (x > a.m) {
        a.s = a.s * __expf(a.m - x) + 1.f;
        a.m = x;
    } else if (x == a.m) {
        a.s += (x == -INFINITY) ? 0.f : 1.f;
    } else {
        a.s += __expf(x - a.m);       // nan comes here and stays in s
    }
}

__device__ __forceinline__ float rescale(float s, float m, float M) {
    return s * __expf(m - M);
}

__device__ __forceinline__ MS merge(MS a, MS b) {
    MS r;
    r.m = fmaxf(a.m, b.m);
    r.s = rescale(a.s, a.m, r.m) + rescale(b.s, b.m, r.m);
    return r;
}

template <bool VEC>
__global__ void __launch_bounds__(THREADS)
logsumexp_kernel(const float* __restrict__ x, float* __restrict__ y, int cols) {
    __shared__ MS sh[THREADS / 32];
    const float* __restrict__ p = x + (int64_t)blockIdx.x * cols;

    MS a = {-INFINITY, 0.f};
    if (VEC) {
        const float4* __restrict__ p4 = reinterpret_cast<const float4*>(p);
        for (int j = threadIdx.x; j < cols / 4; j += THREADS) {
            const float4 v = __ldg(p4 + j);
            push(a, v.x);
            push(a, v.y);
            push(a, v.z);
            push(a, v.w);
        }
    } else {
        for (int j = threadIdx.x; j < cols; j += THREADS) push(a, p[j]);
    }

#pragma unroll
    for (int o = 16; o > 0; o >>= 1) {
        MS b;
        b.m = __shfl_xor_sync(0xffffffffu, a.m, o);
        b.s = __shfl_xor_sync(0xffffffffu, a.s, o);
        a = merge(a, b);
    }
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    if (lane == 0) sh[warp] = a;
    __syncthreads();
    if (threadIdx.x == 0) {
#pragma unroll
        for (int w = 1; w < THREADS / 32; ++w) a = merge(a, sh[w]);
        y[blockIdx.x] = logf(a.s) + a.m;
    }
}

torch::Tensor forward(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda() && x.scalar_type() == torch::kFloat32 && x.dim() == 2, "x must be 2-D float32 CUDA");
    TORCH_CHECK(x.size(1) < INT_MAX, "row too long");
    const c10::cuda::CUDAGuard guard(x.device());
    auto xc = x.contiguous();
    const int64_t rows = xc.size(0);
    const int cols = (int)xc.size(1);
    auto y = torch::empty({rows}, xc.options());
    if (rows == 0) return y;
    const float* xp = xc.data_ptr<float>();
    auto stream = at::cuda::getCurrentCUDAStream();
    if (cols % 4 == 0 && (reinterpret_cast<uintptr_t>(xp) & 15) == 0) {
        logsumexp_kernel<true><<<(unsigned)rows, THREADS, 0, stream>>>(xp, y.data_ptr<float>(), cols);
    } else {
        logsumexp_kernel<false><<<(unsigned)rows, THREADS, 0, stream>>>(xp, y.data_ptr<float>(), cols);
    }
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "logsumexp over dim 1 (CUDA)");
}
