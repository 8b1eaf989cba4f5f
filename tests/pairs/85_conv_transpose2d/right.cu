#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <cstdint>

// ConvTranspose2d, kernel 4, stride 2, padding 1: output is exactly 2H x 2W.
// One thread owns the 2x2 output quad of one input position for COB output
// channels; a quad needs the 3x3 input neighbourhood and all 16 taps once.
constexpr int TI = 16;       // input positions per tile edge
constexpr int COB = 8;       // output channels per block
constexpr int ICB = 8;       // input channels per shared-memory stage
constexpr int HALO = TI + 2;

__global__ void __launch_bounds__(TI * TI)
convt2d_k4s2p1_kernel(const float* __restrict__ x, const float* __restrict__ w,
                      const float* __restrict__ bias, float* __restrict__ y,
                      int Cin, int Cout, int H, int W, int tiles_x) {
    __shared__ float xs[ICB][HALO][HALO + 1];
    __shared__ __align__(16) float ws[ICB][COB][16];

    const int tid = threadIdx.x;
    const int tx = tid % TI, ty = tid / TI;
    const int j0 = (blockIdx.x % tiles_x) * TI;
    const int i0 = (blockIdx.x / tiles_x) * TI;
    const int co0 = blockIdx.y * COB;
    const int n = blockIdx.z;
    const float* __restrict__ xn = x + (int64_t)n * Cin * H * W;

    float acc[COB][4];
#pragma unroll
    for (int c = 0; c < COB; ++c) {
        const float b = co0 + c < Cout ? __ldg(bias + co0 + c) : 0.f;
        acc[c][0] = acc[c][1] = acc[c][2] = acc[c][3] = b;
    }

    for (int ic0 = 0; ic0 < Cin; ic0 += ICB) {
        __syncthreads();
        for (int t = tid; t < ICB * HALO * HALO; t += TI * TI) {
            const int ic = t / (HALO * HALO);
            const int rem = t % (HALO * HALO);
            const int r = rem / HALO, c = rem % HALO;
            const int iy = i0 + r - 1, ix = j0 + c - 1;
            float v = 0.f;
            if (ic0 + ic < Cin && iy >= 0 && iy < H && ix >= 0 && ix < W)
                v = __ldg(xn + ((int64_t)(ic0 + ic) * H + iy) * W + ix);
            xs[ic][r][c] = v;
        }
        for (int t = tid; t < ICB * COB * 16; t += TI * TI) {
            const int tap = t & 15, co = (t >> 4) & (COB - 1), ic = t / (16 * COB);
            float v = 0.f;
            if (ic0 + ic < Cin && co0 + co < Cout)
                v = __ldg(w + ((int64_t)(ic0 + ic) * Cout + co0 + co) * 16 + tap);
            ws[ic][co][tap] = v;
        }
        __syncthreads();

#pragma unroll 2
        for (int ic = 0; ic < ICB; ++ic) {
            float a[3][3];
#pragma unroll
            for (int r = 0; r < 3; ++r)
#pragma unroll
                for (int c = 0; c < 3; ++c) a[r][c] = xs[ic][ty + r][tx + c];
#pragma unroll
            for (int co = 0; co < COB; ++co) {
                const float4 w0 = *reinterpret_cast<const float4*>(&ws[ic][co][0]);
                const float4 w1 = *reinterpret_cast<const float4*>(&ws[ic][co][4]);
                const float4 w2 = *reinterpret_cast<const float4*>(&ws[ic][co][8]);
                const float4 w3 = *reinterpret_cast<const float4*>(&ws[ic][co][12]);
                // even output row/column: taps 1 (same position) and 3 (previous one)
                // odd  output row/column: taps 0 (next position) and 2 (same one)
                acc[co][0] += w1.y * a[1][1] + w1.w * a[1][0] + w3.y * a[0][1] + w3.w * a[0][0];
                acc[co][1] += w1.x * a[1][2] + w1.z * a[1][1] + w3.x * a[0][2] + w3.z * a[0][1];
                acc[co][2] += w0.y * a[2][1] + w0.w * a[2][0] + w2.y * a[1][1] + w2.w * a[1][0];
                acc[co][3] += w0.x * a[2][2] + w0.z * a[2][1] + w2.x * a[1][2] + w2.z * a[1][1];
            }
        }
    }

    const int i = i0 + ty, j = j0 + tx;
    if (i < H && j < W) {
        const int OW = 2 * W, OH = 2 * H;
#pragma unroll
        for (int co = 0; co < COB; ++co) {
            if (co0 + co < Cout) {
                float* __restrict__ dst = y + (((int64_t)n * Cout + co0 + co) * OH + 2 * i) * OW + 2 * j;
                *reinterpret_cast<float2*>(dst) = make_float2(acc[co][0], acc[co][1]);
                *reinterpret_cast<float2*>(dst + OW) = make_float2(acc[co][2], acc[co][3]);
            }
        }
    }
}

torch::Tensor forward(torch::Tensor x, torch::Tensor weight, torch::Tensor bias) {
    TORCH_CHECK(x.is_cuda() && x.scalar_type() == torch::kFloat32 && x.dim() == 4, "x must be 4-D float32 CUDA");
    TORCH_CHECK(weight.dim() == 4 && weight.size(0) == x.size(1) && weight.size(2) == 4 && weight.size(3) == 4,
                "weight must be [Cin, Cout, 4, 4]");
    const c10::cuda::CUDAGuard guard(x.device());
    auto xc = x.contiguous(), wc = weight.contiguous(), bc = bias.contiguous();
    const int N = (int)xc.size(0), Cin = (int)xc.size(1), H = (int)xc.size(2), W = (int)xc.size(3);
    const int Cout = (int)wc.size(1);
    auto y = torch::empty({N, Cout, 2 * H, 2 * W}, xc.options());
    if (y.numel() == 0) return y;
    TORCH_CHECK(N <= 65535, "batch too large");
    const int tiles_x = (W + TI - 1) / TI, tiles_y = (H + TI - 1) / TI;
    const dim3 grid(tiles_x * tiles_y, (Cout + COB - 1) / COB, N);
    convt2d_k4s2p1_kernel<<<grid, TI * TI, 0, at::cuda::getCurrentCUDAStream()>>>(
        xc.data_ptr<float>(), wc.data_ptr<float>(), bc.data_ptr<float>(), y.data_ptr<float>(),
        Cin, Cout, H, W, tiles_x);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "ConvTranspose2d k4 s2 p1 (CUDA)");
}
