#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <cstdint>

constexpr float EPS = 1e-5f;
constexpr int TW = 32;
constexpr int TH = 32;
constexpr int ROWS = 8;
constexpr int RPT = TH / ROWS;      // 4 consecutive output rows per thread

__device__ __forceinline__ float hardswish(float v) {
    return v * fminf(fmaxf(v + 3.f, 0.f), 6.f) * (1.f / 6.f);
}

__global__ void __launch_bounds__(TW * ROWS)
dw3x3_bn_hswish_kernel(const float* __restrict__ x, const float* __restrict__ mean,
                       const float* __restrict__ var, const float* __restrict__ gamma,
                       const float* __restrict__ beta, const float* __restrict__ w,
                       float* __restrict__ y, int C, int H, int W, int tiles_x, int tiles_y) {
    __shared__ float tile[TH + 2][TW + 2];
    const int b = blockIdx.x;
    const int bx = b % tiles_x;
    const int by = (b / tiles_x) % tiles_y;
    const int nc = b / (tiles_x * tiles_y);
    const int c = nc % C;

    const float* __restrict__ src = x + (int64_t)nc * H * W;
    for (int r = threadIdx.y; r < TH + 2; r += ROWS) {
        const int iy = by * TH + r - 1;
        for (int q = threadIdx.x; q < TW + 2; q += TW) {
            const int ix = bx * TW + q - 1;
            tile[r][q] = (iy >= 0 && iy < H && ix >= 0 && ix < W) ? __ldg(src + (int64_t)iy * W + ix) : 0.f;
        }
    }

    float k[9];
#pragma unroll
    for (int i = 0; i < 9; ++i) k[i] = __ldg(w + c * 9 + i);
    const float scale = __ldg(gamma + c) * rsqrtf(__ldg(var + c) + EPS);
    const float shift = fmaf(-__ldg(mean + c), scale, __ldg(beta + c));
    __syncthreads();

    float acc[RPT] = {};
    const int row0 = threadIdx.y * RPT;
#pragma unroll
    for (int r = 0; r < RPT + 2; ++r) {
        const float a0 = tile[row0 + r][threadIdx.x + 0];
        const float a1 = tile[row0 + r][threadIdx.x + 1];
        const float a2 = tile[row0 + r][threadIdx.x + 2];
#pragma unroll
        for (int ky = 0; ky < 3; ++ky) {
            const int o = r - ky;
            if (o >= 0 && o < RPT)
                acc[o] = fmaf(a0, k[ky * 3 + 0], fmaf(a1, k[ky * 3 + 1], fmaf(a2, k[ky * 3 + 2], acc[o])));
        }
    }

    const int ox = bx * TW + threadIdx.x;
    float* __restrict__ dst = y + (int64_t)nc * H * W;
#pragma unroll
    for (int o = 0; o < RPT; ++o) {
        const int oy = by * TH + row0 + o;
        if (oy < H && ox < W) dst[(int64_t)oy * W + ox] = hardswish(fmaf(acc[o], scale, shift));
    }
}

torch::Tensor forward(torch::Tensor x, torch::Tensor running_mean, torch::Tensor running_var,
                      torch::Tensor bn_weight, torch::Tensor bn_bias, torch::Tensor conv_weight) {
    TORCH_CHECK(x.is_cuda() && x.scalar_type() == torch::kFloat32 && x.dim() == 4, "x must be 4-D float32 CUDA");
    TORCH_CHECK(conv_weight.dim() == 4 && conv_weight.size(1) == 1 && conv_weight.size(2) == 3 &&
                conv_weight.size(3) == 3 && conv_weight.size(0) == x.size(1), "3x3 depthwise weight expected");
    const c10::cuda::CUDAGuard guard(x.device());
    auto xc = x.contiguous();
    auto mc = running_mean.contiguous(), vc = running_var.contiguous();
    auto gc = bn_weight.contiguous(), bc = bn_bias.contiguous(), wc = conv_weight.contiguous();
    auto y = torch::empty_like(xc);
    if (y.numel() == 0) return y;
    const int64_t N = xc.size(0);
    const int C = (int)xc.size(1), H = (int)xc.size(2), W = (int)xc.size(3);
    const int tiles_x = (W + TW - 1) / TW, tiles_y = (H + TH - 1) / TH;
    const int64_t blocks = N * C * tiles_x * tiles_y;
    TORCH_CHECK(blocks <= 2147483647, "input too large");
    dw3x3_bn_hswish_kernel<<<(unsigned)blocks, dim3(TW, ROWS), 0, at::cuda::getCurrentCUDAStream()>>>(
        xc.data_ptr<float>(), mc.data_ptr<float>(), vc.data_ptr<float>(), gc.data_ptr<float>(),
        bc.data_ptr<float>(), wc.data_ptr<float>(), y.data_ptr<float>(), C, H, W, tiles_x, tiles_y);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "depthwise conv + batch norm + hardswish (CUDA)");
}
