#include <torch/extension.h>
#include <cuda_runtime.h>
#include <cstdint>

constexpr int THREADS = 1024;
constexpr int WARPS = THREADS / 32;

__device__ __forceinline__ float warp_max(float v) {
#pragma unroll
    for (int offset = 16; offset > 0; offset >>= 1) {
        v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, offset));
    }
    return v;
}

__device__ __forceinline__ float warp_sum(float v) {
#pragma unroll
    for (int offset = 16; offset > 0; offset >>= 1) {
        v += __shfl_xor_sync(0xffffffffu, v, offset);
    }
    return v;
}

// One block per row: max, sum of exponentials, then the quotient.
__global__ void __launch_bounds__(THREADS)
softmax_kernel(const float* __restrict__ x, float* __restrict__ y, int64_t cols, bool vectorized) {
    __shared__ float s_max[WARPS];
    __shared__ float s_sum[WARPS];

    const int tid = threadIdx.x;
    const int lane = tid & 31;
    const int warp = tid >> 5;
    const float* xr = x + static_cast<int64_t>(blockIdx.x) * cols;
    float* yr = y + static_cast<int64_t>(blockIdx.x) * cols;
    const float4* xr4 = reinterpret_cast<const float4*>(xr);
    float4* yr4 = reinterpret_cast<float4*>(yr);
    const int64_t cols4 = vectorized ? cols / 4 : 0;
    const int64_t tail = cols4 * 4;

    float row_max = -INFINITY;
    for (int64_t i = tid; i < cols4; i += THREADS) {
        const float4 v = xr4[i];
        row_max = fmaxf(row_max, fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)));
    }
    for (int64_t i = tail + tid; i < cols; i += THREADS) {
        row_max = fmaxf(row_max, xr[i]);
    }
    row_max = warp_max(row_max);
    if (lane == 0) {
        s_max[warp] = row_max;
    }
    __syncthreads();
    row_max = warp_max(s_max[lane]);

    float sum = 0.0f;
    for (int64_t i = tid; i < cols4; i += THREADS) {
        const float4 v = xr4[i];
        sum += expf(v.x - row_max) + expf(v.y - row_max) + expf(v.z - row_max) +
               expf(v.w - row_max);
    }
    for (int64_t i = tail + tid; i < cols; i += THREADS) {
        sum += expf(xr[i] - row_max);
    }
    sum = warp_sum(sum);
    if (lane == 0) {
        s_sum[warp] = sum;
    }
    __syncthreads();
    sum = warp_sum(s_sum[lane]);

    const float inv = 1.0f / sum;
    for (int64_t i = tid; i < cols4; i += THREADS) {
        const float4 v = xr4[i];
        float4 r;
        r.x = expf(v.x - row_max) * inv;
        r.y = expf(v.y - row_max) * inv;
        r.z = expf(v.z - row_max) * inv;
        r.w = expf(v.w - row_max) * inv;
        yr4[i] = r;
    }
    for (int64_t i = tail + tid; i < cols; i += THREADS) {
        yr[i] = expf(xr[i] - row_max) * inv;
    }
}

torch::Tensor forward(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    TORCH_CHECK(x.scalar_type() == torch::kFloat32, "x must be float32");
    TORCH_CHECK(x.dim() == 2, "x must be a matrix");
    x = x.contiguous();
    auto y = torch::empty_like(x);
    if (x.numel() == 0) {
        return y;
    }

    const int64_t rows = x.size(0);
    const int64_t cols = x.size(1);
    const float* xp = x.data_ptr<float>();
    float* yp = y.data_ptr<float>();
    // With a row length that is no multiple of 4, the rows do not all begin on 16 bytes.
    const bool vectorized = cols % 4 == 0 && reinterpret_cast<uintptr_t>(xp) % 16 == 0 &&
                            reinterpret_cast<uintptr_t>(yp) % 16 == 0;
    softmax_kernel<<<static_cast<unsigned>(rows), THREADS>>>(xp, yp, cols, vectorized);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Row softmax (CUDA)");
}
