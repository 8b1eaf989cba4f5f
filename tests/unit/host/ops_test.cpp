// Operators called from host code: names, arguments, views, in-place writes.
#include "tests/unit/host/helpers.h"

namespace assay::host::test {
namespace {

const char* const kOps = R"(
#include <torch/extension.h>
using torch::Tensor;
Tensor views(Tensor x) {  // [2,3,4]
  Tensor y = x.transpose(1, 2).permute({2, 0, 1});   // [3,2,4] strides (4,12,1)
  TORCH_CHECK(y.stride(0) == 4 && y.stride(1) == 12 && y.stride(-1) == 1);
  y = y.select(0, 1).narrow(1, 1, 2).unsqueeze(0).squeeze(0).t();  // [2,2]
  TORCH_CHECK(y.sizes() == (std::vector<int64_t>{2, 2}) && y.storage_offset() == 5, "offset ", y.storage_offset());
  TORCH_CHECK(y.stride(0) == 1 && y.stride(1) == 12);
  TORCH_CHECK(x.view({6, -1}).size(1) == 4 && x.flatten().dim() == 1 && x.reshape({-1}).numel() == 24);
  TORCH_CHECK(x.expand({5, 2, 3, 4}).stride(0) == 0);
  auto parts = x.split(2, 2);
  TORCH_CHECK(parts.size() == 2 && parts[1].storage_offset() == 2);
  auto c = x.chunk(2, 0);
  TORCH_CHECK(c[1].storage_offset() == 12);
  Tensor s = x.index({torch::indexing::Slice(), 1, torch::indexing::Slice(1, torch::indexing::None, 2)});
  TORCH_CHECK(s.sizes() == (std::vector<int64_t>{2, 2}) && s.storage_offset() == 5 && s.stride(1) == 2);
  try { x.transpose(0, 2).view({24}); TORCH_CHECK(false, "no throw"); } catch (const c10::Error& e) {
    TORCH_CHECK(std::string(e.what()).find("view size") != std::string::npos); }
  return y.contiguous();
}
Tensor linear(Tensor x, Tensor w, c10::optional<Tensor> b) { return torch::linear(x, w, b.has_value() ? *b : Tensor()); }
Tensor products(Tensor a, Tensor b) { return torch::matmul(a, b) + at::bmm(a, b) * 2.0; }
Tensor in_place(Tensor x) {
  x.add_(1.5).div_(2);
  x.select(0, 1).zero_();
  Tensor y = torch::zeros_like(x);
  y.copy_(x);
  y.relu_();
  y.masked_fill_(x > 0, 3.0);
  return y;
}
std::vector<Tensor> reductions(Tensor x) {
  auto m = x.max(1);
  return {x.sum(), x.mean(1), x.sum({0, 1}, true), std::get<0>(m), std::get<1>(m), x.amax(0), torch::argmin(x, 1),
          x.var(1, false), x.norm(), torch::softmax(x, 1), x.cumsum(1), x.prod(), x.std(), torch::logsumexp(x, {1})};
}
Tensor conv(Tensor x, Tensor w, Tensor b) {
  Tensor y = torch::conv2d(x, w, b, /*stride=*/2, /*padding=*/1);
  y = torch::relu(y);
  y = torch::max_pool2d(y, 2);
  return torch::adaptive_avg_pool2d(y, {1, 1});
}
std::vector<Tensor> left_out(Tensor x) {  // [2,4,8,8,8]; lists that are left out or {}
  std::vector<int64_t> two{2, 2, 2};
  Tensor y = x.select(4, 0), z = y.select(3, 0);
  return {torch::avg_pool3d(x, two), torch::avg_pool3d(x, 2, {}, 0), torch::avg_pool2d(y, 2), torch::avg_pool1d(z, 2),
          torch::max_pool3d(x, two), torch::max_pool2d(y, 2, {}, 1), torch::max_pool1d(z, 2), x.amax(), torch::amin(x, {}, true),
          std::get<0>(torch::max_pool2d_with_indices(y, {2, 2}))};
}
std::vector<Tensor> einsums(Tensor x, Tensor y) {  // [2,3,4], [4,5]
  return {torch::einsum("abc,cd->adb", {x, y}), torch::einsum("...ij->...ji", {x}), torch::einsum("abc->b", {x}),
          torch::einsum("abc,abd,cd", {x, x, torch::einsum("ij,kj", {y, y})})};
}
Tensor einsum_diagonal(Tensor x) { return torch::einsum("aab -> ba", {x}); }
Tensor einsum_bad(Tensor x) { return torch::einsum("ab,bc->ac", {x, x}); }
Tensor norms(Tensor x, Tensor w, Tensor b, Tensor mean, Tensor var) {
  Tensor y = torch::batch_norm(x, w, b, mean, var, true, 0.1, 1e-5, true);
  return torch::layer_norm(y, {y.size(1)}, w, b);
}
Tensor scalars(Tensor x) { return 1.0 / (2 - x) + (3 * x - 1) / x.pow(2) + torch::where(x > 0, x, -x).clamp(0, 6); }
Tensor strided(Tensor x) { Tensor y = x.t() * 2; TORCH_CHECK(y.stride(0) == 1); return torch::empty_like(y); }
Tensor constants(Tensor x) {
  Tensor k = torch::tensor({1.0f, 2.0f, 3.0f}, x.options());
  return x + k + torch::full({3}, 2.5, x.options()) + torch::arange(3, x.options());
}
Tensor mismatch(Tensor x) { return x + torch::ones({7}, x.options()); }
Tensor noise(Tensor x) { return x + torch::randn_like(x); }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
#define D(f) m.def(#f, &f)
  D(views); D(products); D(in_place); D(reductions); D(conv); D(norms); D(scalars); D(strided); D(constants);
  D(mismatch); D(noise); D(left_out);
  D(einsums); D(einsum_diagonal); D(einsum_bad);
  m.def("linear", &linear, "y", py::arg("x"), py::arg("w"), py::arg("b") = py::none());
}
)";

