#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void hinge_loss_kernel(const float* __restrict__ predictions, const float* __restrict__ targets,
                                  float* __restrict__ output, const int n) {
    for (int idx = blockIdx.x * blockDim.x + threadIdx.x; idx < n; idx += blockDim.x * gridDim.x) {
        const float margin = 1.0f - predictions[idx] * targets[idx];
        output[idx] = margin > 0.0f ? margin : 0.0f;
    }
}

torch::Tensor forward(torch::Tensor predictions, torch::Tensor targets) {
    TORCH_CHECK(predictions.is_cuda(), "predictions must be a CUDA tensor");
    TORCH_CHECK(targets.is_cuda(), "targets must be a CUDA tensor");
    TORCH_CHECK(predictions.numel() == targets.numel(), "predictions and targets must match");
    predictions = predictions.contiguous();
    targets = targets.contiguous();
    const int n = predictions.numel();
    auto output = torch::empty({n}, predictions.options());
    const int threads = 256;
    const int blocks = (n + threads - 1) / threads;
    hinge_loss_kernel<<<blocks, threads>>>(predictions.data_ptr<float>(), targets.data_ptr<float>(),
                                           output.data_ptr<float>(), n);
    return torch::mean(output);
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Hinge loss forward (CUDA)");
}
