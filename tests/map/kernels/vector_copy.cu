// Accesses of 16 bytes in a grid-stride loop.
__global__ void vector_copy(const float4* __restrict__ in, float4* __restrict__ out, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
       i += gridDim.x * blockDim.x)  // loop head over two lines
    out[i] = in[i];  // PLANT line loads_width=16 stores_width=16
}
