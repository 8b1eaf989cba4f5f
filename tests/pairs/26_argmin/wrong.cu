#include <torch/extension.h>
#include <cuda_runtime.h>
#include <vector>

// One warp per output element.
__global__ void argmin_warp_kernel(const float* __restrict__ x, int64_t* __restrict__ out,
                                   const int K, const int inner, const int total) {
    const int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    const int lane = threadIdx.x % 32;
    if (warp >= total) return;
    const float* p = x + (size_t)(warp / inner) * K * inner + warp % inner;

    float best = INFINITY;
    int best_k = 0;
    for (int k = lane; k < K; k += 32) {
        const float v = p[(size_t)k * inner];
        if (v <= best) {
            best = v;
            best_k = k;
        }
    }
    #pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) {
        const float other = __shfl_down_sync(0xffffffff, best, offset);
        const int other_k = __shfl_down_sync(0xffffffff, best_k, offset);
        if (other < best || (other == best && other_k < best_k)) {
            best = other;
            best_k = other_k;
        }
    }
    if (lane == 0) out[warp] = best_k;
}

torch::Tensor forward(torch::Tensor x, int64_t dim) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    x = x.contiguous();
    if (dim < 0) dim += x.dim();
    int outer = 1, inner = 1;
    std::vector<int64_t> sizes;
    for (int64_t i = 0; i < x.dim(); i++) {
        if (i == dim) continue;
        sizes.push_back(x.size(i));
        (i < dim ? outer : inner) *= (int)x.size(i);
    }
    auto out = torch::empty(sizes, x.options().dtype(torch::kInt64));
    const int total = outer * inner;
    const int threads = 256;
    const int blocks = (total * 32 + threads - 1) / threads;
    argmin_warp_kernel<<<blocks, threads>>>(x.data_ptr<float>(), out.data_ptr<int64_t>(),
                                            (int)x.size(dim), inner, total);
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Argmin over a dimension (CUDA)");
}
