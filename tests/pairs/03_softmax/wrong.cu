#include <torch/extension.h>
#include <cuda_runtime.h>
#include <cfloat>

template <int BLOCK>
__global__ void softmax_kernel(const float* __restrict__ input, float* __restrict__ output, int dim) {
    __shared__ float buf[BLOCK];
    const int tid = threadIdx.x;
    const float* in = input + blockIdx.x * dim;
    float* out = output + blockIdx.x * dim;

    float m = -FLT_MAX;
    for (int i = tid; i < dim; i += BLOCK) m = fmaxf(m, in[i]);
    buf[tid] = m;
    __syncthreads();

    #pragma unroll
    for (int s = BLOCK / 2; s > 0; s >>= 1) {
        if (tid < s) buf[tid] = fmaxf(buf[tid], buf[tid + s]);
        __syncthreads();
    }
    const float row_max = buf[0];

    float acc = 0.0f;
    for (int i = tid; i < dim; i += BLOCK) acc += __expf(in[i] - row_max);
    buf[tid] = acc;
    __syncthreads();

    #pragma unroll
    for (int s = BLOCK / 2; s > 0; s >>= 1) {
        if (tid < s) buf[tid] += buf[tid + s];
        __syncthreads();
    }
    const float inv_sum = 1.0f / buf[0];

    for (int i = tid; i < dim; i += BLOCK) out[i] = __expf(in[i] - row_max) * inv_sum;
}

torch::Tensor forward(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    TORCH_CHECK(x.dim() == 2, "x must be 2-D");
    auto input = x.contiguous();
    auto output = torch::empty_like(input);
    constexpr int kBlock = 512;
    softmax_kernel<kBlock><<<input.size(0), kBlock>>>(
        input.data_ptr<float>(), output.data_ptr<float>(), (int)input.size(1));
    return output;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Row softmax (CUDA)");
}
