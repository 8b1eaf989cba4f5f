#include <torch/extension.h>
#include <cuda_runtime.h>
#include <cstdint>

constexpr int THREADS = 256;
constexpr int WARPS = THREADS / 32;
constexpr int CHUNK = 16384;  // elements of a row that one block looks at; a multiple of 4

struct Moments {
    float mean;
    float m2;
    float count;
};

__device__ __forceinline__ Moments merge(const Moments& a, const Moments& b) {
    const float count = a.count + b.count;
    if (count == 0.0f) {
        return a;
    }
    const float delta = b.mean - a.mean;
    const float share = b.count / count;
    Moments r;
    r.mean = a.mean + delta * share;
    r.m2 = a.m2 + b.m2 + delta * delta * a.count * share;
    r.count = count;
    return r;
}

__device__ __forceinline__ Moments warp_merge(Moments v) {
#pragma unroll
    for (int offset = 16; offset > 0; offset >>= 1) {
        Moments other;
        other.mean = __shfl_down_sync(0xffffffffu, v.mean, offset);
        other.m2 = __shfl_down_sync(0xffffffffu, v.m2, offset);
        other.count = __shfl_down_sync(0xffffffffu, v.count, offset);
        v = merge(v, other);
    }
    return v;
}

// The result is valid in thread 0.
__device__ Moments block_merge(Moments v) {
    __shared__ float s_mean[WARPS];
    __shared__ float s_m2[WARPS];
    __shared__ float s_count[WARPS];
    const int lane = threadIdx.x & 31;
    const int warp = threadIdx.x >> 5;

    v = warp_merge(v);
    if (lane == 0) {
        s_mean[warp] = v.mean;
        s_m2[warp] = v.m2;
        s_count[warp] = v.count;
    }
    __syncthreads();
    if (warp == 0) {
        v.mean = lane < WARPS ? s_mean[lane] : 0.0f;
        v.m2 = lane < WARPS ? s_m2[lane] : 0.0f;
        v.count = lane < WARPS ? s_count[lane] : 0.0f;
        v = warp_merge(v);
    }
    return v;
}

// Mean and sum of squared deviations of each chunk of each row.
__global__ void __launch_bounds__(THREADS)
chunk_moments_kernel(const float* __restrict__ x, float* __restrict__ chunk_mean,
                     float* __restrict__ chunk_m2, int64_t n, int chunks) {
    const int64_t row = blockIdx.x / chunks;
    const int64_t chunk = blockIdx.x % chunks;
    const int64_t begin = chunk * CHUNK;
    const int64_t end = begin + CHUNK < n ? begin + CHUNK : n;
    const float* xr = x + row * n;

    Moments v = {0.0f, 0.0f, 0.0f};
    for (int64_t i = begin + threadIdx.x; i < end; i += THREADS) {
        const float value = xr[i];
        v.count += 1.0f;
        const float delta = value - v.mean;
        v.mean += delta / v.count;
        v.m2 += delta * (value - v.mean);
    }

    v = block_merge(v);
    if (threadIdx.x == 0) {
        chunk_mean[blockIdx.x] = v.mean;
        chunk_m2[blockIdx.x] = v.m2;
    }
}

// One block per row: the chunks' moments into mean and 1 / std.
__global__ void __launch_bounds__(THREADS)
row_stats_kernel(const float* __restrict__ chunk_mean, const float* __restrict__ chunk_m2,
                 float* __restrict__ mean, float* __restrict__ rstd, int64_t n, int chunks,
                 float eps) {
    const int64_t row = blockIdx.x;
    Moments v = {0.0f, 0.0f, 0.0f};
    for (int c = threadIdx.x; c < chunks; c += THREADS) {
        const int64_t left = n - static_cast<int64_t>(c) * CHUNK;
        Moments part;
        part.mean = chunk_mean[row * chunks + c];
        part.m2 = chunk_m2[row * chunks + c];
        part.count = static_cast<float>(left < CHUNK ? left : CHUNK);
        v = merge(v, part);
    }

    v = block_merge(v);
    if (threadIdx.x == 0) {
        const float var = v.m2 / static_cast<float>(n);
        mean[row] = v.mean;
        rstd[row] = 1.0f / (sqrtf(var) + eps);
    }
}

