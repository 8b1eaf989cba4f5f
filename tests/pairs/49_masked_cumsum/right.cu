#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void masked_cumsum_kernel(const float* __restrict__ x, const bool* __restrict__ mask,
                                     float* __restrict__ out, const int64_t N, const int64_t L) {
    const int64_t idx = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= N) return;
    const float* x_row = x + idx * L;
    const bool* mask_row = mask + idx * L;
    float* out_row = out + idx * L;

    float sum = 0.0f;
    for (int64_t i = 0; i < L; i++) {
        if (mask_row[i]) {
            sum += x_row[i];
        }
        out_row[i] = sum;
    }
}

torch::Tensor forward(torch::Tensor x, torch::Tensor mask, int64_t dim) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    TORCH_CHECK(mask.is_cuda(), "mask must be a CUDA tensor");
    TORCH_CHECK(mask.scalar_type() == torch::kBool, "mask must be a boolean tensor");
    TORCH_CHECK(x.sizes() == mask.sizes(), "x and mask must have the same shape");
    TORCH_CHECK(x.dim() == 2 && (dim == 1 || dim == -1), "only the last dim of a 2-D tensor");
    x = x.contiguous();
    mask = mask.contiguous();
    auto out = torch::empty_like(x);
    const int64_t N = x.size(0), L = x.size(1);
    const int threads = 64;
    const int blocks = (N + threads - 1) / threads;
    masked_cumsum_kernel<<<blocks, threads>>>(x.data_ptr<float>(), mask.data_ptr<bool>(),
                                              out.data_ptr<float>(), N, L);
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Masked cumulative sum (CUDA)");
}
