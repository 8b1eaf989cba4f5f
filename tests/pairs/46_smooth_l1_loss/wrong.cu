#include <torch/extension.h>
#include <cuda_runtime.h>

__device__ __forceinline__ float huber(float d) {
    return d < 1.0f ? 0.5f * d * d : d - 0.5f;
}

__global__ void smooth_l1_vec4_kernel(const float4* __restrict__ p, const float4* __restrict__ t,
                                      float* __restrict__ block_sums, const int n4) {
    extern __shared__ float sdata[];
    const int tid = threadIdx.x;
    float acc = 0.0f;
    for (int i = blockIdx.x * blockDim.x + tid; i < n4; i += gridDim.x * blockDim.x) {
        const float4 a = __ldg(&p[i]);
        const float4 b = __ldg(&t[i]);
        acc += huber(a.x - b.x) + huber(a.y - b.y) + huber(a.z - b.z) + huber(a.w - b.w);
    }
    sdata[tid] = acc;
    __syncthreads();
    for (unsigned s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) sdata[tid] += sdata[tid + s];
        __syncthreads();
    }
    if (tid == 0) block_sums[blockIdx.x] = sdata[0];
}

torch::Tensor forward(torch::Tensor predictions, torch::Tensor targets) {
    TORCH_CHECK(predictions.is_cuda() && targets.is_cuda(), "inputs must be CUDA tensors");
    TORCH_CHECK(predictions.numel() % 4 == 0, "numel must be a multiple of 4");
    predictions = predictions.contiguous();
    targets = targets.contiguous();
    const int n = predictions.numel();
    const int threads = 256, blocks = 256;
    auto sums = torch::empty({blocks}, predictions.options());
    smooth_l1_vec4_kernel<<<blocks, threads, threads * sizeof(float)>>>(
        reinterpret_cast<const float4*>(predictions.data_ptr<float>()),
        reinterpret_cast<const float4*>(targets.data_ptr<float>()), sums.data_ptr<float>(), n / 4);
    return sums.sum() / n;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Smooth L1 loss forward (CUDA)");
}
