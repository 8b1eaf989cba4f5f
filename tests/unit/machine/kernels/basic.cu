// Sources of basic.ptx: nvcc -ptx -arch=sm_90 -std=c++17 -O3 basic.cu
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <stdint.h>

extern "C" {

__global__ void vadd(const float* a, const float* b, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

__global__ void relu(const float* a, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = a[i];
  c[i] = v > 0 ? v : 0;
}

__global__ void vadd4(const float4* a, const float4* b, float4* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float4 x = a[i], y = b[i];
    c[i] = make_float4(x.x + y.x, x.y * y.y, x.z - y.z, fmaf(x.w, y.w, 1.f));
  }
}

__global__ void grid_stride(const float* a, float* c, int n, float s) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    c[i] = a[i] * s + (float)i;
}

__global__ void matmul(const float* A, const float* B, float* C, int M, int K, int N) {
  __shared__ float As[16][16], Bs[16][17];
  int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
  float acc = 0;
  for (int t = 0; t < (K + 15) / 16; ++t) {
    int ac = t * 16 + threadIdx.x, br = t * 16 + threadIdx.y;
    As[threadIdx.y][threadIdx.x] = row < M && ac < K ? A[row * K + ac] : 0.f;
    Bs[threadIdx.y][threadIdx.x] = br < K && col < N ? B[br * N + col] : 0.f;
    __syncthreads();
    for (int k = 0; k < 16; ++k) acc += As[threadIdx.y][k] * Bs[k][threadIdx.x];
    __syncthreads();
  }
  if (row < M && col < N) C[row * N + col] = acc;
}

__global__ void regtile(const float* A, const float* B, float* C, int M, int K, int N) {
  __shared__ float As[8][32], Bs[8][32];
  int tid = threadIdx.x, tr = tid / 8, tc = tid % 8;
  int row0 = blockIdx.y * 32, col0 = blockIdx.x * 32;
  float acc[4][4] = {};
  for (int t = 0; t < K / 8; ++t) {
    for (int i = tid; i < 32 * 8; i += blockDim.x) {
      int r = i / 8, c = i % 8;
      As[c][r] = row0 + r < M ? A[(row0 + r) * K + t * 8 + c] : 0.f;
    }
    for (int i = tid; i < 8 * 32; i += blockDim.x) {
      int r = i / 32, c = i % 32;
      Bs[r][c] = col0 + c < N ? B[(t * 8 + r) * N + col0 + c] : 0.f;
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 8; ++k)
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) acc[i][j] += As[k][tr * 4 + i] * Bs[k][tc * 4 + j];
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) {
      int r = row0 + tr * 4 + i, c = col0 + tc * 4 + j;
      if (r < M && c < N) C[r * N + c] = acc[i][j];
    }
}

__device__ float warp_sum(float v) {
  for (int o = 16; o; o >>= 1) v += __shfl_down_sync(~0u, v, o);
  return v;
}

__global__ void softmax(const float* x, float* y, int n) {
  __shared__ float part[32];
  const float* xr = x + blockIdx.x * n;
  float m = -INFINITY;
  for (int i = threadIdx.x; i < n; i += blockDim.x) m = fmaxf(m, xr[i]);
  for (int o = 16; o; o >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, o));
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = m;
  __syncthreads();
  m = part[0];
  for (int w = 1; w < blockDim.x / 32; ++w) m = fmaxf(m, part[w]);
  __syncthreads();
  float s = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) s += __expf(xr[i] - m);
  s = warp_sum(s);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;
  __syncthreads();
  s = 0;
  for (int w = 0; w < blockDim.x / 32; ++w) s += part[w];
  for (int i = threadIdx.x; i < n; i += blockDim.x) y[blockIdx.x * n + i] = __expf(xr[i] - m) / s;
}

__global__ void reduce_volatile(const float* x, float* y, int n) {
  extern __shared__ float s[];
  int t = threadIdx.x;
  float v = 0;
  for (int i = t; i < n; i += blockDim.x) v += x[blockIdx.x * n + i];
  s[t] = v;
  __syncthreads();
  for (int o = blockDim.x / 2; o > 32; o >>= 1) {
    if (t < o) s[t] += s[t + o];
    __syncthreads();
  }
  if (t < 32) {
    volatile float* q = s;
    q[t] += q[t + 32];
    q[t] += q[t + 16];
    q[t] += q[t + 8];
    q[t] += q[t + 4];
    q[t] += q[t + 2];
    q[t] += q[t + 1];
  }
  if (t == 0) y[blockIdx.x] = s[0];
}

