#include <torch/extension.h>
#include <cuda_runtime.h>
#include <math.h>

// One warp per row; only the first i + 1 elements of row i take part.
__global__ void causal_softmax_kernel(const float* __restrict__ x, float* __restrict__ y,
                                      const int rows, const int T) {
    const int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    const int valid = row % T + 1;
    const float* in = x + (size_t)row * T;
    float* out = y + (size_t)row * T;

    float m = -INFINITY;
    for (int j = threadIdx.x; j < valid; j += 32) m = fmaxf(m, in[j]);
    #pragma unroll
    for (int o = 16; o > 0; o >>= 1) m = fmaxf(m, __shfl_xor_sync(0xffffffff, m, o));

    float sum = 0.0f;
    for (int j = threadIdx.x; j < valid; j += 32) sum += expf(in[j] - m);
    #pragma unroll
    for (int o = 16; o > 0; o >>= 1) sum += __shfl_xor_sync(0xffffffff, sum, o);

    for (int j = threadIdx.x; j < T; j += 32) {
        out[j] = j < valid ? expf(in[j] - m) / sum : 0.0f;
    }
}

torch::Tensor forward(torch::Tensor scores) {
    TORCH_CHECK(scores.is_cuda(), "scores must be a CUDA tensor");
    TORCH_CHECK(scores.size(-1) == scores.size(-2), "scores must be square");
    scores = scores.contiguous();
    auto out = torch::empty_like(scores);
    const int T = scores.size(-1);
    const int rows = scores.numel() / T;
    dim3 block(32, 4);
    causal_softmax_kernel<<<(rows + 3) / 4, block>>>(scores.data_ptr<float>(), out.data_ptr<float>(), rows, T);
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Causal softmax (CUDA)");
}
