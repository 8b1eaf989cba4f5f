#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void avg_pool2d_kernel(const float* __restrict__ x, float* __restrict__ y,
                                  int total, int H, int W, int OH, int OW, int K, int stride, int pad) {
    for (int idx = blockIdx.x * blockDim.x + threadIdx.x; idx < total; idx += blockDim.x * gridDim.x) {
        int ow = idx % OW;
        int t = idx / OW;
        int oh = t % OH;
        int plane = t / OH;

        int hs = oh * stride - pad, ws = ow * stride - pad;
        int he = min(hs + K, H), we = min(ws + K, W);
        hs = max(hs, 0);
        ws = max(ws, 0);

        const float* p = x + (size_t)plane * H * W;
        float sum = 0.0f;
        for (int h = hs; h < he; h++)
            for (int w = ws; w < we; w++)
                sum += p[h * W + w];
        y[idx] = sum / ((he - hs) * (we - ws));
    }
}

torch::Tensor forward(torch::Tensor x, int64_t kernel_size, int64_t stride, int64_t padding) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    x = x.contiguous();
    int N = x.size(0), C = x.size(1), H = x.size(2), W = x.size(3);
    int OH = (H + 2 * padding - kernel_size) / stride + 1;
    int OW = (W + 2 * padding - kernel_size) / stride + 1;
    auto y = torch::empty({N, C, OH, OW}, x.options());
    int total = y.numel();
    int threads = 256;
    int blocks = std::min((total + threads - 1) / threads, 4096);
    avg_pool2d_kernel<<<blocks, threads>>>(x.data_ptr<float>(), y.data_ptr<float>(), total,
                                           H, W, OH, OW, kernel_size, stride, padding);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "AvgPool2d forward (CUDA)");
}
