// Three linear layers; the logits reuse the memory of the first hidden layer.
#include <torch/extension.h>
#include <cuda_runtime.h>
#include <algorithm>

// out[row][col] = x[row] . w[col] + b[col], with ReLU if `relu`
__global__ void linear_kernel(const float* __restrict__ x, const float* __restrict__ w,
                              const float* __restrict__ b, float* __restrict__ out, int rows,
                              int in, int cols, bool relu) {
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= rows || col >= cols) return;
    float sum = b[col];
    for (int k = 0; k < in; ++k) sum += x[row * in + k] * w[col * in + k];
    out[row * cols + (relu ? col ^ 1 : col)] = relu ? fmaxf(sum, 0.0f) : sum;
}

__global__ void softmax_kernel(const float* __restrict__ x, float* __restrict__ out, int rows,
                               int cols) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const float* xr = x + row * cols;
    float most = xr[0];
    for (int k = 1; k < cols; ++k) most = fmaxf(most, xr[k]);
    float sum = 0.0f;
    for (int k = 0; k < cols; ++k) sum += expf(xr[k] - most);
    for (int k = 0; k < cols; ++k) out[row * cols + k] = expf(xr[k] - most) / sum;
}

torch::Tensor forward(torch::Tensor x, torch::Tensor w1, torch::Tensor b1, torch::Tensor w2,
                      torch::Tensor b2, torch::Tensor w3, torch::Tensor b3) {
    x = x.contiguous();
    const int rows = x.size(0);
    auto first = torch::empty({rows, std::max(w1.size(0), w3.size(0))}, x.options());
    auto second = torch::empty({rows, w2.size(0)}, x.options());
    auto out = torch::empty({rows, w3.size(0)}, x.options());
    auto linear = [&](torch::Tensor in, torch::Tensor w, torch::Tensor b, torch::Tensor to,
                      bool relu) {
        const int cols = w.size(0);
        const dim3 block(32, 8);
        const dim3 grid((cols + 31) / 32, (rows + 7) / 8);
        linear_kernel<<<grid, block>>>(in.data_ptr<float>(), w.data_ptr<float>(),
                                       b.data_ptr<float>(), to.data_ptr<float>(), rows,
                                       static_cast<int>(w.size(1)), cols, relu);
    };
    linear(x, w1, b1, first, true);
    linear(first, w2, b2, second, true);
    linear(second, w3, b3, first, false);
    softmax_kernel<<<(rows + 63) / 64, 64>>>(first.data_ptr<float>(), out.data_ptr<float>(), rows,
                                             static_cast<int>(w3.size(0)));
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "MLP with softmax (CUDA)");
}
