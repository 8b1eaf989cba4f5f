// Every host name of the census of published kernels (898 kernels, 941 units) compiles; a few run.
#include "tests/unit/host/helpers.h"

namespace assay::host::test {
namespace {

const char* const kCensus = R"cuda(
#include <torch/extension.h>
#include <torch/types.h>
#include <torch/nn/functional.h>
#include <ATen/ATen.h>
#include <ATen/AccumulateType.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAUtils.h>
#include <ATen/native/cuda/KernelUtils.cuh>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAMathCompat.h>
#include <c10/cuda/CUDAStream.h>
#include <c10/util/Optional.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <cuda.h>
#include <cuda_runtime.h>
#include <cuda_fp16.h>
#include <cooperative_groups.h>
#include <cublas_v2.h>
#include <math_constants.h>
#include <vector>
namespace py = pybind11;
namespace F = torch::nn::functional;
namespace cg = cooperative_groups;

template <typename scalar_t>
__global__ void typed(const scalar_t* __restrict__ x, scalar_t* __restrict__ y, int n) {
  using acc_t = at::acc_type<scalar_t, true>;
  CUDA_1D_KERNEL_LOOP(i, n) {
    acc_t v = static_cast<acc_t>(__ldg(x + i));
    scalar_t w = x[i] * x[i] + scalar_t(1) - x[i] / scalar_t(2);
    y[i] = static_cast<scalar_t>(v > acc_t(0) ? v : acc_t(0)) + w + std::numeric_limits<scalar_t>::epsilon();
  }
}
__global__ void halves(const __half* a, at::Half* b, __half2* c) { b[0] = __half2float(a[0]); c[0] = __float2half2_rn(1.f); }
__global__ void half_by_value(at::Half h, float* y) { y[0] = static_cast<float>(h); }
__global__ void brains(const at::BFloat16* a, c10::BFloat16* b) { b[threadIdx.x] = a[threadIdx.x] + at::BFloat16(1.0f); }
__global__ void grid(float* x) { cg::this_thread_block().sync(); x[0] = CUDART_INF_F; }
__global__ void packed(torch::PackedTensorAccessor32<float, 2, torch::RestrictPtrTraits> a,
                       torch::PackedTensorAccessor64<float, 1> b) { b[threadIdx.x] = a[0][threadIdx.x] * a.size(1); }
template <typename scalar_t>
__global__ void generic(at::GenericPackedTensorAccessor<scalar_t, 1, at::DefaultPtrTraits, int> a) { a[0] = 1; }

#define CHECK_CUDA(x) TORCH_CHECK(x.device().is_cuda(), #x " must be a CUDA tensor")
#define CHECK_INPUT(x) CHECK_CUDA(x); AT_ASSERTM(x.is_contiguous(), #x " must be contiguous")

torch::Tensor dispatch(torch::Tensor x) {
  CHECK_INPUT(x);
  if (!x.is_cuda()) AT_ERROR("cuda only");
  const at::cuda::OptionalCUDAGuard guard(device_of(x));
  at::cuda::CUDAGuard guard2(x.device());
  c10::DeviceGuard guard3(x.device());
  auto stream = at::cuda::getCurrentCUDAStream();
  cudaStream_t raw = c10::cuda::getCurrentCUDAStream().stream();
  auto y = torch::empty(x.sizes(), torch::TensorOptions().dtype(x.dtype()).device(torch::kCUDA).requires_grad(false));
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "typed", ([&] {
    typed<scalar_t><<<4, 64, 0, stream>>>(x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), x.numel());
  }));
  AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.type(), "typed", [&] {
    typed<scalar_t><<<4, 64, 0, raw>>>(x.data<scalar_t>(), y.data<scalar_t>(), x.numel());
  });
  if (x.dtype() == torch::kInt) {
    AT_DISPATCH_ALL_TYPES(x.scalar_type(), "all", ([&] { typed<scalar_t><<<1, 1>>>(x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), 1); }));
    AT_DISPATCH_ALL_TYPES_AND(at::ScalarType::Half, x.scalar_type(), "all", ([&] { typed<scalar_t><<<1, 1>>>(x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), 1); }));
    AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "two", [&] { typed<scalar_t><<<1, 1>>>(x.const_data_ptr<scalar_t>(), y.mutable_data_ptr<scalar_t>(), 1); });
  }
  C10_CUDA_CHECK(cudaGetLastError());
  AT_CUDA_CHECK(cudaPeekAtLastError());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  cudaError_t err = cudaGetLastError();
  if (err != cudaSuccess) throw std::runtime_error(std::string("CUDA error: ") + cudaGetErrorString(err));
  packed<<<1, 2>>>(x.view({1, -1}).packed_accessor32<float, 2, torch::RestrictPtrTraits>(), y.view({-1}).packed_accessor64<float, 1>());
  generic<float><<<1, 1>>>(y.view({-1}).generic_packed_accessor<float, 1, at::DefaultPtrTraits, int>());
  half_by_value<<<1, 1>>>(at::Half(1.5f), y.data_ptr<float>());
  return y;
}

