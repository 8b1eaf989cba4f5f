#include <torch/extension.h>
#include <cuda_runtime.h>
#include <math.h>

#define ROWS 4
#define LANES 64

// ROWS vectors per block, LANES threads each.
__global__ void cosine_rows_kernel(const float* __restrict__ a, const float* __restrict__ b,
                                   float* __restrict__ loss, const int rows, const int D) {
    __shared__ float s_dot[ROWS][LANES];
    __shared__ float s_aa[ROWS][LANES];
    __shared__ float s_bb[ROWS][LANES];
    const int r = threadIdx.y, l = threadIdx.x;
    const int row = blockIdx.x * ROWS + r;
    if (row >= rows) return;

    const float* pa = a + (size_t)row * D;
    const float* pb = b + (size_t)row * D;
    float dot = 0.0f, aa = 0.0f, bb = 0.0f;
    for (int i = l; i < D; i += LANES) {
        const float x = pa[i], y = pb[i];
        dot += x * y;
        aa += x * x;
        bb += y * y;
    }
    s_dot[r][l] = dot;
    s_aa[r][l] = aa;
    s_bb[r][l] = bb;
    __syncthreads();

    for (int s = LANES / 2; s > 0; s >>= 1) {
        if (l < s) {
            s_dot[r][l] += s_dot[r][l + s];
            s_aa[r][l] += s_aa[r][l + s];
            s_bb[r][l] += s_bb[r][l + s];
        }
        __syncthreads();
    }
    if (l == 0) {
        const float eps = 1e-8f;
        const float denom = fmaxf(sqrtf(s_aa[r][0]), eps) * fmaxf(sqrtf(s_bb[r][0]), eps);
        loss[row] = 1.0f - s_dot[r][0] / denom;
    }
}

torch::Tensor forward(torch::Tensor predictions, torch::Tensor targets) {
    TORCH_CHECK(predictions.is_cuda() && targets.is_cuda(), "inputs must be CUDA tensors");
    TORCH_CHECK(predictions.dim() == 2, "predictions must be 2D");
    TORCH_CHECK(predictions.sizes() == targets.sizes(), "shape mismatch");
    predictions = predictions.contiguous();
    targets = targets.contiguous();
    const int rows = predictions.size(0);
    const int D = predictions.size(1);
    auto loss = torch::empty({rows}, predictions.options());
    dim3 block(LANES, ROWS);
    dim3 grid((rows + ROWS - 1) / ROWS);
    cosine_rows_kernel<<<grid, block>>>(predictions.data_ptr<float>(), targets.data_ptr<float>(),
                                        loss.data_ptr<float>(), rows, D);
    return loss.mean();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Cosine similarity loss forward (CUDA)");
}
