#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <cstdint>

constexpr int TX = 32;
constexpr int TY = 16;
constexpr int REG = 32;          // values a thread may keep in registers

// Sum of one double over the TY rows of the block, per column; result in all rows.
__device__ __forceinline__ double column_sum(double v, double (*sh)[TX]) {
    sh[threadIdx.y][threadIdx.x] = v;
    __syncthreads();
#pragma unroll
    for (int o = TY / 2; o > 0; o >>= 1) {
        if (threadIdx.y < o) sh[threadIdx.y][threadIdx.x] += sh[threadIdx.y + o][threadIdx.x];
        __syncthreads();
    }
    const double r = sh[0][threadIdx.x];
    __syncthreads();
    return r;
}

// x: [outer, R, inner], reduce over R. CACHED: R <= TY * REG.
template <bool CACHED>
__global__ void __launch_bounds__(TX * TY)
var_dim1_kernel(const double* __restrict__ x, double* __restrict__ y,
                int R, int64_t inner, int64_t tiles) {
    __shared__ double sh[TY][TX];
    const int64_t outer = blockIdx.x / tiles;
    const int64_t col = (blockIdx.x % tiles) * TX + threadIdx.x;
    const bool ok = col < inner;
    const double* __restrict__ p = x + outer * R * inner + (ok ? col : 0);

    double buf[CACHED ? REG : 1];
    double s = 0.0;
    if (CACHED) {
#pragma unroll
        for (int i = 0; i < REG; ++i) {
            const int r = threadIdx.y + i * TY;
            buf[CACHED ? i : 0] = r < R ? p[(int64_t)r * inner] : 0.0;
            s += buf[CACHED ? i : 0];
        }
    } else {
        for (int r = threadIdx.y; r < R; r += TY) s += p[(int64_t)r * inner];
    }
    const double mean = column_sum(s, sh) / (double)R;

    double q = 0.0;
    if (CACHED) {
#pragma unroll
        for (int i = 0; i < REG; ++i) {
            const int r = threadIdx.y + i * TY;
            if (r < R) {
                const double d = buf[CACHED ? i : 0] - mean;
                q = fma(d, d, q);
            }
        }
    } else {
        for (int r = threadIdx.y; r < R; r += TY) {
            const double d = p[(int64_t)r * inner] - mean;
            q = fma(d, d, q);
        }
    }
    q = column_sum(q, sh);

    if (threadIdx.y == 0 && ok) {
        const double dof = fmax((double)R - 1.0, 0.0);
        y[outer * inner + col] = q / dof;      // 0/0 = nan for R == 1, as torch.var
    }
}

torch::Tensor forward(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda() && x.scalar_type() == torch::kFloat64 && x.dim() == 3,
                "x must be a 3-D float64 CUDA tensor");
    const c10::cuda::CUDAGuard guard(x.device());
    auto xc = x.contiguous();
    const int64_t B = xc.size(0), R = xc.size(1), inner = xc.size(2);
    auto y = torch::empty({B, inner}, xc.options());
    if (y.numel() == 0) return y;
    const int64_t tiles = (inner + TX - 1) / TX;
    const dim3 block(TX, TY);
    const unsigned grid = (unsigned)(B * tiles);
    auto stream = at::cuda::getCurrentCUDAStream();
    if (R <= TY * REG) {
        var_dim1_kernel<true><<<grid, block, 0, stream>>>(
            xc.data_ptr<double>(), y.data_ptr<double>(), (int)R, inner, tiles);
    } else {
        var_dim1_kernel<false><<<grid, block, 0, stream>>>(
            xc.data_ptr<double>(), y.data_ptr<double>(), (int)R, inner, tiles);
    }
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "var over dim 1, double (CUDA)");
}
