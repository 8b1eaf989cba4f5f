#include <torch/extension.h>
#include <cuda_runtime.h>
#include <cfloat>
#include <cstdint>

constexpr int COLS = 32;  // columns of a block, one warp wide so that loads are coalesced
constexpr int ROWS = 8;   // threads that share a column

// Is (v, i) to be preferred to (w, j)? The larger value, NaN above all, then the first index.
__device__ __forceinline__ bool better(float v, int i, float w, int j) {
    const bool v_nan = v != v;
    const bool w_nan = w != w;
    if (v_nan || w_nan) {
        return v_nan && (!w_nan || i < j);
    }
    return v > w || (v == w && i < j);
}

// x: (batch, dim1, dim2) -> out: (batch, dim2)
__global__ void __launch_bounds__(COLS* ROWS)
argmax_dim1_kernel(const float* __restrict__ x, int64_t* __restrict__ out, int dim1, int dim2,
                   int col_blocks) {
    __shared__ float s_value[ROWS][COLS];
    __shared__ int s_index[ROWS][COLS];

    const int tx = threadIdx.x;
    const int ty = threadIdx.y;
    const int64_t batch = blockIdx.x / col_blocks;
    const int col = (blockIdx.x % col_blocks) * COLS + tx;

    float best = FLT_MIN;
    int best_index = 0;
    if (col < dim2) {
        const float* xc = x + batch * dim1 * dim2 + col;
        for (int i = ty; i < dim1; i += ROWS) {
            const float v = xc[static_cast<int64_t>(i) * dim2];
            if (better(v, i, best, best_index)) {
                best = v;
                best_index = i;
            }
        }
    }
    s_value[ty][tx] = best;
    s_index[ty][tx] = best_index;
    __syncthreads();

#pragma unroll
    for (int half = ROWS / 2; half > 0; half >>= 1) {
        if (ty < half) {
            const float v = s_value[ty + half][tx];
            const int i = s_index[ty + half][tx];
            if (better(v, i, s_value[ty][tx], s_index[ty][tx])) {
                s_value[ty][tx] = v;
                s_index[ty][tx] = i;
            }
        }
        __syncthreads();
    }

    if (ty == 0 && col < dim2) {
        out[batch * dim2 + col] = static_cast<int64_t>(s_index[0][tx]);
    }
}

torch::Tensor forward(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    TORCH_CHECK(x.scalar_type() == torch::kFloat32, "x must be float32");
    TORCH_CHECK(x.dim() == 3, "x must have three dimensions");
    TORCH_CHECK(x.size(1) > 0, "dim 1 must not be empty");
    x = x.contiguous();

    const int64_t batch = x.size(0);
    const int dim1 = x.size(1);
    const int dim2 = x.size(2);
    auto out = torch::empty({batch, dim2}, x.options().dtype(torch::kInt64));
    if (out.numel() == 0) {
        return out;
    }

    const int col_blocks = (dim2 + COLS - 1) / COLS;
    const dim3 block(COLS, ROWS);
    const dim3 grid(static_cast<unsigned>(batch * col_blocks));
    argmax_dim1_kernel<<<grid, block>>>(x.data_ptr<float>(), out.data_ptr<int64_t>(), dim1, dim2,
                                        col_blocks);
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "argmax over dim 1 (CUDA)");
}
