#include <torch/extension.h>
#include <cuda_runtime.h>
#include <vector>

// One warp per output element.
__global__ void linear_scale_hardtanh_kernel(const float* __restrict__ x, const float* __restrict__ weight,
                                             const float* __restrict__ scale, float* __restrict__ out,
                                             const int batch, const int in_features, const int out_features) {
    const int warp_id = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
    const int lane = threadIdx.x & 31;
    if (warp_id >= batch * out_features) return;
    const int b = warp_id / out_features;
    const int o = warp_id % out_features;

    float sum = 0.0f;
    for (int i = lane; i < in_features; i += 32) {
        sum += x[b * in_features + i] * weight[o * in_features + i];
    }
    #pragma unroll
    for (int offset = 16; offset > 0; offset >>= 1) sum += __shfl_down_sync(0xffffffff, sum, offset);
    if (lane == 0) {
        out[warp_id] = fmaxf(-1.0f, fminf(1.0f, sum * scale[o]));
    }
}

torch::Tensor forward(torch::Tensor x, torch::Tensor weight, torch::Tensor scale) {
    for (const auto& t : std::vector<torch::Tensor>{x, weight, scale}) {
        TORCH_CHECK(t.is_cuda(), "all inputs must be CUDA tensors");
        TORCH_CHECK(t.is_contiguous(), "all inputs must be contiguous");
    }
    const int batch = x.size(0), in_features = x.size(1), out_features = weight.size(0);
    const std::vector<int64_t> shape = {batch, out_features};
    auto out = torch::empty(shape, x.options());
    const int threads = 256;
    const int warps = batch * out_features;
    const int blocks = (warps * 32 + threads - 1) / threads;
    linear_scale_hardtanh_kernel<<<blocks, threads>>>(
        x.data_ptr<float>(), weight.data_ptr<float>(), scale.data_ptr<float>(), out.data_ptr<float>(),
        batch, in_features, out_features);
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Linear + scale + HardTanh forward (CUDA)");
}
