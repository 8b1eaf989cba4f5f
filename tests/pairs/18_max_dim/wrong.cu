#include <torch/extension.h>
#include <cuda_runtime.h>
#include <vector>

#define ROWS 8

// Block of 32 x ROWS threads: 32 neighbouring columns, ROWS strided slices of the reduced dimension.
__global__ void max_reduce_kernel(const float* __restrict__ input, float* __restrict__ output,
                                  const int dim_size, const int inner_size) {
    __shared__ float tile[ROWS][32];
    const int col = blockIdx.x * 32 + threadIdx.x;
    const float* base = input + (size_t)blockIdx.y * dim_size * inner_size;

    float m = 0.0f;
    if (col < inner_size) {
        for (int d = threadIdx.y; d < dim_size; d += ROWS) {
            m = fmaxf(m, base[(size_t)d * inner_size + col]);
        }
    }
    tile[threadIdx.y][threadIdx.x] = m;
    __syncthreads();

    if (threadIdx.y == 0 && col < inner_size) {
        #pragma unroll
        for (int r = 1; r < ROWS; r++) m = fmaxf(m, tile[r][threadIdx.x]);
        output[(size_t)blockIdx.y * inner_size + col] = m;
    }
}

torch::Tensor forward(torch::Tensor input, int64_t dim) {
    TORCH_CHECK(input.is_cuda(), "input must be a CUDA tensor");
    input = input.contiguous();
    if (dim < 0) dim += input.dim();
    int outer = 1, inner = 1;
    std::vector<int64_t> out_sizes;
    for (int64_t i = 0; i < input.dim(); i++) {
        if (i < dim) outer *= input.size(i);
        else if (i > dim) inner *= input.size(i);
        if (i != dim) out_sizes.push_back(input.size(i));
    }
    auto output = torch::empty(out_sizes, input.options());
    dim3 block(32, ROWS);
    dim3 grid((inner + 31) / 32, outer);
    max_reduce_kernel<<<grid, block>>>(input.data_ptr<float>(), output.data_ptr<float>(),
                                       (int)input.size(dim), inner);
    return output;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Max reduction over a dimension (CUDA)");
}
