#include <torch/extension.h>
#include <cuda_runtime.h>
#include <cfloat>
#include <vector>

#define THREADS 128

__global__ void argmax_kernel(const float* __restrict__ x,
                              int64_t* __restrict__ indices,
                              const int dim_size,
                              const int inner) {
    __shared__ float s_val[THREADS];
    __shared__ int s_idx[THREADS];

    const int tid = threadIdx.x;
    const int outer_idx = blockIdx.x / inner;
    const int inner_idx = blockIdx.x % inner;
    const float* base = x + outer_idx * dim_size * inner + inner_idx;

    float max_val = -FLT_MAX;
    int max_idx = 0;
    for (int d = tid; d < dim_size; d += THREADS) {
        float v = __ldg(base + d * inner);
        if (v > max_val) {
            max_val = v;
            max_idx = d;
        }
    }
    s_val[tid] = max_val;
    s_idx[tid] = max_idx;
    __syncthreads();

    for (int s = THREADS / 2; s > 0; s >>= 1) {
        if (tid < s) {
            if (s_val[tid + s] > s_val[tid]) {
                s_val[tid] = s_val[tid + s];
                s_idx[tid] = s_idx[tid + s];
            }
        }
        __syncthreads();
    }

    if (tid == 0) {
        indices[blockIdx.x] = static_cast<int64_t>(s_idx[0]);
    }
}

torch::Tensor forward(torch::Tensor x, int64_t dim) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    TORCH_CHECK(x.dim() > 0, "x must have at least one dimension");
    auto input = x.contiguous();
    const int64_t ndim = input.dim();
    dim = dim < 0 ? dim + ndim : dim;

    const auto sizes = input.sizes();
    int64_t outer = 1, inner = 1;
    for (int64_t i = 0; i < dim; i++) outer *= sizes[i];
    for (int64_t i = dim + 1; i < ndim; i++) inner *= sizes[i];

    std::vector<int64_t> out_shape(sizes.begin(), sizes.end());
    out_shape.erase(out_shape.begin() + dim);
    auto indices = torch::empty(out_shape, input.options().dtype(torch::kLong));

    argmax_kernel<<<outer * inner, THREADS>>>(
        input.data_ptr<float>(), indices.data_ptr<int64_t>(), (int)sizes[dim], (int)inner);
    return indices;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Argmax over a dimension (CUDA)");
}
