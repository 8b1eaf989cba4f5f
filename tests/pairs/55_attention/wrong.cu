#include <torch/extension.h>
#include <cuda_runtime.h>
#include <math.h>

#define HEAD_DIM 64
#define BC 32

// Streaming attention: one thread per query row, keys and values in tiles of BC rows.
__global__ void flash_attention_kernel(const float* __restrict__ q, const float* __restrict__ k,
                                       const float* __restrict__ v, float* __restrict__ out,
                                       const int S, const float scale) {
    __shared__ float ks[BC][HEAD_DIM];
    __shared__ float vs[BC][HEAD_DIM];
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    const size_t head = (size_t)blockIdx.y * S * HEAD_DIM;

    float qr[HEAD_DIM];
    float acc[HEAD_DIM];
    #pragma unroll
    for (int d = 0; d < HEAD_DIM; d++) {
        qr[d] = row < S ? q[head + (size_t)row * HEAD_DIM + d] : 0.0f;
        acc[d] = 0.0f;
    }
    float m = -INFINITY, l = 0.0f;

    for (int j0 = 0; j0 < S; j0 += BC) {
        for (int i = threadIdx.x; i < BC * HEAD_DIM; i += blockDim.x) {
            const int r = i / HEAD_DIM, d = i % HEAD_DIM;
            const bool ok = j0 + r < S;
            ks[r][d] = ok ? k[head + (size_t)(j0 + r) * HEAD_DIM + d] : 0.0f;
            vs[r][d] = ok ? v[head + (size_t)(j0 + r) * HEAD_DIM + d] : 0.0f;
        }
        __syncthreads();

        float s[BC];
        float m_new = m;
        for (int r = 0; r < BC; r++) {
            float dot = 0.0f;
            #pragma unroll
            for (int d = 0; d < HEAD_DIM; d++) dot = fmaf(qr[d], ks[r][d], dot);
            s[r] = j0 + r < S ? dot * scale : -INFINITY;
            m_new = fmaxf(m_new, s[r]);
        }
        l *= expf(m - m_new);
        for (int r = 0; r < BC; r++) {
            const float p = expf(s[r] - m_new);
            l += p;
            #pragma unroll
            for (int d = 0; d < HEAD_DIM; d++) acc[d] = fmaf(p, vs[r][d], acc[d]);
        }
        m = m_new;
        __syncthreads();
    }

    if (row < S) {
        const float inv_l = 1.0f / l;
        #pragma unroll
        for (int d = 0; d < HEAD_DIM; d++) out[head + (size_t)row * HEAD_DIM + d] = acc[d] * inv_l;
    }
}

torch::Tensor forward(torch::Tensor q, torch::Tensor k, torch::Tensor v) {
    TORCH_CHECK(q.is_cuda() && k.is_cuda() && v.is_cuda(), "inputs must be CUDA tensors");
    TORCH_CHECK(q.size(3) == HEAD_DIM, "head_dim must be 64");
    q = q.contiguous();
    k = k.contiguous();
    v = v.contiguous();
    const int B = q.size(0), H = q.size(1), S = q.size(2);
    auto out = torch::empty_like(q);
    const int threads = 64;
    dim3 grid((S + threads - 1) / threads, B * H);
    flash_attention_kernel<<<grid, threads>>>(q.data_ptr<float>(), k.data_ptr<float>(), v.data_ptr<float>(),
                                              out.data_ptr<float>(), S, 1.0f / sqrtf((float)HEAD_DIM));
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &forward, "Attention forward (CUDA)");
}
