#include <torch/extension.h>
#include <cuda_runtime.h>
#include <cstdint>

constexpr int ROW_THREADS = 256;
constexpr int MEAN_THREADS = 1024;

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

// One block per row: losses[row] = log(sum(exp(x - max))) + max - x[target]
__global__ void __launch_bounds__(ROW_THREADS)
row_loss_kernel(const float* __restrict__ x, const int64_t* __restrict__ targets,
                float* __restrict__ losses, int classes) {
    constexpr int WARPS = ROW_THREADS / 32;
    __shared__ float s_max[WARPS];
    __shared__ float s_sum[WARPS];

    const int tid = threadIdx.x;
    const int lane = tid & 31;
    const int warp = tid >> 5;
    const float* xr = x + static_cast<int64_t>(blockIdx.x) * classes;

    float row_max = -INFINITY;
    for (int c = tid; c < classes; c += ROW_THREADS) {
        row_max = fmaxf(row_max, xr[c]);
    }
    row_max = warp_max(row_max);
    if (lane == 0) {
        s_max[warp] = row_max;
    }
    __syncthreads();
    row_max = warp_max(lane < WARPS ? s_max[lane] : -INFINITY);

    float sum = 0.0f;
    for (int c = tid; c < classes; c += ROW_THREADS) {
        sum += expf(xr[c] - row_max);
    }
    sum = warp_sum(sum);
    if (lane == 0) {
        s_sum[warp] = sum;
    }
    __syncthreads();

    if (warp == 0) {
        sum = warp_sum(lane < WARPS ? s_sum[lane] : 0.0f);
        if (lane == 0) {
            losses[blockIdx.x] = logf(sum) + row_max - xr[targets[blockIdx.x]];
        }
    }
}

// A single block: out[0] = mean(losses)
__global__ void __launch_bounds__(MEAN_THREADS)
mean_kernel(const float* __restrict__ losses, float* __restrict__ out, int n) {
    constexpr int WARPS = MEAN_THREADS / 32;
    __shared__ float s_sum[WARPS];
    const int lane = threadIdx.x & 31;
    const int warp = threadIdx.x >> 5;

    float sum = 0.0f;
    for (int i = threadIdx.x; i < n; i += MEAN_THREADS) {
        sum += losses[i];
    }
    sum = warp_sum(sum);
    if (lane == 0) {
        s_sum[warp] = sum;
    }
    __syncthreads();
    if (warp == 0) {
        sum = warp_sum(s_sum[lane]);
        if (lane == 0) {
            out[0] = sum / static_cast<float>(n);
        }
    }
}

torch::Tensor forward(torch::Tensor predictions, torch::Tensor targets) {
    TORCH_CHECK(predictions.is_cuda() && targets.is_cuda(), "inputs must be CUDA tensors");
    TORCH_CHECK(predictions.scalar_type() == torch::kFloat32, "predictions must be float32");
    TORCH_CHECK(targets.scalar_type() == torch::kInt64, "targets must be int64");
    TORCH_CHECK(predictions.dim() == 2 && targets.dim() == 1, "expected (N, C) and (N)");
    TORCH_CHECK(predictions.size(0) == targets.size(0), "batch sizes must match");
    TORCH_CHECK(predictions.numel() > 0, "predictions must not be empty");
    predictions = predictions.contiguous();
    targets = targets.contiguous();

    const int rows = predictions.size(0);
    const int classes = predictions.size(1);
    auto losses = torch::empty({rows}, predictions.options());
    auto out = torch::empty({}, predictions.options());

    row_loss_kernel<<<rows, ROW_THREADS>>>(predictions.data_ptr<float>(),
                                           targets.data_ptr<int64_t>(), losses.data_ptr<float>(),
                                           classes);
    mean_kernel<<<1, MEAN_THREADS>>>(losses.data_ptr<float>(), out.data_ptr<float>(), rows);
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Cross entropy, mean (CUDA)");
}