torch::Tensor half_path(torch::Tensor x) {
  TORCH_CHECK(x.scalar_type() == at::ScalarType::Half && x.dtype() == torch::kFloat16 && x.element_size() == 2);
  auto y = torch::zeros_like(x);
  halves<<<1, 1>>>(reinterpret_cast<const __half*>(x.data_ptr<at::Half>()), y.data_ptr<at::Half>(), reinterpret_cast<__half2*>(y.data_ptr()));
  auto b = x.to(torch::kBFloat16);
  brains<<<1, 32>>>(b.data_ptr<at::BFloat16>(), b.data_ptr<c10::BFloat16>());
  return y;
}

torch::Tensor many(torch::Tensor x, const torch::Tensor& w, c10::optional<torch::Tensor> b, torch::optional<at::Tensor> c,
                   std::optional<torch::Tensor> d, const std::vector<torch::Tensor>& list, std::vector<int64_t> sizes,
                   torch::IntArrayRef ref, std::tuple<int, int> pair, bool flag, float f, double g, int i, int64_t l) {
  if (b.has_value() && b->defined()) x = x + b.value();
  if (c != c10::nullopt) x = x + *c;
  auto opts = torch::dtype(torch::kFloat32).device(torch::kCUDA, 0);
  torch::Tensor t = torch::empty({x.size(0), 4}, opts);
  t = torch::zeros({2, 3}, x.options().dtype(torch::kInt64)).to(torch::kFloat);
  t = torch::ones({2, 3}, torch::device(torch::kCUDA).dtype(torch::kFloat));
  t = torch::full({1}, 0.5f, opts) + torch::tensor({1.f, 2.f}, opts).sum() + at::zeros_like(t).mean();
  int64_t total = x.numel() + x.dim() + x.stride(0) + x.get_device() + std::get<0>(pair) + ref.size() + sizes.size();
  auto v = x.sizes().vec();
  v.back() = 1;
  std::vector<long> longs(x.strides().begin(), x.strides().end());
  bool same = x.sizes() == w.sizes() && x.type() == w.type() && x.device() == w.device() && x.dtype() == torch::kFloat64;
  TORCH_CHECK(!same || flag, "bad ", total, " ", x.sizes(), x.scalar_type(), x.device(), f, g, i, l);
  t = torch::linear(x, w) ;
  return t;
}