__global__ void __launch_bounds__(THREADS)
normalize_kernel(const float* __restrict__ x, const float* __restrict__ weight,
                 const float* __restrict__ bias, const float* __restrict__ mean,
                 const float* __restrict__ rstd, float* __restrict__ y, int64_t n, int chunks,
                 bool vectorized) {
    const int64_t row = blockIdx.x / chunks;
    const int64_t chunk = blockIdx.x % chunks;
    const int64_t begin = chunk * CHUNK;
    const int64_t end = begin + CHUNK < n ? begin + CHUNK : n;
    const float* xr = x + row * n;
    float* yr = y + row * n;
    const float mu = mean[row];
    const float rs = rstd[row];

    if (vectorized) {
        for (int64_t i = begin + 4 * threadIdx.x; i < end; i += 4 * THREADS) {
            const float4 v = *reinterpret_cast<const float4*>(xr + i);
            const float4 w = *reinterpret_cast<const float4*>(weight + i);
            const float4 b = *reinterpret_cast<const float4*>(bias + i);
            float4 r;
            r.x = (v.x - mu) * rs * w.x + b.x;
            r.y = (v.y - mu) * rs * w.y + b.y;
            r.z = (v.z - mu) * rs * w.z + b.z;
            r.w = (v.w - mu) * rs * w.w + b.w;
            *reinterpret_cast<float4*>(yr + i) = r;
        }
    } else {
        for (int64_t i = begin + threadIdx.x; i < end; i += THREADS) {
            yr[i] = (xr[i] - mu) * rs * weight[i] + bias[i];
        }
    }
}

static bool aligned16(const void* p) { return reinterpret_cast<uintptr_t>(p) % 16 == 0; }

torch::Tensor forward(torch::Tensor x, torch::Tensor weight, torch::Tensor bias) {
    TORCH_CHECK(x.is_cuda() && weight.is_cuda() && bias.is_cuda(), "inputs must be CUDA tensors");
    TORCH_CHECK(x.scalar_type() == torch::kFloat32, "x must be float32");
    TORCH_CHECK(weight.numel() == bias.numel(), "weight and bias must have the same shape");
    x = x.contiguous();
    weight = weight.contiguous();
    bias = bias.contiguous();
    const float eps = 1e-5f;

    auto y = torch::empty_like(x);
    if (x.numel() == 0) {
        return y;
    }
    const int64_t n = weight.numel();
    TORCH_CHECK(x.numel() % n == 0, "x does not end in the normalized shape");
    const int64_t rows = x.numel() / n;
    const int chunks = static_cast<int>((n + CHUNK - 1) / CHUNK);
    TORCH_CHECK(rows * chunks <= 2147483647, "too many rows");

    auto chunk_mean = torch::empty({rows, chunks}, x.options());
    auto chunk_m2 = torch::empty({rows, chunks}, x.options());
    auto mean = torch::empty({rows}, x.options());
    auto rstd = torch::empty({rows}, x.options());

    const float* xp = x.data_ptr<float>();
    const float* wp = weight.data_ptr<float>();
    const float* bp = bias.data_ptr<float>();
    float* yp = y.data_ptr<float>();
    const bool vectorized =
        n % 4 == 0 && aligned16(xp) && aligned16(wp) && aligned16(bp) && aligned16(yp);

    const unsigned blocks = static_cast<unsigned>(rows * chunks);
    chunk_moments_kernel<<<blocks, THREADS>>>(xp, chunk_mean.data_ptr<float>(),
                                              chunk_m2.data_ptr<float>(), n, chunks);
    row_stats_kernel<<<static_cast<unsigned>(rows), THREADS>>>(
        chunk_mean.data_ptr<float>(), chunk_m2.data_ptr<float>(), mean.data_ptr<float>(),
        rstd.data_ptr<float>(), n, chunks, eps);
    normalize_kernel<<<blocks, THREADS>>>(xp, wp, bp, mean.data_ptr<float>(),
                                          rstd.data_ptr<float>(), yp, n, chunks, vectorized);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "LayerNorm forward (CUDA)");
}
