#include <torch/extension.h>
#include <cuda_runtime.h>
#include <cfloat>

// One warp per sample.
__global__ void cross_entropy_warp_kernel(const float* __restrict__ logits,
                                          const int* __restrict__ targets,
                                          float* __restrict__ losses,
                                          int batch_size, int num_classes) {
    const int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    const int lane = threadIdx.x & 31;
    if (warp >= batch_size) return;
    const float* row = logits + warp * num_classes;

    float m = -FLT_MAX;
    for (int c = lane; c < num_classes; c += 32) m = fmaxf(m, row[c]);
    #pragma unroll
    for (int o = 16; o > 0; o >>= 1) m = fmaxf(m, __shfl_xor_sync(0xffffffff, m, o));

    float s = 0.0f;
    for (int c = lane; c < num_classes; c += 32) s += expf(row[c] - m);
    #pragma unroll
    for (int o = 16; o > 0; o >>= 1) s += __shfl_xor_sync(0xffffffff, s, o);

    if (lane == 0) {
        losses[warp] = m + logf(s) - row[targets[warp]];
    }
}

torch::Tensor forward(torch::Tensor predictions, torch::Tensor targets) {
    TORCH_CHECK(predictions.is_cuda() && targets.is_cuda(), "inputs must be CUDA tensors");
    predictions = predictions.contiguous();
    targets = targets.contiguous();
    const int n = predictions.size(0);
    const int c = predictions.size(1);
    auto losses = torch::empty({n}, predictions.options());

    const int threads = 128;
    const int blocks = (n * 32 + threads - 1) / threads;
    cross_entropy_warp_kernel<<<blocks, threads>>>(
        predictions.data_ptr<float>(),
        reinterpret_cast<const int*>(targets.data_ptr<int64_t>()),
        losses.data_ptr<float>(), n, c);
    return losses.mean();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Cross entropy loss forward (CUDA)");
}