// Compiled, not run: shapes are not meant to fit.
torch::Tensor library(torch::Tensor x, torch::Tensor w, torch::Tensor b) {
  auto y = torch::conv2d(x, w, b, {1, 1}, {0, 0}, {1, 1}, 1) + at::conv2d(x, w) + torch::conv3d(x, w, b, 1, 1) + at::conv3d(x, w, b);
  y = at::conv_transpose2d(x, w, b, {2, 2}, {1, 1}, {0, 0}, 1) + torch::conv_transpose3d(x, w, b, 2, 1, 1) + at::conv_transpose3d(x, w) + torch::conv1d(x, w) + torch::conv_transpose1d(x, w) + torch::conv_transpose2d(x, w, b);
  y = at::convolution(x, w, b, {1}, {0}, {1}, false, {0}, 1);
  y = torch::addmm(b, x, w.t()) + at::addmm(b, x, w, 1.0, 2.0) + torch::matmul(x, w) + torch::mm(x, w) + torch::bmm(x, w) + at::matmul(x, w) + at::linear(x, w, b);
  y = torch::batch_norm(x, w, b, w, b, true, 0.1, 1e-5, true) + at::batch_norm(x, w, b, w, b, false, 0.1, 1e-5, false) + torch::layer_norm(x, {4}, w, b, 1e-5) + at::layer_norm(x, {4}) + torch::group_norm(x, 4, w, b) + at::group_norm(x, 2, w, b, 1e-5, true) + torch::instance_norm(x, w, b, {}, {}, true, 0.1, 1e-5, true);
  y = torch::relu(x) + at::relu(x) + torch::gelu(x) + at::gelu(x, "tanh") + torch::tanh(x) + torch::sigmoid(x) + torch::softmax(x, -1) + at::softmax(x, 1) + torch::rsqrt(x) + torch::sqrt(x);
  y = torch::max_pool2d(x, {2, 2}, {2, 2}, {0, 0}) + at::max_pool2d(x, 2) + torch::max_pool3d(x, 2) + at::max_pool3d(x, {2, 2, 2}, {2, 2, 2}, {0, 0, 0}, {1, 1, 1}, false) + torch::avg_pool3d(x, 2) + at::avg_pool3d(x, {2, 2, 2}) + at::avg_pool2d(x, {2, 2}, {2, 2}, {0, 0}, false, true, c10::nullopt) + torch::adaptive_avg_pool2d(x, {1, 1}) + at::adaptive_avg_pool2d(x, 1);
  y = torch::dropout(x, 0.0, false) + at::dropout(x, 0.1, true) + torch::cat({x, y}, 1) + at::cat({x, y}) + torch::stack({x, y}, 0) + torch::einsum("ij,jk->ik", {x, w}) + torch::constant_pad_nd(x, {1, 1}, 0) + torch::clamp(x, 0, 1) + torch::argmin(x, 1) + torch::mean(x, 1) + torch::sum(x) + torch::mean(x, {1, 2}, true);
  auto [out, hidden] = torch::gru(x, w, {w, w, b, b}, true, 1, 0.0, false, false, true);
  y = x.mean(1).to(torch::kFloat).cuda().cpu().t().transpose(0, 1).permute({0, 1}).reshape({-1}).sum({0}, true).unsqueeze(0).flatten(1).squeeze().expand({2, 2}).expand_as(y).narrow(0, 0, 1).select(0, 0).slice(0, 0, 2).clone().masked_fill(x > 0, 0).var(1, false).rsqrt().exp().cumsum(0).sqrt().view_as(y).min();
  y.add_(x, 2).div_(2).mul_(x).addmm_(x, w).relu_();
  y.index_put_({0, torch::indexing::Slice(0, 2)}, x);
  y = y.index({torch::indexing::Slice(), torch::indexing::Slice(1, 3)}) + y[0] + y.index({x}) ;
  auto chunks = y.chunk(2, 1);
  auto parts = y.split(1, 0);
  auto mx = std::get<0>(y.max(1, true));
  y = F::linear(x, w, b) + F::dropout(x, F::DropoutFuncOptions().p(0.5).training(true).inplace(false)) + F::normalize(x, F::NormalizeFuncOptions().p(2).dim(1)) + F::conv_transpose2d(x, w, F::ConvTranspose2dFuncOptions().stride(2).padding(1).output_padding(1).bias(b)) + F::softmax(x, F::SoftmaxFuncOptions(1)) + F::max_pool2d(x, F::MaxPool2dFuncOptions(2).stride(2)) + F::avg_pool2d(x, F::AvgPool2dFuncOptions({2, 2}));
  y = y.contiguous(torch::MemoryFormat::Contiguous).is_same(x) ? y : -y;
  if (y.is_contiguous() && y.requires_grad() && y.is_floating_point()) return y.detach();
  return (y == x) + (y > 0) + (y - 1) * 2 / w + 1;
}

