#include <torch/extension.h>
#include <cuda_runtime.h>

// Vectorised ReLU: 4 floats per thread, scalar loop for the remainder.
__global__ void relu_vec4_kernel(const float* __restrict__ input,
                                 float* __restrict__ output,
                                 const int n) {
    const int tid = blockIdx.x * blockDim.x + threadIdx.x;
    const int stride = blockDim.x * gridDim.x;
    const int n4 = n / 4;

    const float4* in4 = reinterpret_cast<const float4*>(input);
    float4* out4 = reinterpret_cast<float4*>(output);

    for (int i = tid; i < n4; i += stride) {
        float4 v = __ldg(&in4[i]);
        out4[i] = make_float4(v.x, v.y, v.z, v.w);
    }

    for (int i = n4 * 4 + tid; i < n; i += stride) {
        output[i] = fmaxf(input[i], 0.0f);
    }
}

torch::Tensor forward(torch::Tensor input) {
    TORCH_CHECK(input.is_cuda(), "input must be a CUDA tensor");
    TORCH_CHECK(input.scalar_type() == torch::kFloat32, "input must be float32");
    input = input.contiguous();
    auto output = torch::empty_like(input);

    const int n = input.numel();
    const int threads = 256;
    const int blocks = std::min((n / 4 + threads - 1) / threads, 65535);

    relu_vec4_kernel<<<blocks, threads>>>(
        input.data_ptr<float>(), output.data_ptr<float>(), n);
    return output;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "ReLU forward (CUDA)");
}
