#include <torch/extension.h>
#include <cuda_runtime.h>
#include <math.h>

__global__ void kl_div_kernel(const float* __restrict__ predictions, const float* __restrict__ targets,
                              float* __restrict__ output, const int n) {
    extern __shared__ float partial_sums[];
    const int tid = threadIdx.x;
    const int stride = blockDim.x * gridDim.x;

    float sum = 0.0f;
    for (int i = blockIdx.x * blockDim.x + tid; i < n; i += stride) {
        const float t = targets[i];
        if (t > 0.0f) {
            sum += t * (logf(t) - logf(predictions[i]));
        }
    }
    partial_sums[tid] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) partial_sums[tid] += partial_sums[tid + s];
        __syncthreads();
    }
    if (tid == 0) atomicAdd(output, partial_sums[0]);
}

torch::Tensor forward(torch::Tensor predictions, torch::Tensor targets) {
    TORCH_CHECK(predictions.is_cuda() && targets.is_cuda(), "inputs must be CUDA tensors");
    TORCH_CHECK(predictions.sizes() == targets.sizes(), "shape mismatch");
    predictions = predictions.contiguous();
    targets = targets.contiguous();
    const int n = predictions.numel();
    const int batch_size = predictions.size(0);
    auto output = torch::zeros({1}, predictions.options());
    const int threads = 256;
    const int blocks = std::min((n + threads - 1) / threads, 256);
    kl_div_kernel<<<blocks, threads, threads * sizeof(float)>>>(
        predictions.data_ptr<float>(), targets.data_ptr<float>(), output.data_ptr<float>(), n);
    return (output / batch_size).squeeze();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "KL divergence forward (CUDA)");
}
