#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void conv1d_relu_kernel(const float* __restrict__ x,
                                   const float* __restrict__ weight,
                                   const float* __restrict__ bias,
                                   float* __restrict__ y,
                                   const int IC, const int OC, const int L,
                                   const int OL, const int K) {
    extern __shared__ float s_weight[];  // IC * K weights of one output channel
    const int oc = blockIdx.y;
    const int n = blockIdx.z;

    for (int i = threadIdx.x; i < IC * K; i += blockDim.x) {
        s_weight[i] = weight[oc * IC * K + i];
    }
    __syncthreads();

    const int ol = blockIdx.x * blockDim.x + threadIdx.x;
    if (ol >= OL) return;

    float acc = bias[oc];
    const float* xn = x + (size_t)n * IC * L + ol;
    for (int ic = 0; ic < IC; ic++) {
        for (int k = 0; k < K; k++) {
            acc += xn[ic * L + k] * s_weight[ic * K + k];
        }
    }
    y[((size_t)n * OC + oc) * OL + ol] = fmaxf(acc, 0.0f);
}

torch::Tensor forward(torch::Tensor x, torch::Tensor weight, torch::Tensor bias) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    TORCH_CHECK(weight.is_cuda(), "weight must be a CUDA tensor");
    TORCH_CHECK(bias.is_cuda(), "bias must be a CUDA tensor");
    TORCH_CHECK(x.size(1) == weight.size(1), "channel mismatch");
    x = x.contiguous();
    weight = weight.contiguous();

    const int N = x.size(0), IC = x.size(1), L = x.size(2);
    const int OC = weight.size(0), K = weight.size(2);
    const int OL = L - K + 1;
    auto y = torch::empty({N, OC, OL}, x.options());

    const int threads = 128;
    dim3 grid((OL + threads - 1) / threads, OC, N);
    conv1d_relu_kernel<<<grid, threads, IC * K * sizeof(float)>>>(
        x.data_ptr<float>(), weight.data_ptr<float>(), bias.data_ptr<float>(), y.data_ptr<float>(),
        IC, OC, L, OL, K);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Conv1d + ReLU forward (CUDA)");
}
