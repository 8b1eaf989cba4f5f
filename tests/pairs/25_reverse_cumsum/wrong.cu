#include <torch/extension.h>
#include <cuda_runtime.h>

#define BLOCK 256

// reverse_cumsum[i] = total - cumsum[i] + x[i]
__global__ void reverse_cumsum_kernel(const float* __restrict__ x, float* __restrict__ out, const int length) {
    __shared__ float seg[BLOCK];
    const int tid = threadIdx.x;
    const float* in = x + (size_t)blockIdx.x * length;
    float* o = out + (size_t)blockIdx.x * length;

    const int per = (length + BLOCK - 1) / BLOCK;
    const int lo = min(tid * per, length);
    const int hi = min(lo + per, length);

    float s = 0.0f;
    for (int i = lo; i < hi; i++) s += in[i];
    seg[tid] = s;
    __syncthreads();

    float before = 0.0f, total = 0.0f;
    for (int t = 0; t < BLOCK; t++) {
        const float v = seg[t];
        if (t < tid) before += v;
        total += v;
    }

    float run = before;
    for (int i = lo; i < hi; i++) {
        run += in[i];
        o[i] = total - run;
    }
}

torch::Tensor forward(torch::Tensor x, int64_t dim) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    TORCH_CHECK(x.dim() == 2 && dim == 1, "expected dim 1 of a 2-D tensor");
    x = x.contiguous();
    auto out = torch::empty_like(x);
    reverse_cumsum_kernel<<<x.size(0), BLOCK>>>(x.data_ptr<float>(), out.data_ptr<float>(), (int)x.size(1));
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Reverse cumulative sum (CUDA)");
}