__global__ void argmax(const float* x, int64_t* out, int n) {
  __shared__ float sv[64];
  __shared__ int si[64];
  int t = threadIdx.x;
  float best = -INFINITY;
  int bi = n;
  for (int d = t; d < n; d += blockDim.x) {
    float v = x[blockIdx.x * n + d];
    if (v > best || bi == n) { best = v; bi = d; }
  }
  sv[t] = best;
  si[t] = bi;
  __syncthreads();
  for (int s = blockDim.x / 2; s; s >>= 1) {
    if (t < s) {
      float o = sv[t + s];
      int oi = si[t + s];
      if (o > sv[t] || (o == sv[t] && oi < si[t])) { sv[t] = o; si[t] = oi; }
    }
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = si[0];
}

__global__ void layernorm(const float* x, const float* g, const float* b, float* y, int n, float eps) {
  __shared__ float part[2];
  float s = 0, q = 0;
  for (int i = threadIdx.x; i < n; i += 32) {
    float v = x[blockIdx.x * n + i];
    s += v;
    q += v * v;
  }
  s = warp_sum(s);
  q = warp_sum(q);
  if (threadIdx.x == 0) {
    part[0] = s / n;
    part[1] = rsqrtf(q / n - part[0] * part[0] + eps);
  }
  __syncwarp();
  for (int i = threadIdx.x; i < n; i += 32)
    y[blockIdx.x * n + i] = (x[blockIdx.x * n + i] - part[0]) * part[1] * g[i] + b[i];
}

__global__ void transpose(const float* a, float* b, int rows, int cols) {
  __shared__ float t[32][33];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8)
    if (x < cols && y + j < rows) t[threadIdx.y + j][threadIdx.x] = a[(y + j) * cols + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x;
  y = blockIdx.x * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8)
    if (x < rows && y + j < cols) b[(y + j) * rows + x] = t[threadIdx.x][threadIdx.y + j];
}

__global__ void maxpool(const float* x, float* y, int h, int w, int oh, int ow) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= oh * ow) return;
  int r = i / ow * 2 - 1, c = i % ow * 2 - 1;
  float m = -INFINITY;
  for (int a = 0; a < 3; ++a)
    for (int b = 0; b < 3; ++b) {
      int rr = r + a, cc = c + b;
      if (rr >= 0 && rr < h && cc >= 0 && cc < w) {
        float v = x[rr * w + cc];
        if (v > m) m = v;
      }
    }
  y[i] = m;
}

__global__ void nested_if(const float* x, const float* z, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i], u = z[i], r = 0.5f;
  if (v > 0.25f) {
    if (u < v) {
      r = v * u;
      y[i + n] = r;
    } else if (u > 2 * v || i % 3 == 0) {
      r = u - v;
    }
  } else {
    if (i % 2) r = sqrtf(fabsf(u)); else y[i + n] = u;
  }
  if (r > 1.0f && u > 0) y[i + 2 * n] = r;
  y[i] = r;
}

__global__ void bounded_loop(const float* x, float* y, int n, int steps) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i], acc = 0;
  int k = 0;
  for (; k < steps; ++k) {
    if (acc > 3.0f) break;
    acc += v;
    v = v * 0.75f + 0.125f;
  }
  y[i] = acc;
  y[i + n] = (float)k;
}

__global__ void early_exit(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  if (v < 0) return;
  y[i] = v + 1;
  if (v < 0.5f) { y[i] = v * 3; return; }
  y[i] *= 2;
}

__global__ void scan(const float* x, float* y, int n) {
  __shared__ float s[2][128];
  int t = threadIdx.x, p = 0;
  s[0][t] = t < n ? x[blockIdx.x * n + t] : 0.f;
  __syncthreads();
  for (int o = 1; o < 128; o *= 2) {
    s[1 - p][t] = t >= o ? s[p][t] + s[p][t - o] : s[p][t];
    p = 1 - p;
    __syncthreads();
  }
  if (t < n) y[blockIdx.x * n + t] = s[p][t];
}

__global__ void atomic_sum(const float* x, float* y, int* count, int n) {
  __shared__ float s;
  if (threadIdx.x == 0) s = 0;
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    atomicAdd(&s, x[i]);
    atomicAdd(count, 1);
    atomicMax(count + 1, (int)x[i]);
  }
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(y, s);
}

