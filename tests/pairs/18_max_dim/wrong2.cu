#include <torch/extension.h>
#include <cuda_runtime.h>
#include <vector>

__global__ void max_dim_kernel(const float* __restrict__ x, float* __restrict__ out,
                               int outer, int dim_size, int inner) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= outer * inner) return;
    int o = idx / inner;
    int i = idx - o * inner;

    float running_max = -1e10f;
    #pragma unroll 8
    for (int d = 0; d < dim_size; d++) {
        running_max = fmaxf(running_max, __ldg(&x[(o * dim_size + d) * inner + i]));
    }
    out[idx] = running_max;
}

torch::Tensor forward(torch::Tensor x, int64_t dim) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    x = x.contiguous();
    const int nd = x.dim();
    if (dim < 0) dim += nd;
    int outer = 1, inner = 1;
    for (int i = 0; i < dim; i++) outer *= x.size(i);
    for (int i = dim + 1; i < nd; i++) inner *= x.size(i);
    std::vector<int64_t> shape = x.sizes().vec();
    shape.erase(shape.begin() + dim);
    auto out = torch::empty(shape, x.options());
    const int threads = 128;
    const int blocks = (outer * inner + threads - 1) / threads;
    max_dim_kernel<<<blocks, threads>>>(x.data_ptr<float>(), out.data_ptr<float>(),
                                        outer, x.size(dim), inner);
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Max reduction over a dimension (CUDA)");
}
