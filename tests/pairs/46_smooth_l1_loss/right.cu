#include <torch/extension.h>
#include <cuda_runtime.h>
#include <math.h>

__global__ void smooth_l1_kernel(const float* __restrict__ p, const float* __restrict__ t,
                                 float* __restrict__ out, const int n) {
    __shared__ float warp_sums[8];
    float local = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const float d = fabsf(p[i] - t[i]);
        local += d < 1.0f ? 0.5f * d * d : d - 0.5f;
    }
    #pragma unroll
    for (int o = 16; o > 0; o >>= 1) local += __shfl_down_sync(0xffffffff, local, o);
    if ((threadIdx.x & 31) == 0) warp_sums[threadIdx.x >> 5] = local;
    __syncthreads();
    if (threadIdx.x == 0) {
        float total = 0.0f;
        for (int w = 0; w < blockDim.x / 32; w++) total += warp_sums[w];
        atomicAdd(out, total / n);
    }
}

torch::Tensor forward(torch::Tensor predictions, torch::Tensor targets) {
    TORCH_CHECK(predictions.is_cuda() && targets.is_cuda(), "inputs must be CUDA tensors");
    TORCH_CHECK(predictions.sizes() == targets.sizes(), "shape mismatch");
    predictions = predictions.contiguous();
    targets = targets.contiguous();
    auto out = torch::zeros({}, predictions.options());
    const int n = predictions.numel();
    const int threads = 256;
    const int blocks = std::min((n + threads - 1) / threads, 512);
    smooth_l1_kernel<<<blocks, threads>>>(predictions.data_ptr<float>(), targets.data_ptr<float>(),
                                          out.data_ptr<float>(), n);
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Smooth L1 loss forward (CUDA)");
}
