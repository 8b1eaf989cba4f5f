#include <torch/extension.h>
#include <cuda_runtime.h>

#define TILE 16

__global__ void linear_hardtanh_kernel(const float* __restrict__ x, const float* __restrict__ weight,
                                       const float* __restrict__ scale, float* __restrict__ out,
                                       const int M, const int K, const int N) {
    __shared__ float xs[TILE][TILE];
    __shared__ float ws[TILE][TILE + 1];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * TILE + ty;
    const int col = blockIdx.x * TILE + tx;
    const int wrow = blockIdx.x * TILE + ty;

    float acc = 0.0f;
    for (int k0 = 0; k0 < K; k0 += TILE) {
        xs[ty][tx] = (row < M && k0 + tx < K) ? x[row * K + k0 + tx] : 0.0f;
        ws[ty][tx] = (wrow < N && k0 + tx < K) ? weight[wrow * K + k0 + tx] : 0.0f;
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < TILE; k++) acc += xs[ty][k] * ws[tx][k];
        __syncthreads();
    }
    if (row < M && col < N) {
        // clamp first, the scale is folded into the store
        const float h = fminf(fmaxf(acc, 0.0f), 1.0f);
        out[row * N + col] = h * __ldg(&scale[col]);
    }
}

torch::Tensor forward(torch::Tensor x, torch::Tensor weight, torch::Tensor scale) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    TORCH_CHECK(weight.is_cuda(), "weight must be a CUDA tensor");
    x = x.contiguous();
    weight = weight.contiguous();
    const int M = x.size(0), K = x.size(1), N = weight.size(0);
    auto out = torch::empty({M, N}, x.options());
    dim3 block(TILE, TILE);
    dim3 grid((N + TILE - 1) / TILE, (M + TILE - 1) / TILE);
    linear_hardtanh_kernel<<<grid, block>>>(x.data_ptr<float>(), weight.data_ptr<float>(),
                                            scale.data_ptr<float>(), out.data_ptr<float>(), M, K, N);
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Linear + scale + HardTanh forward (CUDA)");
}