class Ops : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    scratch_ = new Scratch;
    source_ = scratch_->write("ops.cu", kOps);
  }
  static void TearDownTestSuite() { delete scratch_; }
  static Result<program::Program> run(const std::string& entry,
                                      std::vector<std::vector<int64_t>> shapes) {
    RecordRequest r;
    r.sources = {source_};
    r.entry = entry;
    for (size_t k = 0; k < shapes.size(); ++k) add_tensor(&r, "x" + std::to_string(k), shapes[k]);
    return record_extension(r);
  }
  using Names = std::vector<std::string>;
  static Names sorted(Names names) {
    std::sort(names.begin(), names.end());
    return names;
  }
  static Scratch* scratch_;
  static std::string source_;
};
Scratch* Ops::scratch_ = nullptr;
std::string Ops::source_;

TEST_F(Ops, ViewsAreNoSteps) {
  auto p = run("views", {{2, 3, 4}});
  ASSERT_OK(p);
  EXPECT_EQ(op_names(*p), Names{"aten::clone"});
  auto* clone = steps_of<program::OpStep>(*p)[0];
  auto& in = std::get<program::TensorView>(clone->args[0]);
  EXPECT_EQ(in.buffer, 0);
  EXPECT_EQ(in.offset, 5);
  EXPECT_EQ(in.strides, (std::vector<int64_t>{1, 12}));
  EXPECT_EQ(clone->outputs[0].strides, (std::vector<int64_t>{2, 1}));
}

TEST_F(Ops, LinearAsTheReferenceExportsIt) {
  auto p = run("linear", {{5, 8}, {6, 8}, {6}});
  ASSERT_OK(p);
  EXPECT_EQ(op_names(*p), Names{"aten::addmm"});
  auto& w = std::get<program::TensorView>(steps_of<program::OpStep>(*p)[0]->args[2]);
  EXPECT_EQ(w.shape, (std::vector<int64_t>{8, 6}));
  EXPECT_EQ(w.strides, (std::vector<int64_t>{1, 8}));
  p = run("linear", {{2, 5, 8}, {6, 8}});
  ASSERT_OK(p);
  EXPECT_EQ(op_names(*p), Names{"aten::mm"});
  EXPECT_EQ(p->outputs[0].shape, (std::vector<int64_t>{2, 5, 6}));
  p = run("products", {{3, 4, 5}, {3, 5, 6}});
  ASSERT_OK(p);
  // C++ leaves the order of operands open.
  EXPECT_EQ(sorted(op_names(*p)),
            (Names{"aten::add.Tensor", "aten::bmm", "aten::bmm", "aten::mul.Tensor"}));
}

TEST_F(Ops, InPlaceWritesTheSameBuffer) {
  auto p = run("in_place", {{4, 6}});
  ASSERT_OK(p);
  EXPECT_EQ(op_names(*p), (Names{"aten::add.Tensor", "aten::div.Tensor", "aten::copy", "aten::relu",
                                 "aten::gt.Scalar", "aten::masked_fill.Scalar"}));
  auto ops = steps_of<program::OpStep>(*p);
  EXPECT_EQ(ops[0]->outputs[0].buffer, 0);
  EXPECT_EQ(ops[1]->outputs[0].buffer, 0);
  auto fills = steps_of<program::FillStep>(*p);
  ASSERT_EQ(fills.size(), 1u);
  EXPECT_EQ(fills[0]->dst, 0);
  EXPECT_EQ(fills[0]->offset, 24);
  EXPECT_EQ(fills[0]->bytes, 24u);
  EXPECT_EQ(ops[2]->outputs[0].buffer, 1);
  EXPECT_EQ(p->buffers[1].init, program::Init::Zero);
  EXPECT_EQ(ops[5]->outputs[0].buffer, 1);
  ASSERT_EQ(p->mutated.size(), 1u);
  EXPECT_EQ(p->mutated[0].buffer, 0);
}

