#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void cross_entropy_kernel(const float* __restrict__ logits,
                                     const int64_t* __restrict__ targets,
                                     float* __restrict__ losses,
                                     int batch_size,
                                     int num_classes) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < batch_size) {
        const float* row = logits + i * num_classes;

        float max_logit = row[0];
        for (int j = 1; j < num_classes; j++) {
            max_logit = fmaxf(max_logit, row[j]);
        }

        float sum_exp = 0.0f;
        for (int j = 0; j < num_classes; j++) {
            sum_exp += expf(row[j] - max_logit);
        }

        const int64_t t = targets[i];
        losses[i] = -(row[t] - max_logit - logf(sum_exp));
    }
}

torch::Tensor forward(torch::Tensor predictions, torch::Tensor targets) {
    TORCH_CHECK(predictions.is_cuda(), "predictions must be a CUDA tensor");
    TORCH_CHECK(targets.is_cuda(), "targets must be a CUDA tensor");
    TORCH_CHECK(predictions.dim() == 2, "predictions must be a 2D tensor");
    TORCH_CHECK(targets.dim() == 1, "targets must be a 1D tensor");
    TORCH_CHECK(targets.scalar_type() == torch::kInt64, "targets must be int64");
    predictions = predictions.contiguous();
    targets = targets.contiguous();

    const int batch_size = predictions.size(0);
    const int num_classes = predictions.size(1);
    auto losses = torch::empty({batch_size}, predictions.options());

    const int threads = 256;
    const int blocks = (batch_size + threads - 1) / threads;
    cross_entropy_kernel<<<blocks, threads>>>(
        predictions.data_ptr<float>(), targets.data_ptr<int64_t>(),
        losses.data_ptr<float>(), batch_size, num_classes);

    return losses.mean();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Cross entropy loss forward (CUDA)");
}