torch::Tensor objects(torch::Tensor x, py::object params, py::dict options, py::tuple shape, py::list items, py::object nothing) {
  torch::Tensor w = params.attr("weight").cast<torch::Tensor>();
  torch::Tensor v = params["bias"].cast<at::Tensor>();
  float scale = options["scale"].cast<float>();
  bool has = options.contains("scale") && py::hasattr(params, "weight") && !py::hasattr(params, "nope");
  int n = shape[0].cast<int>() + static_cast<int>(py::len(items)) + static_cast<int>(shape.size());
  for (auto item : items) n += py::cast<int>(item);
  std::string name = py::str(options["name"]);
  TORCH_CHECK(has && nothing.is_none() && name == "n" && n == 2 + 3 + 6 + 1, "objects ", n, name);
  return x * scale + w + v;
}
std::vector<torch::Tensor> several(at::Tensor x) { return {x, x.t()}; }
std::tuple<torch::Tensor, torch::Tensor, torch::Tensor> triple(at::Tensor x) { return std::make_tuple(x, x, x); }
torch::Tensor optional_bias(torch::Tensor x, c10::optional<torch::Tensor> bias, py::object other) {
  TORCH_CHECK(!bias.has_value() && other.is_none(), "no defaults");
  return x.relu();
}
torch::Tensor overloaded(torch::Tensor x) { return x; }
torch::Tensor overloaded(torch::Tensor x, std::map<std::string, double> options) {
  TORCH_CHECK(options.size() == 1, "one option");
  return x * options.at("scale");
}
py::list listed(at::Tensor x) { py::list l; l.append(x); l.append(py::cast(x)); return l; }

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.doc() = "census";
  m.def("dispatch", &dispatch, "dispatch (CUDA)", py::arg("x"));
m.def("half_path", &half_path);
m.def("many", &many, py::arg("x"), py::arg("w"), py::arg("b") = py::none(),
      py::arg("c") = c10::nullopt, py::arg("d") = py::none(),
      py::arg("list") = std::vector<torch::Tensor>{}, py::arg("sizes") = std::vector<int64_t>{1, 2},
      py::arg("ref") = std::vector<int64_t>{3}, py::arg("pair") = std::make_tuple(1, 2),
      py::arg("flag") = true, py::arg("f") = 1.0f, py::arg("g") = 1e-5, py::arg("i") = 3,
      py::arg("l") = 4);
m.def("library", &library, py::call_guard<py::gil_scoped_release>());
m.def("objects", &objects);
m.def("optional_bias", &optional_bias, py::arg("x"), py::arg("bias").none(true) = nullptr,
      py::arg_v("other", std::nullopt, "None"));
m.def("overloaded", py::overload_cast<torch::Tensor, std::map<std::string, double>>(&overloaded));
m.attr("version") = "1";
m.def("several", &several);
m.def("triple", torch::wrap_pybind_function(triple));
m.def(
    "listed", [](at::Tensor x) { return listed(x); }, "a lambda");
}
)cuda";

class Census : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    scratch_ = new Scratch;
    source_ = scratch_->write("census.cu", kCensus);
  }
  static void TearDownTestSuite() { delete scratch_; }
  static Result<program::Program> run(RecordRequest r, const std::string& entry) {
    r.sources = {source_};
    r.entry = entry;
    return record_extension(r);
  }
  static Scratch* scratch_;
  static std::string source_;
};
Scratch* Census::scratch_ = nullptr;
std::string Census::source_;

