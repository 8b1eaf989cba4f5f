#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void row_mean_kernel(const float* __restrict__ x, float* __restrict__ out, const int cols) {
    extern __shared__ float sdata[];
    const int tid = threadIdx.x;
    const float* row = x + (size_t)blockIdx.x * cols;

    float sum = 0.0f;
    #pragma unroll 4
    for (int i = tid; i < cols; i += blockDim.x) {
        sum += row[i];
    }
    sdata[tid] = sum;
    __syncthreads();

    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) {
            sdata[tid] += sdata[tid + s];
        }
        __syncthreads();
    }
    if (tid == 0) out[blockIdx.x] = sdata[0] / cols;
}

torch::Tensor forward(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    TORCH_CHECK(x.dim() == 2, "x must be 2D");
    x = x.contiguous();
    const int rows = x.size(0);
    const int cols = x.size(1);
    auto out = torch::empty({rows}, x.options());
    const int threads = 192;
    row_mean_kernel<<<rows, threads, threads * sizeof(float)>>>(
        x.data_ptr<float>(), out.data_ptr<float>(), cols);
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Row mean (CUDA)");
}
