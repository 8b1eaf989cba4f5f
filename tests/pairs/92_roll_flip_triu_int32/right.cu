#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <cstdint>

constexpr int SHIFT_H = 37;
constexpr int SHIFT_W = -11;
constexpr int DIAGONAL = 1;

// out[b, i, j] = j - i >= DIAGONAL ? x[b, (i - SHIFT_H) mod H, (W - 1 - j - SHIFT_W) mod W] : 0
// sh, sw: the shifts reduced to [0, H) and [0, W).
template <bool VEC>
__global__ void __launch_bounds__(256)
roll_flip_triu_kernel(const int* __restrict__ x, int* __restrict__ y,
                      int H, int W, int sh, int sw, int quads, int64_t total) {
    const int64_t stride = (int64_t)gridDim.x * blockDim.x;
    for (int64_t t = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; t < total; t += stride) {
        const int j0 = (int)(t % quads) * 4;
        const int64_t row = t / quads;          // b * H + i
        const int i = (int)(row % H);
        const int64_t b = row / H;

        int v[4] = {0, 0, 0, 0};
        if ((int64_t)j0 + 3 - i >= DIAGONAL) {  // whole quads below the diagonal read nothing
            int si = i - sh;
            if (si < 0) si += H;
            const int* __restrict__ src = x + (b * H + si) * (int64_t)W;
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                const int j = j0 + k;
                if (j < W && j - i >= DIAGONAL) {
                    int sj = W - 1 - j - sw;
                    if (sj < 0) sj += W;
                    v[k] = __ldg(src + sj);
                }
            }
        }
        int* __restrict__ dst = y + row * (int64_t)W + j0;
        if (VEC) {
            *reinterpret_cast<int4*>(dst) = make_int4(v[0], v[1], v[2], v[3]);
        } else {
#pragma unroll
            for (int k = 0; k < 4; ++k)
                if (j0 + k < W) dst[k] = v[k];
        }
    }
}

torch::Tensor forward(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda() && x.scalar_type() == torch::kInt32 && x.dim() == 3, "x must be 3-D int32 CUDA");
    const c10::cuda::CUDAGuard guard(x.device());
    auto xc = x.contiguous();
    auto y = torch::empty_like(xc);
    if (y.numel() == 0) return y;
    const int64_t B = xc.size(0);
    const int H = (int)xc.size(1), W = (int)xc.size(2);
    const int sh = ((SHIFT_H % H) + H) % H;
    const int sw = ((SHIFT_W % W) + W) % W;
    const int quads = (W + 3) / 4;
    const int64_t total = B * H * quads;
    const int threads = 256;
    const int blocks = (int)std::min<int64_t>((total + threads - 1) / threads, 1 << 20);
    auto stream = at::cuda::getCurrentCUDAStream();
    if (W % 4 == 0) {
        roll_flip_triu_kernel<true><<<blocks, threads, 0, stream>>>(
            xc.data_ptr<int>(), y.data_ptr<int>(), H, W, sh, sw, quads, total);
    } else {
        roll_flip_triu_kernel<false><<<blocks, threads, 0, stream>>>(
            xc.data_ptr<int>(), y.data_ptr<int>(), H, W, sh, sw, quads, total);
    }
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "roll + flip + triu, int32 (CUDA)");
}
