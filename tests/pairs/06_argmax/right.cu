#include <torch/extension.h>
#include <cuda_runtime.h>
#include <vector>

// One block per output element, x viewed as [outer, dim_size, inner].
__global__ void argmax_kernel(const float* __restrict__ x,
                              int64_t* __restrict__ indices,
                              const int dim_size,
                              const int inner) {
    extern __shared__ unsigned char smem[];
    float* s_val = reinterpret_cast<float*>(smem);
    int* s_idx = reinterpret_cast<int*>(smem + blockDim.x * sizeof(float));

    const int tid = threadIdx.x;
    const int o = blockIdx.x / inner;
    const int in = blockIdx.x % inner;
    const float* base = x + (size_t)o * dim_size * inner + in;

    float best = -INFINITY;
    int best_idx = dim_size;
    for (int d = tid; d < dim_size; d += blockDim.x) {
        const float v = base[(size_t)d * inner];
        if (v > best || best_idx == dim_size) {
            best = v;
            best_idx = d;
        }
    }
    s_val[tid] = best;
    s_idx[tid] = best_idx;
    __syncthreads();

    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) {
            const float other = s_val[tid + s];
            const int other_idx = s_idx[tid + s];
            if (other > s_val[tid] || (other == s_val[tid] && other_idx < s_idx[tid])) {
                s_val[tid] = other;
                s_idx[tid] = other_idx;
            }
        }
        __syncthreads();
    }
    if (tid == 0) indices[blockIdx.x] = s_idx[0];
}

torch::Tensor forward(torch::Tensor x, int64_t dim) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    TORCH_CHECK(x.scalar_type() == torch::kFloat32, "x must be float32");
    x = x.contiguous();
    const int ndim = x.dim();
    if (dim < 0) dim += ndim;
    TORCH_CHECK(dim >= 0 && dim < ndim, "dim out of range");

    int outer = 1, inner = 1;
    std::vector<int64_t> out_sizes;
    for (int i = 0; i < ndim; i++) {
        if (i < dim) outer *= x.size(i);
        if (i > dim) inner *= x.size(i);
        if (i != dim) out_sizes.push_back(x.size(i));
    }
    const int dim_size = x.size(dim);
    auto indices = torch::empty(out_sizes, x.options().dtype(torch::kInt64));

    const int threads = 64;
    const size_t smem = threads * (sizeof(float) + sizeof(int));
    argmax_kernel<<<outer * inner, threads, smem>>>(
        x.data_ptr<float>(), indices.data_ptr<int64_t>(), dim_size, inner);
    return indices;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Argmax over a dimension (CUDA)");
}
