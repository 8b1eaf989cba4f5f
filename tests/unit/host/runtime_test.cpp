// The stand-in CUDA runtime: refused launches, symbols, streams, attributes, cuBLAS; host reads.
#include "tests/unit/host/helpers.h"

namespace assay::host::test {
namespace {

const char* const kRuntime = R"(
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <cublas_v2.h>
__constant__ float coefficients[4];
__device__ int counter = 7;
__global__ void scale(float* x, float s, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] *= s * coefficients[i & 3] + counter; }
__global__ void __launch_bounds__(128) bounded(float* x) { x[threadIdx.x] = 1; }
__global__ void dynamic(float* x) { extern __shared__ float s[]; s[threadIdx.x] = x[threadIdx.x]; __syncthreads(); x[threadIdx.x] = s[0]; }
struct Pair { float* p; int n; float f; double d; };
__global__ void by_value(Pair q, char c, at::PackedTensorAccessor32<float, 2, at::RestrictPtrTraits> a) { if (threadIdx.x < q.n) q.p[threadIdx.x] = q.f + c + a[0][1]; }
using torch::Tensor;
void threads(Tensor x, int64_t n) { scale<<<1, n>>>(x.data_ptr<float>(), 1.f, 4); }
void checked(Tensor x) { scale<<<0, 32>>>(x.data_ptr<float>(), 1.f, 4); C10_CUDA_KERNEL_LAUNCH_CHECK(); }
void bounds(Tensor x) { bounded<<<1, 256>>>(x.data_ptr<float>()); TORCH_CHECK(cudaGetLastError() == cudaErrorLaunchOutOfResources); TORCH_CHECK(cudaGetLastError() == cudaSuccess); }
void shared(Tensor x, int64_t bytes, bool raise) {
  if (raise) cudaFuncSetAttribute(dynamic, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  dynamic<<<1, 32, bytes>>>(x.data_ptr<float>());
}
void symbols(Tensor x, Tensor c) {
  float host[4] = {1, 2, 3, 4};
  cudaMemcpyToSymbol(coefficients, host, sizeof host);
  cudaMemcpyToSymbol(coefficients, c.data_ptr<float>(), 8, 4, cudaMemcpyDeviceToDevice);
  scale<<<1, 32>>>(x.data_ptr<float>(), 1.f, 4);
}
void structs(Tensor x) {
  Pair q{x.data_ptr<float>() + 2, 3, 1.5f, 2.5};
  by_value<<<1, 32>>>(q, 'c', x.packed_accessor32<float, 2, at::RestrictPtrTraits>());
}
void streams(Tensor x) {
  cudaStream_t a, b;
  cudaEvent_t e;
  cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
  cudaEventCreate(&e);
  float* p = x.data_ptr<float>();
  scale<<<1, 32, 0, a>>>(p, 1.f, 4);   // 0
  cudaEventRecord(e, a);
  scale<<<1, 32, 0, a>>>(p, 2.f, 4);   // 1 after 0
  cudaStreamWaitEvent(b, e, 0);
  scale<<<1, 32, 0, b>>>(p, 3.f, 4);   // 2 after 0
  scale<<<1, 32, 0, b>>>(p, 4.f, 4);   // 3 after 2
  cudaDeviceSynchronize();
  scale<<<1, 32>>>(p, 5.f, 4);         // 4 after 1 and 3
  cudaStreamDestroy(a); cudaStreamDestroy(b); cudaEventDestroy(e);
}
Tensor scratch(Tensor x) {
  float* p;
  C10_CUDA_CHECK(cudaMalloc(&p, 64));
  cudaMemsetAsync(p, 0, 64, at::cuda::getCurrentCUDAStream());
  cudaMemcpy(p, x.data_ptr<float>(), 32, cudaMemcpyDeviceToDevice);
  TORCH_CHECK(cudaMemcpy(p, x.data_ptr<float>(), 1 << 20, cudaMemcpyDeviceToDevice) == cudaErrorInvalidValue);
  scale<<<1, 32>>>(p, 1.f, 4);
  cudaFree(p);
  cudaDeviceProp prop; cudaGetDeviceProperties(&prop, 0);
  TORCH_CHECK(prop.multiProcessorCount == 132 && prop.major == 9 && prop.maxThreadsPerBlock == 1024);
  int blocks = 0; cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, scale, 256, 0);
  TORCH_CHECK(blocks == 8, "occupancy ", blocks);
  return x;
}
Tensor gemm(Tensor a, Tensor b) {  // row-major C = A B, as column-major C^T = B^T A^T
  int m = a.size(0), k = a.size(1), n = b.size(1);
  Tensor c = torch::empty({m, n}, a.options());
  cublasHandle_t h; cublasCreate(&h);
  float one = 1, zero = 0;
  cublasSgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, b.data_ptr<float>(), n, a.data_ptr<float>(), k, &zero, c.data_ptr<float>(), n);
  cublasDestroy(h);
  return c;
}
Tensor host_sqrt(Tensor x) {
  float s = x.pow(2).sum().item<float>();
  scale<<<1, 32>>>(x.data_ptr<float>(), std::sqrt(s), x.numel());
  return x;
}
Tensor host_affine(Tensor x, Tensor y) {
  double s = y.mean().item<double>();
  scale<<<1, 32>>>(x.data_ptr<float>(), 0.5f * static_cast<float>(s) + 2.0f, x.numel());
  return x;
}
Tensor host_odd(Tensor x) {
  scale<<<1, 32>>>(x.data_ptr<float>(), std::cos(x.sum().item<float>()), x.numel());
  return x;
}
Tensor host_branch(Tensor x) {
  if (x.sum().item<float>() > 3.0f) x.add_(1);
  return x;
}
Tensor host_copy(Tensor x) {
  Tensor h = x.cpu();
  auto a = h.accessor<float, 2>();
  scale<<<1, 32>>>(x.data_ptr<float>(), 1.0f / a[1][1], x.numel());
  return x;
}
Tensor looks_like_pointer(Tensor x, int64_t v) { scale<<<1, 32>>>(x.data_ptr<float>(), 1, v); return x; }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
#define D(f) m.def(#f, &f)
  D(threads); D(checked); D(bounds); D(shared); D(symbols); D(structs); D(streams); D(scratch); D(gemm);
  D(host_sqrt); D(host_affine); D(host_odd); D(host_branch); D(host_copy); D(looks_like_pointer);
}
)";

class Runtime : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    scratch_ = new Scratch;
    source_ = scratch_->write("runtime.cu", kRuntime);
  }
  static void TearDownTestSuite() { delete scratch_; }
  static Result<program::Program> run(const std::string& entry,
                                      std::vector<std::vector<int64_t>> shapes,
                                      std::vector<program::Arg> more = {}) {
    RecordRequest r;
    r.sources = {source_};
    r.entry = entry;
    for (size_t k = 0; k < shapes.size(); ++k) add_tensor(&r, "x" + std::to_string(k), shapes[k]);
    for (program::Arg& a : more) r.arguments.push_back({"", a, ""});
    return record_extension(r);
  }
  static Scratch* scratch_;
  static std::string source_;
};
Scratch* Runtime::scratch_ = nullptr;
std::string Runtime::source_;

TEST_F(Runtime, RefusedLaunches) {
  for (int64_t n : {0, 1025, 4096}) {
    auto p = run("threads", {{4}}, {n});
    ASSERT_OK(p);
    EXPECT_TRUE(p->steps.empty());
    EXPECT_TRUE(has_note(*p, "launch-refused"));
  }
  auto p = run("threads", {{4}}, {int64_t{1024}});
  ASSERT_OK(p);
  EXPECT_EQ(p->steps.size(), 1u);
  EXPECT_TRUE(p->notes.empty());
  p = run("checked", {{4}});
  ASSERT_OK(p);
  EXPECT_TRUE(has_note(*p, "launch-refused"));
  EXPECT_TRUE(has_note(*p, "host-exception"));
  p = run("bounds", {{4}});
  ASSERT_OK(p);
  EXPECT_TRUE(has_note(*p, "launch-refused"));
}

TEST_F(Runtime, SharedMemoryLimits) {
  struct Case {
    int64_t bytes;
    bool raised, runs;
  };
  for (Case c : {Case{49152, false, true}, Case{49153, false, false}, Case{100000, false, false},
                 Case{100000, true, true}, Case{232448, true, true}, Case{232449, true, false}}) {
    auto p = run("shared", {{32}}, {c.bytes, c.raised});
    ASSERT_OK(p);
    EXPECT_EQ(p->steps.size(), c.runs ? 1u : 0u) << c.bytes;
    EXPECT_EQ(has_note(*p, "launch-refused"), !c.runs) << c.bytes;
    if (c.runs) {
      EXPECT_EQ(steps_of<program::LaunchStep>(*p)[0]->dynamic_smem, c.bytes);
      EXPECT_EQ(steps_of<program::LaunchStep>(*p)[0]->max_dynamic_smem, c.raised ? c.bytes : 49152);
    }
  }
}

TEST_F(Runtime, ModuleSymbols) {
  auto p = run("symbols", {{4}, {4}});
  ASSERT_OK(p);
  ASSERT_EQ(p->modules.size(), 1u);
  ASSERT_EQ(p->modules[0].symbols.size(), 1u);
  int b = p->modules[0].symbols[0].second;
  EXPECT_EQ(p->modules[0].symbols[0].first, "coefficients");
  auto copies = steps_of<program::CopyStep>(*p);
  ASSERT_EQ(copies.size(), 2u);
  EXPECT_EQ(copies[0]->dst, b);
  EXPECT_EQ(copies[0]->host_data.size(), 16u);
  EXPECT_EQ(copies[1]->dst, b);
  EXPECT_EQ(copies[1]->dst_offset, 4);
  EXPECT_EQ(copies[1]->src, 1);
}

