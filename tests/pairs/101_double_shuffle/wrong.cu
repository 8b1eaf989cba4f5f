#include <torch/extension.h>

__device__ double warp_sum(double v) {
    for (int o = 16; o > 1; o >>= 1) v += __shfl_down_sync(0xffffffffu, v, o);
    return v;
}

__global__ void mean_kernel(const float* __restrict__ x, float* __restrict__ y, int columns) {
    __shared__ double of_warps[2];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    float s = 0.0f;
    for (int k = threadIdx.x; k < columns; k += 64) s += x[blockIdx.x * columns + k];
    double sum = warp_sum(s);
    if (lane == 0) of_warps[warp] = sum;
    __syncthreads();
    if (warp > 0) return;
    sum = warp_sum(lane < 2 ? of_warps[lane] : 0.0);
    if (lane == 0) y[blockIdx.x] = sum / columns;
}

torch::Tensor forward(torch::Tensor x) {
    auto y = torch::empty({x.size(0)}, x.options());
    mean_kernel<<<x.size(0), 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
