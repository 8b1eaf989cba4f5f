#include <torch/extension.h>
#include <cuda_runtime.h>

#define TILE 16
#define THREADS 256

__global__ void linear_kernel(const float* __restrict__ x, const float* __restrict__ weight,
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
        out[row * N + col] = acc + bias[col];
    }
}

__global__ void logsumexp_kernel(const float* __restrict__ in, float* __restrict__ out, const int width) {
    __shared__ float buf[THREADS];
    const float* row = in + blockIdx.x * width;
    const int tid = threadIdx.x;

    float largest = -INFINITY;
    for (int i = tid; i < width; i += THREADS) largest = fmaxf(largest, row[i]);
    buf[tid] = largest;
    __syncthreads();
    for (int s = THREADS / 2; s > 0; s >>= 1) {
        if (tid < s) buf[tid] = fmaxf(buf[tid], buf[tid + s]);
        __syncthreads();
    }
    largest = buf[0];
    __syncthreads();  // buf[0] is used again

    float sum = 0.0f;
    for (int i = tid; i < width; i += THREADS) sum += expf(row[i] - largest);
    buf[tid] = sum;
    __syncthreads();
    for (int s = THREADS / 2; s > 0; s >>= 1) {
        if (tid < s) buf[tid] += buf[tid + s];
        __syncthreads();
    }
    if (tid == 0) out[blockIdx.x] = largest + logf(buf[0]);
}

torch::Tensor forward(torch::Tensor x, torch::Tensor weight, torch::Tensor bias) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    TORCH_CHECK(weight.is_cuda(), "weight must be a CUDA tensor");
    TORCH_CHECK(bias.is_cuda(), "bias must be a CUDA tensor");
    TORCH_CHECK(x.size(1) == weight.size(1), "feature mismatch");
    x = x.contiguous();
    weight = weight.contiguous();
    const int M = x.size(0), K = x.size(1), N = weight.size(0);
    auto y = torch::empty({M, N}, x.options());
    auto out = torch::empty({M, 1}, x.options());
    dim3 block(TILE, TILE);
    dim3 grid((N + TILE - 1) / TILE, (M + TILE - 1) / TILE);
    linear_kernel<<<grid, block>>>(x.data_ptr<float>(), weight.data_ptr<float>(), bias.data_ptr<float>(),
                                   y.data_ptr<float>(), M, K, N);
    logsumexp_kernel<<<M, THREADS>>>(y.data_ptr<float>(), out.data_ptr<float>(), N);
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Linear + logsumexp forward (CUDA)");
}
