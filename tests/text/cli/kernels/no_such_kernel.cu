// The launch file names a kernel that the source has not.
// REQUIRES: nvcc
// ARGS: check %s %d/old.cu --launch %d/silu.toml
// EXIT: 4
// CHECK: error[invalid]: no kernel "silu" in the PTX; kernels there: gelu
// CHECK: silu.toml:1
__global__ void gelu(float* x) { x[0] = 0; }
