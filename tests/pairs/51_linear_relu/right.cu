#include <torch/extension.h>
#include <cuda_runtime.h>

#define TILE 16

__global__ void linear_relu_kernel(const float* __restrict__ x, const float* __restrict__ weight,
                                   const float* __restrict__ bias, float* __restrict__ out,
                                   const int M, const int K, const int N) {
    __shared__ float xs[TILE][TILE];
    __shared__ float ws[TILE][TILE + 1];
    const int row = blockIdx.y * TILE + threadIdx.y;
    const int col = blockIdx.x * TILE + threadIdx.x;
    const int w_row = blockIdx.x * TILE + threadIdx.y;

    float acc = 0.0f;
    for (int k0 = 0; k0 < K; k0 += TILE) {
        const int k = k0 + threadIdx.x;
        xs[threadIdx.y][threadIdx.x] = (row < M && k < K) ? x[row * K + k] : 0.0f;
        ws[threadIdx.y][threadIdx.x] = (w_row < N && k < K) ? weight[w_row * K + k] : 0.0f;
        __syncthreads();
        #pragma unroll
        for (int i = 0; i < TILE; i++) {
            acc += xs[threadIdx.y][i] * ws[threadIdx.x][i];
        }
        __syncthreads();
    }
    if (row < M && col < N) {
        out[row * N + col] = fmaxf(acc + bias[col], 0.0f);
    }
}

torch::Tensor forward(torch::Tensor x, torch::Tensor weight, torch::Tensor bias) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    TORCH_CHECK(weight.is_cuda(), "weight must be a CUDA tensor");
    TORCH_CHECK(bias.is_cuda(), "bias must be a CUDA tensor");
    TORCH_CHECK(x.size(1) == weight.size(1), "feature mismatch");
    x = x.contiguous();
    weight = weight.contiguous();
    const int M = x.size(0), K = x.size(1), N = weight.size(0);
    auto out = torch::empty({M, N}, x.options());
    dim3 block(TILE, TILE);
    dim3 grid((N + TILE - 1) / TILE, (M + TILE - 1) / TILE);
    linear_relu_kernel<<<grid, block>>>(x.data_ptr<float>(), weight.data_ptr<float>(),
                                        bias.data_ptr<float>(), out.data_ptr<float>(), M, K, N);
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Linear + ReLU forward (CUDA)");
}
