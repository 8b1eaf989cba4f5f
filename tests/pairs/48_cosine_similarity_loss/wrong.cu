#include <torch/extension.h>
#include <cuda_runtime.h>
#include <math.h>

#define BLOCK 256

__global__ void cosine_loss_kernel(const float* __restrict__ predictions, const float* __restrict__ targets,
                                   float* __restrict__ loss, const int rows, const int D) {
    __shared__ float tile_p[BLOCK];
    __shared__ float tile_t[BLOCK];
    __shared__ float acc[3][BLOCK];
    const int tid = threadIdx.x;
    const float* p = predictions + (size_t)blockIdx.x * D;
    const float* t = targets + (size_t)blockIdx.x * D;

    float dot = 0.0f, pp = 0.0f, tt = 0.0f;
    for (int i = tid; i < D; i += BLOCK) {
        tile_p[tid] = p[i];
        tile_t[tid] = t[i];
        __syncthreads();
        dot += tile_p[tid] * tile_t[tid];
        pp += tile_p[tid] * tile_p[tid];
        tt += tile_t[tid] * tile_t[tid];
        __syncthreads();
    }

    acc[0][tid] = dot;
    acc[1][tid] = pp;
    acc[2][tid] = tt;
    __syncthreads();
    for (int s = BLOCK / 2; s > 0; s >>= 1) {
        if (tid < s) {
            acc[0][tid] += acc[0][tid + s];
            acc[1][tid] += acc[1][tid + s];
            acc[2][tid] += acc[2][tid + s];
        }
        __syncthreads();
    }
    if (tid == 0) {
        const float denom = fmaxf(sqrtf(acc[1][0]) * sqrtf(acc[2][0]), 1e-8f);
        atomicAdd(loss, (1.0f - acc[0][0] / denom) / rows);
    }
}

torch::Tensor forward(torch::Tensor predictions, torch::Tensor targets) {
    TORCH_CHECK(predictions.is_cuda(), "predictions must be a CUDA tensor");
    TORCH_CHECK(targets.is_cuda(), "targets must be a CUDA tensor");
    predictions = predictions.contiguous();
    targets = targets.contiguous();
    const int rows = predictions.size(0);
    const int D = predictions.size(1);
    auto loss = torch::zeros({}, predictions.options());
    cosine_loss_kernel<<<rows, BLOCK>>>(predictions.data_ptr<float>(), targets.data_ptr<float>(),
                                        loss.data_ptr<float>(), rows, D);
    return loss;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Cosine similarity loss forward (CUDA)");
}
