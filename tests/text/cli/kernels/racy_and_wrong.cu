// Wrong beside a reference that races: nothing is refuted by values that depend on timing.
// REQUIRES: nvcc
// ARGS: check %s %d/racy.cu --launch %d/racy.toml
// EXIT: 2
// CHECK: unknown: the reference: two legal schedules give different values
// CHECK: but the reference is no measure: two legal schedules give different values
// CHECK-NOT: refuted
__global__ void reverse(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }
