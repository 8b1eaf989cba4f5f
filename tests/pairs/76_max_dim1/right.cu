#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <cfloat>
#include <cmath>
#include <cstdint>

constexpr float MAX_INIT = -INFINITY;
constexpr int TX = 32;
constexpr int TY = 16;

// nan wins, as in torch.max
__device__ __forceinline__ float max_nan(float a, float b) {
    return (a > b || a != a) ? a : b;
}

__device__ __forceinline__ float4 vmax(float4 a, float4 b) {
    return make_float4(max_nan(a.x, b.x), max_nan(a.y, b.y), max_nan(a.z, b.z), max_nan(a.w, b.w));
}
__device__ __forceinline__ float vmax(float a, float b) { return max_nan(a, b); }

template <typename T> __device__ __forceinline__ T vinit();
template <> __device__ __forceinline__ float vinit<float>() { return MAX_INIT; }
template <> __device__ __forceinline__ float4 vinit<float4>() {
    return make_float4(MAX_INIT, MAX_INIT, MAX_INIT, MAX_INIT);
}

// x: [outer, R, inner] in units of T
template <typename T>
__global__ void __launch_bounds__(TX * TY)
max_dim1_kernel(const T* __restrict__ x, T* __restrict__ y, int R, int64_t inner, int64_t tiles) {
    __shared__ T sh[TY][TX];
    const int64_t outer = blockIdx.x / tiles;
    const int64_t col = (blockIdx.x % tiles) * TX + threadIdx.x;
    const bool ok = col < inner;

    T m = vinit<T>();
    if (ok) {
        const T* __restrict__ p = x + outer * R * inner + col;
        int r = threadIdx.y;
        for (; r + 3 * TY < R; r += 4 * TY) {
            const T a = p[(int64_t)r * inner];
            const T b = p[(int64_t)(r + TY) * inner];
            const T c = p[(int64_t)(r + 2 * TY) * inner];
            const T d = p[(int64_t)(r + 3 * TY) * inner];
            m = vmax(m, vmax(vmax(a, b), vmax(c, d)));
        }
        for (; r < R; r += TY) m = vmax(m, p[(int64_t)r * inner]);
    }
    sh[threadIdx.y][threadIdx.x] = m;
    __syncthreads();
#pragma unroll
    for (int o = TY / 2; o > 0; o >>= 1) {
        if (threadIdx.y < o)
            sh[threadIdx.y][threadIdx.x] = vmax(sh[threadIdx.y][threadIdx.x], sh[threadIdx.y + o][threadIdx.x]);
        __syncthreads();
    }
    if (threadIdx.y == 0 && ok) y[outer * inner + col] = sh[0][threadIdx.x];
}

torch::Tensor forward(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda() && x.scalar_type() == torch::kFloat32 && x.dim() == 3, "x must be 3-D float32 CUDA");
    TORCH_CHECK(x.size(1) > 0, "cannot reduce an empty dimension");
    const c10::cuda::CUDAGuard guard(x.device());
    auto xc = x.contiguous();
    const int64_t B = xc.size(0), R = xc.size(1), inner = xc.size(2);
    auto y = torch::empty({B, inner}, xc.options());
    if (y.numel() == 0) return y;
    const float* xp = xc.data_ptr<float>();
    float* yp = y.data_ptr<float>();
    auto stream = at::cuda::getCurrentCUDAStream();
    const dim3 block(TX, TY);
    if (inner % 4 == 0 && (reinterpret_cast<uintptr_t>(xp) & 15) == 0) {
        const int64_t in4 = inner / 4, tiles = (in4 + TX - 1) / TX;
        max_dim1_kernel<float4><<<(unsigned)(B * tiles), block, 0, stream>>>(
            reinterpret_cast<const float4*>(xp), reinterpret_cast<float4*>(yp), (int)R, in4, tiles);
    } else {
        const int64_t tiles = (inner + TX - 1) / TX;
        max_dim1_kernel<float><<<(unsigned)(B * tiles), block, 0, stream>>>(xp, yp, (int)R, inner, tiles);
    }
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "max over dim 1 (CUDA)");
}