__global__ void ints(const int* a, const unsigned* b, int* c, long long* d, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int x = a[i];
  unsigned y = b[i];
  c[i] = x / (int)(y % 7 + 1) + x % 13 + (x >> (y & 31)) + (int)(y >> 3) - __popc(y) + __clz(x) +
         __brev(x) + __ffs(y) + min(x, 5) + max((int)y, -9) + abs(x) + (x << 3);
  d[i] = (long long)x * (int)y + (((long long)x << 20) ^ y) + __mulhi(x, (int)y) + __umulhi(x, y) +
         (long long)(x & 0xff00) * 3 - (long long)(y | 5u) + __byte_perm(x, y, 0x6153) +
         __funnelshift_l(x, y, 11) + __dp4a(x, (int)y, 7) + __sad(x, (int)y, y) + __mul24(x, (int)y);
}

__global__ void doubles(const double* x, const float* f, double* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double v = x[i];
  y[i] = v > 1 ? sqrt(v) + f[i] : fma(v, v, (double)f[i]) / (fabs(v) + 1);
}

__global__ void halves(const __half* x, const __half* z, __half* y, float* f, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  __half v = __hfma(x[i], z[i], __float2half(0.5f));
  f[i] = __half2float(v) * 2 + __half2float(__hmax(x[i], z[i]));
  y[i] = __hadd(v, __hneg(x[i]));
}

__global__ void half2s(const __half2* x, const __half2* z, __half2* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  __half2 v = __hfma2(x[i], z[i], __float2half2_rn(0.5f));
  __half2 w = __lowhigh2highlow(v);
  y[i] = __hmul2(w, __habs2(x[i]));
}

__global__ void bfloats(const __nv_bfloat16* x, __nv_bfloat16* y, float* f, int n) {
  __shared__ __nv_bfloat16 s[64];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) s[threadIdx.x] = x[i];
  __syncthreads();
  if (i >= n) return;
  float v = __bfloat162float(s[threadIdx.x ^ 1]);
  f[i] = v * 3;
  y[i] = __float2bfloat16(v + 1);
  if (i % 2 == 0) f[i + n] = __bfloat162float(reinterpret_cast<__nv_bfloat162*>(s)[threadIdx.x / 2].y);
}

__global__ void bytes(const uint8_t* x, const int8_t* z, uint8_t* y, short* h, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int v = x[i] * 3 + z[i];
  y[i] = (uint8_t)v;
  h[i] = (short)(v - 400);
}

__device__ __noinline__ float poly(float x, int n) {
  float r = 1;
  for (int i = 0; i < n; ++i) r = r * x + (float)i;
  return r;
}
struct Pair { float a; int b; float c[3]; };
__device__ __noinline__ Pair make_pair(float x, int k) {
  Pair p;
  p.a = x * 2;
  p.b = k + 1;
  for (int i = 0; i < 3; ++i) p.c[i] = x + k * i;
  return p;
}

__global__ void calls(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = poly(x[i], 4);
  if (i & 1) v += poly(v * 0.125f, 2);
  Pair p = make_pair(v, i);
  y[i] = p.a + p.b + p.c[0] * p.c[2];
}

__global__ void locals(const float* x, float* y, int n, int k) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float a[8];
  for (int j = 0; j < 8; ++j) a[(j * k + i) & 7] = x[i] * j;
  float s = 0;
  for (int j = 0; j < 8; ++j) s = s * 2 + a[(j + k) & 7];
  y[i] = s;
}

__constant__ float table[16];
__device__ float scale_var = 2.5f;

__global__ void constants(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * table[i & 15] + scale_var;
}

__global__ void switches(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  switch (i % 7) {
    case 0: v += 1; break;
    case 1: v *= 3; break;
    case 2: v = v * v; break;
    case 3: v = -v; break;
    case 4: v = fabsf(v); break;
    case 5: v = v / 3; break;
  }
  y[i] = v;
}

__global__ void votes(const float* x, int* y, float* z, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = x[i];
  int any = __any_sync(~0u, v > 0.9f), all = __all_sync(~0u, v > -0.9f);
  unsigned even = __ballot_sync(~0u, i % 3 == 0);
  y[i] = any * 2 + all + (__popc(even) << 4);
  z[i] = __shfl_sync(~0u, v, (i * 7) & 31) + __shfl_up_sync(~0u, v, 3, 8);
}

__global__ void sign_bits(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int b = __float_as_int(x[i]);
  y[i] = __int_as_float(b & 0x7fffffff) + __int_as_float(b ^ 0x80000000);
  y[i + n] = (float)((b >> 23) & 0xff);
}

}  // extern "C"
