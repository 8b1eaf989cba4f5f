#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void apply_mask_kernel(float* __restrict__ x, const bool* __restrict__ mask, const int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && !mask[i]) {
        x[i] = 0.0f;
    }
}

__global__ void cumsum_kernel(const float* __restrict__ x, float* __restrict__ out, const int L) {
    __shared__ float buf[2][1024];
    const int tid = threadIdx.x;
    const size_t row = (size_t)blockIdx.x * L;

    int cur = 0;
    buf[0][tid] = tid < L ? x[row + tid] : 0.0f;
    __syncthreads();
    for (int d = 1; d < blockDim.x; d <<= 1) {
        const int nxt = cur ^ 1;
        buf[nxt][tid] = tid >= d ? buf[cur][tid] + buf[cur][tid - d] : buf[cur][tid];
        cur = nxt;
        __syncthreads();
    }
    if (tid < L) out[row + tid] = buf[cur][tid];
}

torch::Tensor forward(torch::Tensor x, torch::Tensor mask, int64_t dim) {
    TORCH_CHECK(x.is_cuda() && mask.is_cuda(), "inputs must be CUDA tensors");
    TORCH_CHECK(x.dim() == 2 && dim == 1, "only dim 1 of a 2-D tensor");
    TORCH_CHECK(x.size(1) <= 1024, "rows of at most 1024 elements");
    x = x.contiguous();
    mask = mask.contiguous();
    auto out = torch::empty_like(x);
    const int n = x.numel();
    apply_mask_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), mask.data_ptr<bool>(), n);
    cumsum_kernel<<<x.size(0), 1024>>>(x.data_ptr<float>(), out.data_ptr<float>(), (int)x.size(1));
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Masked cumulative sum (CUDA)");
}