TEST_F(Census, DispatchAndAccessors) {
  RecordRequest r;
  add_tensor(&r, "x", {4, 8});
  auto p = run(r, "dispatch");
  ASSERT_OK(p);
  auto launches = steps_of<program::LaunchStep>(*p);
  ASSERT_EQ(launches.size(), 5u);
  EXPECT_EQ(launches[0]->kernel, "_Z5typedIfEvPKT_PS0_i");
  EXPECT_TRUE(p->notes.empty());
}

TEST_F(Census, Halves) {
  RecordRequest r;
  add_tensor(&r, "x", {64}, program::DType::F16);
  auto p = run(r, "half_path");
  ASSERT_OK(p);
  EXPECT_EQ(p->steps.size(), 3u);
  EXPECT_EQ(p->outputs[0].dtype, program::DType::F16);
}

TEST_F(Census, ArgumentKindsAndDefaults) {
  RecordRequest r;
  add_tensor(&r, "x", {4, 8});
  add_tensor(&r, "w", {6, 8});
  auto p = run(r, "many");
  ASSERT_OK(p);
  EXPECT_EQ(p->outputs[0].shape, (std::vector<int64_t>{4, 6}));
  add_tensor(&r, "b", {8});
  auto c = add_tensor(&r, "c", {4, 8});
  for (program::Arg a : std::vector<program::Arg>{
           std::monostate{}, std::vector<program::TensorView>{c, c}, std::vector<int64_t>{1},
           std::vector<int64_t>{2, 3}, std::vector<int64_t>{1, 2}, true, 1.5, int64_t{2},
           int64_t{3}, int64_t{4}}) {
    r.arguments.push_back({"", a, ""});
  }
  p = run(r, "many");
  ASSERT_OK(p);
  r.arguments[12].value = 2.5;  // a float where the function takes an int
  EXPECT_FALSE(run(r, "many").has_value());
}

TEST_F(Census, PythonObjects) {
  RecordRequest r;
  add_tensor(&r, "x", {4});
  add_tensor(&r, "params.weight", {4});
  add_tensor(&r, "params.bias", {4});
  r.arguments.push_back({"options.scale", 2.0, ""});
  r.arguments.push_back({"options.name", std::string("n"), ""});
  auto p = run(r, "objects");
  ASSERT_FALSE(p.has_value());  // shape, items and nothing are missing
  r.arguments.push_back({"shape", std::vector<int64_t>{2}, ""});
  r.arguments.push_back({"items", std::vector<int64_t>{1, 2, 3}, ""});
  r.arguments.push_back({"nothing", std::monostate{}, ""});
  p = run(r, "objects");
  ASSERT_OK(p);
}

TEST_F(Census, NoneAsDefaultAndDictsAsMaps) {
  RecordRequest r;
  add_tensor(&r, "x", {4});
  auto p = run(r, "optional_bias");
  ASSERT_OK(p);
  EXPECT_EQ(op_names(*p), std::vector<std::string>{"aten::relu"});
  r.arguments.push_back({"options.scale", 2.0, ""});
  p = run(r, "overloaded");
  ASSERT_OK(p);
  EXPECT_EQ(op_names(*p), std::vector<std::string>{"aten::mul.Tensor"});
}

TEST_F(Census, ReturnKinds) {
  RecordRequest r;
  add_tensor(&r, "x", {4, 2});
  auto p = run(r, "several");
  ASSERT_OK(p);
  ASSERT_EQ(p->outputs.size(), 2u);
  EXPECT_EQ(p->outputs[1].strides, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(run(r, "triple")->outputs.size(), 3u);
  EXPECT_EQ(run(r, "listed")->outputs.size(), 2u);
}

}  // namespace
}  // namespace assay::host::test
