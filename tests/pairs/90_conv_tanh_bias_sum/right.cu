#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <cstdint>

// One pass: a block makes a 16x16 tile of the single output channel; the whole
// filter bank and the input tile of all 16 channels sit in shared memory.
constexpr int CIN = 16;
constexpr int COUT = 32;
constexpr int T = 16;
constexpr int HALO = T + 2;
constexpr int OCB = 8;         // output channels accumulated at a time

__global__ void __launch_bounds__(T * T)
conv_tanh_bias_sum_kernel(const float* __restrict__ x, const float* __restrict__ bias,
                          const float* __restrict__ w, const float* __restrict__ conv_bias,
                          float* __restrict__ y, int H, int W, int OH, int OW, int tiles_x, int tiles_y) {
    __shared__ float xs[CIN][HALO][HALO];
    __shared__ __align__(16) float ws[CIN][9][COUT];
    __shared__ __align__(16) float cb[COUT];
    __shared__ float bsum;

    const int tid = threadIdx.x;
    const int tx = tid % T, ty = tid / T;
    const int bx = blockIdx.x % tiles_x;
    const int by = (blockIdx.x / tiles_x) % tiles_y;
    const int64_t n = blockIdx.x / (tiles_x * tiles_y);
    const int ox0 = bx * T, oy0 = by * T;
    const float* __restrict__ xn = x + n * CIN * (int64_t)H * W;

    for (int t = tid; t < CIN * HALO * HALO; t += T * T) {
        const int ic = t / (HALO * HALO);
        const int rem = t % (HALO * HALO);
        const int r = rem / HALO, c = rem % HALO;
        const int iy = oy0 + r, ix = ox0 + c;
        xs[ic][r][c] = (iy < H && ix < W) ? __ldg(xn + ((int64_t)ic * H + iy) * W + ix) : 0.f;
    }
    for (int t = tid; t < COUT * CIN * 9; t += T * T) {      // [oc][ic][tap] -> [ic][tap][oc]
        const int tap = t % 9, ic = (t / 9) % CIN, oc = t / (9 * CIN);
        ws[ic][tap][oc] = __ldg(w + t);
    }
    if (tid < 32) {
        cb[tid] = __ldg(conv_bias + tid);
        float v = __ldg(bias + tid);
#pragma unroll
        for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(0xffffffffu, v, o);
        if (tid == 0) bsum = v;
    }
    __syncthreads();

    float total = 0.f;
#pragma unroll 1
    for (int oc0 = 0; oc0 < COUT; oc0 += OCB) {
        float acc[OCB];
#pragma unroll
        for (int o = 0; o < OCB; ++o) acc[o] = cb[oc0 + o];
#pragma unroll 2
        for (int ic = 0; ic < CIN; ++ic) {
#pragma unroll
            for (int tap = 0; tap < 9; ++tap) {
                const float v = xs[ic][ty + tap / 3][tx + tap % 3];
                const float4 w0 = *reinterpret_cast<const float4*>(&ws[ic][tap][oc0]);
                const float4 w1 = *reinterpret_cast<const float4*>(&ws[ic][tap][oc0 + 4]);
                acc[0] = fmaf(v, w0.x, acc[0]);
                acc[1] = fmaf(v, w0.y, acc[1]);
                acc[2] = fmaf(v, w0.z, acc[2]);
                acc[3] = fmaf(v, w0.w, acc[3]);
                acc[4] = fmaf(v, w1.x, acc[4]);
                acc[5] = fmaf(v, w1.y, acc[5]);
                acc[6] = fmaf(v, w1.z, acc[6]);
                acc[7] = fmaf(v, w1.w, acc[7]);
            }
        }
#pragma unroll
        for (int o = 0; o < OCB; ++o) total += tanhf(acc[o]);
    }

    const int oy = oy0 + ty, ox = ox0 + tx;
    if (oy < OH && ox < OW) y[(n * OH + oy) * OW + ox] = total + bsum;
}

torch::Tensor forward(torch::Tensor x, torch::Tensor bias, torch::Tensor conv_weight, torch::Tensor conv_bias) {
    TORCH_CHECK(x.is_cuda() && x.scalar_type() == torch::kFloat32 && x.dim() == 4 && x.size(1) == CIN,
                "x must be [N, 16, H, W] float32 CUDA");
    TORCH_CHECK(conv_weight.dim() == 4 && conv_weight.size(0) == COUT && conv_weight.size(1) == CIN &&
                conv_weight.size(2) == 3 && conv_weight.size(3) == 3, "weight must be [32, 16, 3, 3]");
    TORCH_CHECK(bias.numel() == COUT && conv_bias.numel() == COUT, "32 biases expected");
    TORCH_CHECK(x.size(2) >= 3 && x.size(3) >= 3, "input smaller than the kernel");
    const c10::cuda::CUDAGuard guard(x.device());
    auto xc = x.contiguous(), bc = bias.contiguous(), wc = conv_weight.contiguous(), cc = conv_bias.contiguous();
    const int64_t N = xc.size(0);
    const int H = (int)xc.size(2), W = (int)xc.size(3);
    const int OH = H - 2, OW = W - 2;
    auto y = torch::empty({N, 1, OH, OW}, xc.options());
    if (y.numel() == 0) return y;
    const int tiles_x = (OW + T - 1) / T, tiles_y = (OH + T - 1) / T;
    const int64_t blocks = N * tiles_x * tiles_y;
    TORCH_CHECK(blocks <= 2147483647, "input too large");
    conv_tanh_bias_sum_kernel<<<(unsigned)blocks, T * T, 0, at::cuda::getCurrentCUDAStream()>>>(
        xc.data_ptr<float>(), bc.data_ptr<float>(), wc.data_ptr<float>(), cc.data_ptr<float>(),
        y.data_ptr<float>(), H, W, OH, OW, tiles_x, tiles_y);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "conv + tanh + bias + channel sum (CUDA)");
}
