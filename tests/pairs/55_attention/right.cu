#include <torch/extension.h>
#include <cuda_runtime.h>
#include <math.h>

__global__ void scores_kernel(const float* __restrict__ q, const float* __restrict__ k,
                              float* __restrict__ scores, const int S, const int D, const float scale) {
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    const int i = blockIdx.y * blockDim.y + threadIdx.y;
    const int bh = blockIdx.z;
    if (i >= S || j >= S) return;
    const float* qi = q + ((size_t)bh * S + i) * D;
    const float* kj = k + ((size_t)bh * S + j) * D;
    float dot = 0.0f;
    for (int d = 0; d < D; d++) dot += qi[d] * kj[d];
    scores[((size_t)bh * S + i) * S + j] = dot * scale;
}

__global__ void softmax_inplace_kernel(float* __restrict__ scores, const int S) {
    extern __shared__ float smem[];
    float* row = scores + (size_t)blockIdx.x * S;
    const int tid = threadIdx.x;

    float m = -INFINITY;
    for (int j = tid; j < S; j += blockDim.x) m = fmaxf(m, row[j]);
    smem[tid] = m;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) smem[tid] = fmaxf(smem[tid], smem[tid + s]);
        __syncthreads();
    }
    m = smem[0];
    __syncthreads();

    float sum = 0.0f;
    for (int j = tid; j < S; j += blockDim.x) sum += expf(row[j] - m);
    smem[tid] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) smem[tid] += smem[tid + s];
        __syncthreads();
    }
    const float inv = 1.0f / smem[0];
    for (int j = tid; j < S; j += blockDim.x) row[j] = expf(row[j] - m) * inv;
}

__global__ void weighted_sum_kernel(const float* __restrict__ p, const float* __restrict__ v,
                                    float* __restrict__ out, const int S, const int D) {
    const int row = blockIdx.x;
    const int bh = row / S;
    for (int d = threadIdx.x; d < D; d += blockDim.x) {
        float acc = 0.0f;
        for (int j = 0; j < S; j++) acc += p[(size_t)row * S + j] * v[((size_t)bh * S + j) * D + d];
        out[(size_t)row * D + d] = acc;
    }
}

torch::Tensor forward(torch::Tensor q, torch::Tensor k, torch::Tensor v) {
    TORCH_CHECK(q.is_cuda() && k.is_cuda() && v.is_cuda(), "inputs must be CUDA tensors");
    TORCH_CHECK(q.dim() == 4, "q must be (B, H, S, D)");
    q = q.contiguous();
    k = k.contiguous();
    v = v.contiguous();
    const int B = q.size(0), H = q.size(1), S = q.size(2), D = q.size(3);
    auto scores = torch::empty({B, H, S, S}, q.options());
    auto out = torch::empty_like(q);

    dim3 block(16, 16);
    dim3 grid((S + 15) / 16, (S + 15) / 16, B * H);
    scores_kernel<<<grid, block>>>(q.data_ptr<float>(), k.data_ptr<float>(), scores.data_ptr<float>(),
                                   S, D, 1.0f / sqrtf((float)D));
    softmax_inplace_kernel<<<B * H * S, 128, 128 * sizeof(float)>>>(scores.data_ptr<float>(), S);
    weighted_sum_kernel<<<B * H * S, 64>>>(scores.data_ptr<float>(), v.data_ptr<float>(), out.data_ptr<float>(), S, D);
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Attention forward (CUDA)");
}
