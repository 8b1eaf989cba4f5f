#include <torch/extension.h>
#include <cuda_runtime.h>
#include <math.h>

// One block per distribution.
__global__ void kl_div_row_kernel(const float* __restrict__ p, const float* __restrict__ t,
                                  float* __restrict__ row_out, const int D) {
    __shared__ float warp_sums[32];
    const int lane = threadIdx.x % 32, wid = threadIdx.x / 32;
    const size_t base = (size_t)blockIdx.x * D;

    float sum = 0.0f;
    for (int i = threadIdx.x; i < D; i += blockDim.x) {
        const float target = t[base + i];
        sum += target * logf(target / p[base + i]);
    }
    for (int o = 16; o > 0; o /= 2) sum += __shfl_xor_sync(0xffffffff, sum, o);
    if (lane == 0) warp_sums[wid] = sum;
    __syncthreads();
    if (wid == 0) {
        sum = lane < blockDim.x / 32 ? warp_sums[lane] : 0.0f;
        for (int o = 16; o > 0; o /= 2) sum += __shfl_xor_sync(0xffffffff, sum, o);
        if (lane == 0) row_out[blockIdx.x] = sum;
    }
}

torch::Tensor forward(torch::Tensor predictions, torch::Tensor targets) {
    TORCH_CHECK(predictions.is_cuda() && targets.is_cuda(), "inputs must be CUDA tensors");
    predictions = predictions.contiguous();
    targets = targets.contiguous();
    const int B = predictions.size(0);
    const int D = predictions.size(1);
    auto rows = torch::empty({B}, predictions.options());
    kl_div_row_kernel<<<B, 256>>>(predictions.data_ptr<float>(), targets.data_ptr<float>(),
                                  rows.data_ptr<float>(), D);
    return rows.sum() / B;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "KL divergence forward (CUDA)");
}
