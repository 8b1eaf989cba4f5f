#include <torch/extension.h>
#include <cuda_runtime.h>
#include <math.h>

__global__ void l1_norm_kernel(const float* __restrict__ x, float* __restrict__ out, const int D) {
    extern __shared__ float sdata[];
    const int tid = threadIdx.x;
    const float* in = x + (size_t)blockIdx.x * D;
    float* o = out + (size_t)blockIdx.x * D;

    float sum = 0.0f;
    for (int c = tid; c < D; c += blockDim.x) {
        sum += fabsf(in[c]);
    }
    sdata[tid] = sum;
    __syncthreads();

    for (unsigned int stride = blockDim.x >> 1; stride > 0; stride >>= 1) {
        if (tid < stride) {
            sdata[tid] += sdata[tid + stride];
        }
        __syncthreads();
    }

    const float total = sdata[0];
    for (int c = tid; c < D; c += blockDim.x) {
        o[c] = in[c] / total;
    }
}

torch::Tensor forward(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    TORCH_CHECK(x.dim() == 2, "expected a 2D tensor");
    x = x.contiguous();
    auto out = torch::empty_like(x);
    const int N = x.size(0);
    const int D = x.size(1);
    const int threads = 1024;
    l1_norm_kernel<<<N, threads, threads * sizeof(float)>>>(x.data_ptr<float>(), out.data_ptr<float>(), D);
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "L1 normalization (CUDA)");
}
