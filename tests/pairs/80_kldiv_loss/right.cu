#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <algorithm>
#include <cstdint>

constexpr int THREADS = 256;

// xlogy(t, t) - t * log(p)
__device__ __forceinline__ float kl_term(float p, float t) {
    const float tlogt = t == 0.f ? 0.f : t * logf(t);
    return tlogt - t * logf(p);
}

template <typename T>
__device__ __forceinline__ T block_sum(T v, T* sh) {
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
#pragma unroll
    for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(0xffffffffu, v, o);
    if (lane == 0) sh[warp] = v;
    __syncthreads();
    v = T(0);
    if (warp == 0) {
        v = lane < THREADS / 32 ? sh[lane] : T(0);
#pragma unroll
        for (int o = THREADS / 64; o > 0; o >>= 1) v += __shfl_down_sync(0xffffffffu, v, o);
    }
    return v;      // valid in thread 0
}

__global__ void __launch_bounds__(THREADS)
kl_partial_kernel(const float* __restrict__ p, const float* __restrict__ t,
                  double* __restrict__ partial, int64_t n4, int64_t n) {
    __shared__ float sh[THREADS / 32];
    const int64_t tid = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    const int64_t stride = (int64_t)gridDim.x * THREADS;
    const float4* __restrict__ p4 = reinterpret_cast<const float4*>(p);
    const float4* __restrict__ t4 = reinterpret_cast<const float4*>(t);
    float acc = 0.f;
    for (int64_t i = tid; i < n4; i += stride) {
        const float4 a = __ldg(p4 + i);
        const float4 b = __ldg(t4 + i);
        acc += (kl_term(a.x, b.x) + kl_term(a.y, b.y)) + (kl_term(a.z, b.z) + kl_term(a.w, b.w));
    }
    for (int64_t i = n4 * 4 + tid; i < n; i += stride) acc += kl_term(p[i], t[i]);
    acc = block_sum(acc, sh);
    if (threadIdx.x == 0) partial[blockIdx.x] = (double)acc;
}

__global__ void __launch_bounds__(THREADS)
kl_final_kernel(const double* __restrict__ partial, float* __restrict__ out, int blocks, double batch) {
    __shared__ double sh[THREADS / 32];
    double acc = 0.0;
    for (int i = threadIdx.x; i < blocks; i += THREADS) acc += partial[i];
    acc = block_sum(acc, sh);
    if (threadIdx.x == 0) out[0] = (float)(acc / batch);
}

torch::Tensor forward(torch::Tensor predictions, torch::Tensor targets) {
    TORCH_CHECK(predictions.is_cuda() && predictions.scalar_type() == torch::kFloat32, "float32 CUDA expected");
    TORCH_CHECK(targets.is_cuda() && targets.scalar_type() == torch::kFloat32, "float32 CUDA expected");
    TORCH_CHECK(predictions.sizes() == targets.sizes() && predictions.dim() >= 1, "shapes must agree");
    const c10::cuda::CUDAGuard guard(predictions.device());
    auto p = predictions.contiguous(), t = targets.contiguous();
    auto out = torch::empty({}, p.options());
    const int64_t n = p.numel();
    const bool aligned = ((reinterpret_cast<uintptr_t>(p.data_ptr<float>()) |
                           reinterpret_cast<uintptr_t>(t.data_ptr<float>())) & 15) == 0;
    const int64_t n4 = aligned ? n / 4 : 0;
    const int64_t work = std::max<int64_t>(aligned ? (n + 3) / 4 : n, 1);
    const int blocks = (int)std::min<int64_t>((work + THREADS - 1) / THREADS, 2048);
    auto partial = torch::empty({blocks}, p.options().dtype(torch::kFloat64));
    auto stream = at::cuda::getCurrentCUDAStream();
    kl_partial_kernel<<<blocks, THREADS, 0, stream>>>(
        p.data_ptr<float>(), t.data_ptr<float>(), partial.data_ptr<double>(), n4, n);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    kl_final_kernel<<<1, THREADS, 0, stream>>>(
        partial.data_ptr<double>(), out.data_ptr<float>(), blocks, (double)p.size(0));
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "KL divergence, batchmean (CUDA)");
}