TEST_F(Ops, Reductions) {
  auto p = run("reductions", {{4, 6}});
  ASSERT_OK(p);
  EXPECT_EQ(
      op_names(*p),
      (Names{"aten::max.dim", "aten::sum", "aten::mean.dim", "aten::sum.dim_IntList", "aten::amax",
             "aten::argmin", "aten::var.correction", "aten::linalg_vector_norm", "aten::_softmax",
             "aten::cumsum", "aten::prod", "aten::std.correction", "aten::logsumexp"}));
  ASSERT_EQ(p->outputs.size(), 14u);
  EXPECT_EQ(p->outputs[2].shape, (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(p->outputs[4].dtype, program::DType::I64);
}

TEST_F(Ops, Layers) {
  auto p = run("conv", {{2, 3, 16, 16}, {4, 3, 3, 3}, {4}});
  ASSERT_OK(p);
  EXPECT_EQ(op_names(*p), (Names{"aten::convolution", "aten::relu", "aten::max_pool2d_with_indices",
                                 "aten::mean.dim"}));
  auto& a = steps_of<program::OpStep>(*p)[0]->args;
  EXPECT_EQ(std::get<std::vector<int64_t>>(a[3]), (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(std::get<std::vector<int64_t>>(a[4]), (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(p->outputs[0].shape, (std::vector<int64_t>{2, 4, 1, 1}));
  p = run("norms", {{8, 6}, {6}, {6}, {6}, {6}});
  ASSERT_OK(p);
  EXPECT_EQ(op_names(*p),
            (Names{"aten::_native_batch_norm_legit_functional", "aten::native_layer_norm"}));
  EXPECT_EQ(steps_of<program::OpStep>(*p)[0]->outputs[3].buffer, 3);
  EXPECT_EQ(p->mutated.size(), 2u);
}

TEST_F(Ops, ListsLeftOut) {
  auto p = run("left_out", {{2, 4, 8, 8, 8}});
  ASSERT_OK(p);
  using Shape = std::vector<int64_t>;
  const std::vector<Shape> shapes = {{2, 4, 4, 4, 4}, {2, 4, 4, 4, 4}, {2, 4, 4, 4}, {2, 4, 4},
                                     {2, 4, 4, 4, 4}, {2, 4, 5, 5},    {2, 4, 4},    {},
                                     {1, 1, 1, 1, 1}, {2, 4, 4, 4}};
  ASSERT_EQ(p->outputs.size(), shapes.size());
  for (size_t k = 0; k < shapes.size(); ++k) EXPECT_EQ(p->outputs[k].shape, shapes[k]) << k;
}

TEST_F(Ops, EinsumIsWhatAtenMakesOfIt) {
  auto p = run("einsums", {{2, 3, 4}, {4, 5}});
  ASSERT_OK(p);
  EXPECT_EQ(sorted(op_names(*p)),
            (Names{"aten::bmm", "aten::bmm", "aten::bmm", "aten::bmm", "aten::sum.dim_IntList"}));
  ASSERT_EQ(p->outputs.size(), 4u);
  EXPECT_EQ(p->outputs[0].shape, (std::vector<int64_t>{2, 5, 3}));
  EXPECT_EQ(p->outputs[1].buffer, 0);
  EXPECT_EQ(p->outputs[1].strides, (std::vector<int64_t>{12, 1, 4}));
  EXPECT_EQ(p->outputs[2].shape, (std::vector<int64_t>{3}));
  EXPECT_EQ(p->outputs[3].shape, (std::vector<int64_t>{}));
  p = run("einsum_diagonal", {{3, 3, 4}});
  ASSERT_OK(p);
  EXPECT_TRUE(op_names(*p).empty());
  EXPECT_EQ(p->outputs[0].strides, (std::vector<int64_t>{1, 16}));
  p = run("einsum_bad", {{3, 4}});
  ASSERT_FALSE(p.has_value());
  EXPECT_EQ(p.error().kind, DiagKind::Invalid) << p.error().message;
}

TEST_F(Ops, ScalarsStridesConstants) {
  auto p = run("scalars", {{4, 6}});
  ASSERT_OK(p);
  EXPECT_EQ(
      sorted(op_names(*p)),
      (Names{"aten::add.Tensor", "aten::add.Tensor", "aten::clamp", "aten::div.Tensor",
             "aten::gt.Scalar", "aten::mul.Tensor", "aten::neg", "aten::pow.Tensor_Scalar",
             "aten::reciprocal", "aten::rsub.Scalar", "aten::sub.Tensor", "aten::where.self"}));
  p = run("strided", {{4, 6}});
  ASSERT_OK(p);
  EXPECT_EQ(p->outputs[0].strides, (std::vector<int64_t>{1, 6}));
  p = run("constants", {{3}});
  ASSERT_OK(p);
  ASSERT_GT(p->buffers.size(), 1u);
  EXPECT_EQ(p->buffers[1].role, program::Role::Constant);
  EXPECT_EQ(p->buffers[1].data.size(), 12u);
}

TEST_F(Ops, ErrorsOfOperators) {
  auto p = run("mismatch", {{4, 6}});
  ASSERT_FALSE(p.has_value());
  EXPECT_EQ(p.error().kind, DiagKind::Invalid) << p.error().message;
  p = run("noise", {{4, 6}});
  ASSERT_FALSE(p.has_value());
  EXPECT_EQ(p.error().kind, DiagKind::Unsupported) << p.error().message;
}

}  // namespace
}  // namespace assay::host::test