TEST_F(Runtime, ParametersByValue) {
  auto p = run("structs", {{4, 4}});
  ASSERT_OK(p);
  auto* l = steps_of<program::LaunchStep>(*p)[0];
  ASSERT_EQ(l->slots.size(), 2u);
  EXPECT_EQ(l->slots[0].offset, 0u);
  EXPECT_EQ(l->slots[0].addend, 8);
  EXPECT_EQ(l->slots[1].offset, 32u);
  EXPECT_EQ(l->params[24], 'c');
  EXPECT_EQ(l->params[40], 4);  // sizes of the accessor
}

TEST_F(Runtime, StreamsAndEvents) {
  auto p = run("streams", {{4}});
  ASSERT_OK(p);
  ASSERT_EQ(p->steps.size(), 5u);
  using After = std::vector<int>;
  EXPECT_EQ(p->steps[0].after, After{});
  EXPECT_EQ(p->steps[1].after, After{0});
  EXPECT_EQ(p->steps[2].after, After{0});
  EXPECT_EQ(p->steps[3].after, After{2});
  EXPECT_EQ(p->steps[4].after, (After{1, 3}));
  for (const program::Step& s : p->steps) EXPECT_FALSE(s.implicit_order);
  EXPECT_NE(p->steps[0].stream, p->steps[2].stream);
}

TEST_F(Runtime, MemoryAndDevice) {
  auto p = run("scratch", {{4, 4}});
  ASSERT_OK(p);
  ASSERT_EQ(p->steps.size(), 3u);
  EXPECT_TRUE(has_note(*p, "copy-out-of-bounds"));
  EXPECT_TRUE(p->steps[0].implicit_order);
  EXPECT_EQ(p->buffers[1].init, program::Init::Poison);
}

TEST_F(Runtime, Cublas) {
  auto p = run("gemm", {{3, 5}, {5, 7}});
  ASSERT_OK(p);
  EXPECT_EQ(op_names(*p), std::vector<std::string>{"aten::mm"});
  auto* o = steps_of<program::OpStep>(*p)[0];
  auto& a = std::get<program::TensorView>(o->args[0]);  // B^T: 7 x 5
  EXPECT_EQ(a.buffer, 1);
  EXPECT_EQ(a.shape, (std::vector<int64_t>{7, 5}));
  EXPECT_EQ(a.strides, (std::vector<int64_t>{1, 7}));
  EXPECT_EQ(o->outputs[0].shape, (std::vector<int64_t>{7, 3}));
  EXPECT_EQ(o->outputs[0].strides, (std::vector<int64_t>{1, 7}));
}

TEST_F(Runtime, HostReadsBecomeSymbolicScalars) {
  auto p = run("host_sqrt", {{4, 4}});
  ASSERT_OK(p);
  ASSERT_EQ(p->scalars.size(), 1u);
  EXPECT_EQ(p->scalars[0].fn, "sqrt");
  auto* l = steps_of<program::LaunchStep>(*p)[0];
  ASSERT_EQ(l->slots.size(), 2u);
  EXPECT_EQ(l->slots[1].kind, program::ParamSlot::Kind::Scalar);
  EXPECT_EQ(l->slots[1].offset, 8u);
  EXPECT_EQ(l->slots[1].size, 4u);
  EXPECT_TRUE(has_note(*p, "host-read"));
  p = run("host_affine", {{4}, {4}});
  ASSERT_OK(p);
  ASSERT_EQ(p->scalars.size(), 1u);
  EXPECT_EQ(p->scalars[0].fn, "affine");
  EXPECT_EQ(p->scalars[0].scale, 0.5);
  EXPECT_EQ(p->scalars[0].shift, 2.0);
  p = run("host_copy", {{4, 4}});
  ASSERT_OK(p);
  ASSERT_EQ(p->scalars.size(), 1u);
  EXPECT_EQ(p->scalars[0].fn, "rcp");
  EXPECT_EQ(p->scalars[0].element, 5);
}

TEST_F(Runtime, InputDependentHostPaths) {
  auto p = run("host_odd", {{4}});
  ASSERT_OK(p);
  EXPECT_TRUE(p->scalars.empty());
  EXPECT_TRUE(has_note(*p, "input-dependent-host-path"));
  p = run("host_branch", {{4}});
  ASSERT_OK(p);
  EXPECT_TRUE(has_note(*p, "input-dependent-host-path"));
}

TEST_F(Runtime, NumbersAreNoPointers) {
  auto p = run("looks_like_pointer", {{4}}, {int64_t{0x2000'0000'0004}});
  ASSERT_OK(p);
  EXPECT_EQ(steps_of<program::LaunchStep>(*p)[0]->slots.size(), 1u);
}

}  // namespace
}  // namespace assay::host::test
