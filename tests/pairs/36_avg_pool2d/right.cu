#include <torch/extension.h>
#include <cuda_runtime.h>

template <typename scalar_t>
__global__ void avg_pool2d_kernel(const scalar_t* __restrict__ input, scalar_t* __restrict__ output,
                                  int N, int C, int H, int W, int outH, int outW,
                                  int K, int S, int P) {
    const int index = blockIdx.x * blockDim.x + threadIdx.x;
    const int total = N * C * outH * outW;
    if (index >= total) return;

    const int w_out = index % outW;
    const int h_out = (index / outW) % outH;
    const int c = (index / (outW * outH)) % C;
    const int n = index / (outW * outH * C);

    const int h_start = h_out * S - P;
    const int w_start = w_out * S - P;

    scalar_t sum = scalar_t(0);
    for (int i = 0; i < K; i++) {
        for (int j = 0; j < K; j++) {
            const int h = h_start + i;
            const int w = w_start + j;
            if (h >= 0 && h < H && w >= 0 && w < W) {
                sum += input[((n * C + c) * H + h) * W + w];
            }
        }
    }
    output[index] = sum / static_cast<scalar_t>(K * K);
}

torch::Tensor forward(torch::Tensor x, int kernel_size, int stride, int padding) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    TORCH_CHECK(x.dim() == 4, "x must be a 4D tensor");
    const int N = x.size(0), C = x.size(1), H = x.size(2), W = x.size(3);
    const int outH = (H + 2 * padding - kernel_size) / stride + 1;
    const int outW = (W + 2 * padding - kernel_size) / stride + 1;
    auto x_cont = x.contiguous();
    auto out = torch::empty({N, C, outH, outW}, x.options());
    const int threads = 256;
    const int blocks = (N * C * outH * outW + threads - 1) / threads;
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "avg_pool2d_kernel", ([&] {
        avg_pool2d_kernel<scalar_t><<<blocks, threads>>>(
            x_cont.data_ptr<scalar_t>(), out.data_ptr<scalar_t>(),
            N, C, H, W, outH, outW, kernel_size, stride, padding);
    }));
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "AvgPool2d forward (CUDA)");
}
