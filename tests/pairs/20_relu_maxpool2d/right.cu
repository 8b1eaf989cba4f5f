#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void relu_maxpool2d_kernel(const float* __restrict__ x,
                                      float* __restrict__ y,
                                      const int planes,
                                      const int H, const int W,
                                      const int OH, const int OW,
                                      const int k, const int stride, const int pad) {
    const int ow = blockIdx.x * blockDim.x + threadIdx.x;
    const int oh = blockIdx.y * blockDim.y + threadIdx.y;
    const int plane = blockIdx.z;
    if (ow >= OW || oh >= OH || plane >= planes) return;

    const float* in = x + (size_t)plane * H * W;
    // max over ReLU(x) is at least 0, so the running maximum can start there
    float best = 0.0f;
    for (int i = 0; i < k; i++) {
        const int h = oh * stride - pad + i;
        if (h < 0 || h >= H) continue;
        for (int j = 0; j < k; j++) {
            const int w = ow * stride - pad + j;
            if (w < 0 || w >= W) continue;
            best = fmaxf(best, in[h * W + w]);
        }
    }
    y[((size_t)plane * OH + oh) * OW + ow] = best;
}

torch::Tensor forward(torch::Tensor x, int64_t kernel_size, int64_t stride, int64_t padding) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    TORCH_CHECK(x.dim() == 4, "x must be 4D");
    x = x.contiguous();
    const int N = x.size(0), C = x.size(1), H = x.size(2), W = x.size(3);
    const int OH = (H + 2 * padding - kernel_size) / stride + 1;
    const int OW = (W + 2 * padding - kernel_size) / stride + 1;
    auto y = torch::empty({N, C, OH, OW}, x.options());

    dim3 block(16, 16);
    dim3 grid((OW + 15) / 16, (OH + 15) / 16, N * C);
    relu_maxpool2d_kernel<<<grid, block>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), N * C, H, W, OH, OW,
        (int)kernel_size, (int)stride, (int)padding);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "ReLU + MaxPool2d forward (CUDA)");
}
