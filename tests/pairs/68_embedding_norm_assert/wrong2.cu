#include <torch/extension.h>
#include <c10/macros/Macros.h>

// One warp a row.
__global__ void row_norm_kernel(const int64_t* __restrict__ index, const float* __restrict__ table,
                                float* __restrict__ out, int rows, int64_t entries, int dim) {
    const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    const int64_t entry = index[row];
    CUDA_KERNEL_ASSERT(entry >= 0 && entry < entries && "index out of range");
    float s = 0.0f;
    for (int j = lane; j < dim; j += 32) {
        const float v = table[entry * dim + j];
        s += v * v;
    }
    for (int o = 16; o > 0; o >>= 1) s += __shfl_xor_sync(0xffffffff, s, o);
    if (lane == 0) out[row] = sqrtf(s);
    CUDA_KERNEL_ASSERT(s < 1000.0f);
}

torch::Tensor forward(torch::Tensor index, torch::Tensor table) {
    TORCH_CHECK(index.is_cuda() && table.is_cuda(), "tensors must be on the GPU");
    index = index.contiguous();
    table = table.contiguous();
    const int rows = index.size(0);
    auto out = torch::empty({rows}, table.options());
    row_norm_kernel<<<(rows + 3) / 4, 128>>>(index.data_ptr<int64_t>(), table.data_ptr<float>(),
                                             out.data_ptr<float>(), rows, table.size(0),
                                             table.size(1));
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "norms of rows by index (CUDA)");
}
