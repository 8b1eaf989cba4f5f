#include <torch/extension.h>
#include <cuda_runtime.h>

// predictions (N, 1) and targets (M,) broadcast to (N, M): one block per prediction.
__global__ void hinge_rows_kernel(const float* __restrict__ predictions, const float* __restrict__ targets,
                                  float* __restrict__ row_sums, const int M) {
    __shared__ float smem[128];
    const int tid = threadIdx.x;
    const float p = predictions[blockIdx.x];

    float s = 0.0f;
    for (int j = tid; j < M; j += 128) {
        s += fmaxf(1.0f - p * targets[j], 0.0f);
    }
    smem[tid] = s;
    __syncthreads();
    for (int k = 64; k > 0; k >>= 1) {
        if (tid < k) smem[tid] += smem[tid + k];
        __syncthreads();
    }
    if (tid == 0) row_sums[blockIdx.x] = smem[0] / M;
}

torch::Tensor forward(torch::Tensor predictions, torch::Tensor targets) {
    TORCH_CHECK(predictions.is_cuda() && targets.is_cuda(), "inputs must be CUDA tensors");
    TORCH_CHECK(predictions.dim() == 2 && predictions.size(1) == 1, "predictions must be (N, 1)");
    TORCH_CHECK(targets.dim() == 1, "targets must be 1D");
    predictions = predictions.contiguous();
    targets = targets.contiguous();
    const int N = predictions.size(0);
    const int M = targets.size(0);
    auto row_means = torch::empty({N}, predictions.options());
    hinge_rows_kernel<<<N, 128>>>(predictions.data_ptr<float>(), targets.data_ptr<float>(),
                                  row_means.data_ptr<float>(), M);
    return torch::mean(row_means);
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Hinge loss forward (CUDA)");
}
