// Three loops in one another, none unrolled.
__global__ void nested(const float* x, float* y, int a, int b, int c) {
  float s = 0;
#pragma unroll 1
  for (int i = 0; i < a; ++i) {  // PLANT loop name=outer
    float t = x[i];  // PLANT line loads=1x4 in=outer
#pragma unroll 1
    for (int j = 0; j < b; ++j) {  // PLANT loop name=middle in=outer
      float u = x[a + j] * t;  // PLANT line loads=1x4 fp32=1 in=middle
#pragma unroll 1
      for (int k = 0; k < c; ++k) {  // PLANT loop name=inner in=middle
        s += sinf(x[k] + u);  // PLANT line in=inner
      }
    }
  }
  y[threadIdx.x] = s;  // PLANT line stores=1x4
}
