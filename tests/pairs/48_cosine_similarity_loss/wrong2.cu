#include <torch/extension.h>
#include <cuda_runtime.h>
#include <math.h>

#define BLOCK 128

// Products are staged tile by tile, the first warp adds up each tile.
__global__ void cosine_tile_kernel(const float* __restrict__ a, const float* __restrict__ b,
                                   float* __restrict__ loss, const int D) {
    __shared__ float ab[BLOCK];
    __shared__ float aa[BLOCK];
    __shared__ float bb[BLOCK];
    const int tid = threadIdx.x;
    const size_t base = (size_t)blockIdx.x * D;

    float dot = 0.0f, na = 0.0f, nb = 0.0f;
    for (int i = tid; i < D; i += BLOCK) {
        const float x = a[base + i], y = b[base + i];
        ab[tid] = x * y;
        aa[tid] = x * x;
        bb[tid] = y * y;
        __syncthreads();
        if (tid < 32) {
            #pragma unroll
            for (int k = tid; k < BLOCK; k += 32) {
                dot += ab[k];
                na += aa[k];
                nb += bb[k];
            }
        }
        __syncthreads();
    }

    if (tid < 32) {
        #pragma unroll
        for (int o = 16; o > 0; o >>= 1) {
            dot += __shfl_down_sync(0xffffffff, dot, o);
            na += __shfl_down_sync(0xffffffff, na, o);
            nb += __shfl_down_sync(0xffffffff, nb, o);
        }
        if (tid == 0) {
            loss[blockIdx.x] = 1.0f - dot / (fmaxf(sqrtf(na), 1e-8f) * fmaxf(sqrtf(nb), 1e-8f));
        }
    }
}

torch::Tensor forward(torch::Tensor predictions, torch::Tensor targets) {
    TORCH_CHECK(predictions.is_cuda() && targets.is_cuda(), "inputs must be CUDA tensors");
    TORCH_CHECK(predictions.sizes() == targets.sizes(), "shape mismatch");
    predictions = predictions.contiguous();
    targets = targets.contiguous();
    const int rows = predictions.size(0), D = predictions.size(1);
    auto loss = torch::empty({rows}, predictions.options());
    cosine_tile_kernel<<<rows, BLOCK>>>(predictions.data_ptr<float>(), targets.data_ptr<float>(),
                                        loss.data_ptr<float>(), D);
    return loss.mean();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Cosine similarity loss forward (CUDA)");
}
