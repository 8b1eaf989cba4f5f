#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <cuda_runtime.h>
#include <math.h>

#define SEGMENT 4096

// Stage 1: each block squares and sums one segment of one row into partial[row][segment].
__global__ void l2_partial_kernel(const float* __restrict__ x, float* __restrict__ partial,
                                  const int D, const int segments) {
    __shared__ float smem[256];
    const int row = blockIdx.y, seg = blockIdx.x, tid = threadIdx.x;
    const int begin = seg * SEGMENT;
    const int end = min(begin + SEGMENT, D);
    const float* p = x + (size_t)row * D;

    float s = 0.0f;
    for (int i = begin + tid; i < end; i += blockDim.x) s += p[i] * p[i];
    smem[tid] = s;
    __syncthreads();
    for (int k = 128; k > 0; k >>= 1) {
        if (tid < k) smem[tid] += smem[tid + k];
        __syncthreads();
    }
    if (tid == 0) partial[row * segments + seg] = smem[0];
}

// Stage 2: every block adds the partial sums of its row and scales its segment.
__global__ void l2_scale_kernel(const float* __restrict__ x, const float* __restrict__ partial,
                                float* __restrict__ y, const int D, const int segments) {
    const int row = blockIdx.y, seg = blockIdx.x;
    float total = 0.0f;
    for (int k = 0; k < segments; k++) total += partial[row * segments + k];
    const float norm = sqrtf(total);

    const int end = min((seg + 1) * SEGMENT, D);
    for (int i = seg * SEGMENT + threadIdx.x; i < end; i += blockDim.x) {
        y[(size_t)row * D + i] = x[(size_t)row * D + i] / norm;
    }
}

torch::Tensor forward(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
    TORCH_CHECK(x.dim() == 2, "x must be 2D");
    x = x.contiguous();
    const int N = x.size(0);
    const int D = x.size(1);
    const int segments = (D + SEGMENT - 1) / SEGMENT;
    auto y = torch::empty_like(x);
    auto partial = torch::empty({N, segments}, x.options());
    auto stream = at::cuda::getCurrentCUDAStream();

    const dim3 grid(segments, N);
    l2_partial_kernel<<<grid, 256, 0, stream>>>(x.data_ptr<float>(), partial.data_ptr<float>(), D, segments);
    l2_scale_kernel<<<grid, 256, 0, stream>>>(x.data_ptr<float>(), partial.data_ptr<float>(),
                                              y.data_ptr<float>(), D, segments);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "L2 normalization (CUDA)");
}
