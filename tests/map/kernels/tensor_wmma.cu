// Tensor cores through wmma.
#include <mma.h>

__global__ void wmma_tile(const half* a, const half* b, float* c, int k) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, 16, 16, 16, half, row_major> fa;
  fragment<matrix_b, 16, 16, 16, half, col_major> fb;
  fragment<accumulator, 16, 16, 16, float> fc;
  fill_fragment(fc, 0.0f);
#pragma unroll 1
  for (int i = 0; i < k; i += 16) {  // PLANT loop name=k tensor=2
    load_matrix_sync(fa, a + i, k);
    load_matrix_sync(fb, b + i, k);
    mma_sync(fc, fa, fb, fc);
  }
  store_matrix_sync(c, fc, 16, mem_row_major);
}
