#include <torch/extension.h>
#include <cuda_runtime.h>

__inline__ __device__ float warpReduceSum(float val) {
    for (int offset = warpSize / 2; offset > 0; offset /= 2)
        val += __shfl_down_sync(0xffffffff, val, offset);
    return val;
}

__global__ void sum_all_kernel(const float* __restrict__ x, float* __restrict__ out, const int n) {
    float sum = 0.0f;
    const int n4 = n / 4;
    const float4* x4 = reinterpret_cast<const float4*>(x);
    const int tid = blockIdx.x * blockDim.x + threadIdx.x;
    const int stride = blockDim.x * gridDim.x;
    for (int i = tid; i < n4; i += stride) {
        const float4 v = x4[i];
        sum += (v.x + v.y) + (v.z + v.w);
    }
    for (int i = n4 * 4 + tid; i < n; i += stride) sum += x[i];

    sum = warpReduceSum(sum);
    if ((threadIdx.x & (warpSize - 1)) == 0) atomicAdd(out, sum);
}

torch::Tensor forward(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    TORCH_CHECK(x.scalar_type() == torch::kFloat32, "x must be float32");
    x = x.contiguous();
    auto out = torch::empty({}, x.options());
    cudaMemset(out.data_ptr<float>(), 0, sizeof(float));
    const int n = x.numel();
    const int threads = 256;
    const int blocks = std::min((n / 4 + threads - 1) / threads + 1, 1024);
    sum_all_kernel<<<blocks, threads>>>(x.data_ptr<float>(), out.data_ptr<float>(), n);
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Sum of all elements (CUDA)");
}
