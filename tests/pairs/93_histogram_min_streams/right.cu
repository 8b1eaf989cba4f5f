#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <algorithm>
#include <cstdint>

constexpr int BINS = 1000;
constexpr int THREADS = 512;

__device__ __forceinline__ void count(unsigned* h, long long v) {
    if (v >= 0 && v < BINS) atomicAdd(h + (int)v, 1u);
}

// Private histogram per block in shared memory, merged with one global atomic per bin.
__global__ void __launch_bounds__(THREADS)
histogram_kernel(const long long* __restrict__ x, unsigned long long* __restrict__ hist, int64_t n2, int64_t n) {
    __shared__ unsigned h[BINS];
    for (int i = threadIdx.x; i < BINS; i += THREADS) h[i] = 0u;
    __syncthreads();

    const int64_t tid = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    const int64_t stride = (int64_t)gridDim.x * THREADS;
    const longlong2* __restrict__ x2 = reinterpret_cast<const longlong2*>(x);
    for (int64_t i = tid; i < n2; i += stride) {
        const longlong2 v = __ldg(x2 + i);
        count(h, v.x);
        count(h, v.y);
    }
    for (int64_t i = n2 * 2 + tid; i < n; i += stride) count(h, x[i]);
    __syncthreads();

    for (int i = threadIdx.x; i < BINS; i += THREADS) {
        const unsigned c = h[i];
        if (c) atomicAdd(hist + i, (unsigned long long)c);
    }
}

__global__ void minimum_kernel(const long long* __restrict__ a, const long long* __restrict__ b,
                               long long* __restrict__ out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < BINS) out[i] = a[i] < b[i] ? a[i] : b[i];
}

static void launch_histogram(const torch::Tensor& x, int64_t* hist, cudaStream_t stream) {
    const int64_t n = x.numel();
    if (n == 0) return;
    const auto* p = reinterpret_cast<const long long*>(x.data_ptr<int64_t>());
    const bool aligned = (reinterpret_cast<uintptr_t>(p) & 15) == 0;
    const int64_t n2 = aligned ? n / 2 : 0;
    const int64_t work = aligned ? (n + 1) / 2 : n;
    const int sms = at::cuda::getCurrentDeviceProperties()->multiProcessorCount;
    const int blocks = (int)std::min<int64_t>((work + THREADS - 1) / THREADS, (int64_t)sms * 2);
    histogram_kernel<<<blocks, THREADS, 0, stream>>>(p, reinterpret_cast<unsigned long long*>(hist), n2, n);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
}

torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
    TORCH_CHECK(a.is_cuda() && a.scalar_type() == torch::kInt64 && a.dim() == 1, "a must be 1-D int64 CUDA");
    TORCH_CHECK(b.is_cuda() && b.scalar_type() == torch::kInt64 && b.dim() == 1, "b must be 1-D int64 CUDA");
    const c10::cuda::CUDAGuard guard(a.device());
    auto ac = a.contiguous(), bc = b.contiguous();
    auto hist = torch::zeros({2, BINS}, ac.options());
    auto out = torch::empty({BINS}, ac.options());
    int64_t* h = hist.data_ptr<int64_t>();

    auto main_stream = at::cuda::getCurrentCUDAStream();
    auto side_stream = c10::cuda::getStreamFromPool(false, a.device().index());
    at::cuda::CUDAEvent fork, join;

    // the two histograms run side by side
    fork.record(main_stream);
    fork.block(side_stream);
    launch_histogram(bc, h + BINS, side_stream);
    join.record(side_stream);
    launch_histogram(ac, h, main_stream);
    join.block(main_stream);

    minimum_kernel<<<(BINS + 255) / 256, 256, 0, main_stream>>>(
        reinterpret_cast<const long long*>(h), reinterpret_cast<const long long*>(h + BINS),
        reinterpret_cast<long long*>(out.data_ptr<int64_t>()));
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "histogram intersection (CUDA)");
}
