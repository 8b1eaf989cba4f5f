#include <torch/extension.h>
#include <cuda_runtime.h>

#define BLOCK_SIZE 256

__global__ void cross_entropy_kernel(const float* __restrict__ logits,
                                     const int64_t* __restrict__ targets,
                                     float* __restrict__ loss,
                                     const int batch_size,
                                     const int num_classes) {
    __shared__ float partial[BLOCK_SIZE];
    const int tid = threadIdx.x;
    const int i = blockIdx.x * BLOCK_SIZE + tid;

    float my_loss = 0.0f;
    if (i < batch_size) {
        const float* row = logits + (size_t)i * num_classes;
        float m = -INFINITY;
        for (int c = 0; c < num_classes; c++) m = fmaxf(m, row[c]);
        float s = 0.0f;
        for (int c = 0; c < num_classes; c++) s += expf(row[c] - m);
        my_loss = logf(s) + m - row[targets[i]];
    }
    partial[tid] = my_loss;
    __syncthreads();

    for (int s = BLOCK_SIZE / 2; s > 0; s >>= 1) {
        if (tid < s) partial[tid] += partial[tid + s];
        __syncthreads();
    }
    if (tid == 0) {
        atomicAdd(loss, partial[0] / batch_size);
    }
}

torch::Tensor forward(torch::Tensor predictions, torch::Tensor targets) {
    TORCH_CHECK(predictions.is_cuda(), "predictions must be a CUDA tensor");
    TORCH_CHECK(targets.is_cuda(), "targets must be a CUDA tensor");
    TORCH_CHECK(predictions.size(0) == targets.size(0), "batch size mismatch");
    auto logits = predictions.contiguous();
    auto labels = targets.contiguous();

    const int batch_size = logits.size(0);
    const int num_classes = logits.size(1);
    auto loss = torch::empty({}, logits.options());

    const int blocks = (batch_size + BLOCK_SIZE - 1) / BLOCK_SIZE;
    cross_entropy_kernel<<<blocks, BLOCK_SIZE>>>(
        logits.data_ptr<float>(), labels.data_ptr<int64_t>(),
        loss.data_ptr<float>(), batch_size, num_classes);
    return loss;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Cross entropy loss forward (CUDA)");
}
