#include <torch/extension.h>
#include <cuda_runtime.h>

#define BLOCK_SIZE 256

template <typename scalar_t>
__global__ void mse_forward_kernel(const scalar_t* __restrict__ preds, const scalar_t* __restrict__ tgts,
                                   double* __restrict__ sum_out, const int64_t n) {
    __shared__ double shm[BLOCK_SIZE];
    double acc = 0.0;
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n; i += (int64_t)gridDim.x * blockDim.x) {
        const double diff = static_cast<double>(preds[i]) - static_cast<double>(tgts[i]);
        acc += diff * diff;
    }
    shm[threadIdx.x] = acc;
    __syncthreads();
    for (int s = BLOCK_SIZE / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) shm[threadIdx.x] += shm[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(sum_out, shm[0]);
}

torch::Tensor forward(torch::Tensor predictions, torch::Tensor targets) {
    TORCH_CHECK(predictions.is_cuda(), "predictions must be a CUDA tensor");
    TORCH_CHECK(targets.is_cuda(), "targets must be a CUDA tensor");
    TORCH_CHECK(predictions.numel() == targets.numel(), "sizes must match");
    predictions = predictions.contiguous();
    targets = targets.contiguous();
    const int64_t n = predictions.numel();
    auto accumulator = torch::zeros({1}, predictions.options().dtype(at::kDouble));
    const int blocks = std::min<int64_t>((n + BLOCK_SIZE - 1) / BLOCK_SIZE, 1024);

    AT_DISPATCH_FLOATING_TYPES(predictions.scalar_type(), "mse_forward_cuda", ([&] {
        mse_forward_kernel<scalar_t><<<blocks, BLOCK_SIZE>>>(
            predictions.data_ptr<scalar_t>(), targets.data_ptr<scalar_t>(),
            accumulator.data_ptr<double>(), n);
    }));
    auto result = accumulator.div_(static_cast<double>(n));
    return result.to(predictions.dtype()).squeeze();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Mean squared error forward (CUDA)");
}
