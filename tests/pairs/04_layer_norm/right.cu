#include <torch/extension.h>
#include <cuda_runtime.h>

__inline__ __device__ float warpReduceSum(float val) {
    for (int offset = warpSize / 2; offset > 0; offset /= 2) {
        val += __shfl_down_sync(0xffffffff, val, offset);
    }
    return val;
}

__inline__ __device__ float blockReduceSum(float val, float* shared) {
    int lane = threadIdx.x % warpSize;
    int wid = threadIdx.x / warpSize;

    val = warpReduceSum(val);
    __syncthreads();
    if (lane == 0) shared[wid] = val;
    __syncthreads();

    val = (threadIdx.x < blockDim.x / warpSize) ? shared[lane] : 0.0f;
    if (wid == 0) val = warpReduceSum(val);
    if (threadIdx.x == 0) shared[0] = val;
    __syncthreads();
    return shared[0];
}

__global__ void layer_norm_kernel(const float* __restrict__ x,
                                  const float* __restrict__ weight,
                                  const float* __restrict__ bias,
                                  float* __restrict__ out,
                                  const int features,
                                  const float eps) {
    __shared__ float shared[32];
    const float* row_in = x + (size_t)blockIdx.x * features;
    float* row_out = out + (size_t)blockIdx.x * features;

    float sum = 0.0f;
    for (int i = threadIdx.x; i < features; i += blockDim.x) {
        sum += row_in[i];
    }
    const float mean = blockReduceSum(sum, shared) / features;

    float sq = 0.0f;
    for (int i = threadIdx.x; i < features; i += blockDim.x) {
        const float d = row_in[i] - mean;
        sq += d * d;
    }
    const float var = blockReduceSum(sq, shared) / features;
    const float inv_std = rsqrtf(var + eps);

    for (int i = threadIdx.x; i < features; i += blockDim.x) {
        row_out[i] = (row_in[i] - mean) * inv_std * weight[i] + bias[i];
    }
}

torch::Tensor forward(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, double eps) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    TORCH_CHECK(weight.numel() == x.size(-1), "weight size mismatch");
    TORCH_CHECK(bias.numel() == x.size(-1), "bias size mismatch");
    x = x.contiguous();
    auto out = torch::empty_like(x);

    const int features = x.size(-1);
    const int rows = x.numel() / features;
    const int threads = 256;

    layer_norm_kernel<<<rows, threads>>>(
        x.data_ptr<float>(), weight.data_ptr<float>(), bias.data_ptr<float>(),
        out.data_ptr<float>(), features, static_cast<float>(eps));
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "LayerNorm forward (CUDA)");
}
