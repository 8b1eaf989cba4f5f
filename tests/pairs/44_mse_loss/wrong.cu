#include <torch/extension.h>
#include <cuda_runtime.h>

#define THREADS 256

__device__ void warp_reduce(volatile float* sdata, int tid) {
    sdata[tid] += sdata[tid + 32];
    sdata[tid] += sdata[tid + 16];
    sdata[tid] += sdata[tid + 8];
    sdata[tid] += sdata[tid + 4];
    sdata[tid] += sdata[tid + 2];
    sdata[tid] += sdata[tid + 1];
}

__global__ void mse_kernel(const float* __restrict__ preds, const float* __restrict__ tgts,
                           float* __restrict__ partial, const int n) {
    __shared__ float sdata[THREADS];
    const int tid = threadIdx.x;

    float acc = 0.0f;
    for (int i = blockIdx.x * THREADS + tid; i < n; i += gridDim.x * THREADS) {
        const float d = preds[i] - tgts[i];
        acc += d * d;
    }
    sdata[tid] = acc;
    __syncthreads();

    if (tid < 128) sdata[tid] += sdata[tid + 128];
    __syncthreads();
    if (tid < 64) sdata[tid] += sdata[tid + 64];
    __syncthreads();
    if (tid < 32) warp_reduce(sdata, tid);
    if (tid == 0) partial[blockIdx.x] = sdata[0];
}

torch::Tensor forward(torch::Tensor predictions, torch::Tensor targets) {
    TORCH_CHECK(predictions.is_cuda() && targets.is_cuda(), "inputs must be CUDA tensors");
    TORCH_CHECK(predictions.sizes() == targets.sizes(), "shape mismatch");
    auto p = predictions.contiguous();
    auto t = targets.contiguous();
    const int n = p.numel();
    const int blocks = std::min((n + THREADS - 1) / THREADS, 512);
    auto partial = torch::empty({blocks}, p.options());
    mse_kernel<<<blocks, THREADS>>>(p.data_ptr<float>(), t.data_ptr<float>(), partial.data_ptr<float>(), n);
    return partial.sum() / n;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Mean squared error forward (CUDA)");
}
