#include <torch/extension.h>
#include <cuda_runtime.h>
#include <math.h>

#define THREADS_PER_BLOCK 256

__global__ void softmax_kernel(const float* __restrict__ x, float* __restrict__ y, int num_features) {
    const int row = blockIdx.x;
    const int tid = threadIdx.x;

    const float* x_row = x + row * num_features;
    float* y_row = y + row * num_features;

    extern __shared__ float sdata[];

    // Pass 1: row maximum
    float max_val = -INFINITY;
    for (int i = tid; i < num_features; i += blockDim.x) {
        max_val = fmaxf(max_val, x_row[i]);
    }
    sdata[tid] = max_val;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) {
            sdata[tid] = fmaxf(sdata[tid], sdata[tid + s]);
        }
        __syncthreads();
    }
    max_val = sdata[0];
    __syncthreads();

    // Pass 2: exponentials and their sum
    float sum = 0.0f;
    for (int i = tid; i < num_features; i += blockDim.x) {
        float e = expf(x_row[i] - max_val);
        y_row[i] = e;
        sum += e;
    }
    sdata[tid] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) {
            sdata[tid] += sdata[tid + s];
        }
        __syncthreads();
    }
    sum = sdata[0];

    // Pass 3: normalise
    for (int i = tid; i < num_features; i += blockDim.x) {
        y_row[i] = y_row[i] / sum;
    }
}

torch::Tensor forward(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda(), "Input tensor must be a CUDA tensor");
    TORCH_CHECK(x.dim() == 2, "Input tensor must be 2D");
    TORCH_CHECK(x.scalar_type() == torch::kFloat32, "Input tensor must be float32");
    x = x.contiguous();

    const int batch_size = x.size(0);
    const int num_features = x.size(1);
    auto y = torch::empty_like(x);

    dim3 block_dim(THREADS_PER_BLOCK);
    dim3 grid_dim(batch_size);
    size_t shared_mem = THREADS_PER_BLOCK * sizeof(float);

    softmax_kernel<<<grid_dim, block_dim, shared_mem>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), num_features);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Softmax forward (CUDA)");
}
