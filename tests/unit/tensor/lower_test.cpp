#include <gtest/gtest.h>

#include <set>

#include "steps.h"
#include "tensor/ops.h"

namespace assay::tensor {
namespace {

using program::TensorView;
using test::Arg;
using test::DType;
using test::OpStep;
using test::StepMaker;
using Shape = std::vector<int64_t>;

DiagKind infer_error(const std::string& op, const std::vector<Arg>& args) {
  auto r = infer(op, args);
  EXPECT_FALSE(r) << op;
  return r ? DiagKind::Internal : r.error().kind;
}

TEST(Ops, EveryRowParses) {
  int rows = 0;
#define OP(fn, note, schema) ++rows;
#include "tensor/ops.def"
#undef OP
  EXPECT_EQ(static_cast<int>(op_rows().size()), rows);
  std::set<std::pair<std::string, std::string>> names;
  for (const OpRow& row : op_rows()) names.insert({row.schema.name, row.schema.overload});
  EXPECT_EQ(static_cast<int>(names.size()), rows);
}

TEST(Infer, UnknownUnsupportedAndWrongAreDifferent) {
  StepMaker m;
  EXPECT_EQ(infer_error("aten::no_such_operator", {}), DiagKind::Unsupported);
  EXPECT_EQ(infer_error("aten::randn", {Shape{3}}), DiagKind::Unsupported);
  EXPECT_EQ(infer_error("aten::transpose", {m.view({2, 3}), int64_t{0}, int64_t{1}}),
            DiagKind::Invalid);
  EXPECT_EQ(infer_error("aten::dropout", {m.view({2}), 0.5, true}), DiagKind::Unsupported);
  EXPECT_EQ(infer_error("aten::dropout", {m.view({2}), 1.5, true}), DiagKind::Invalid);
  EXPECT_EQ(infer_error("aten::relu", {}), DiagKind::Invalid);
  EXPECT_EQ(infer_error("aten::relu", {std::string("x")}), DiagKind::Invalid);
  EXPECT_EQ(infer_error("aten::relu", {m.view({2}), m.view({2})}), DiagKind::Invalid);
}

TEST(Infer, ShapesThatDoNotFit) {
  StepMaker m;
  auto invalid = [](const char* op, std::vector<Arg> args) {
    EXPECT_EQ(infer_error(op, args), DiagKind::Invalid) << op;
  };
  invalid("aten::add", {m.view({3}), m.view({4}), int64_t{1}});
  invalid("aten::mm", {m.view({3, 4}), m.view({5, 6})});
  invalid("aten::mm", {m.view({3, 4}), m.view({4})});
  invalid("aten::mm", {m.view({3, 4}), m.view({4, 5}, DType::F16)});
  invalid("aten::bmm", {m.view({2, 3, 4}), m.view({3, 4, 5})});
  invalid("aten::addmm", {m.view({7}), m.view({3, 4}), m.view({4, 5})});
  invalid("aten::linear", {m.view({3, 4}), m.view({5, 6})});
  invalid("aten::matmul", {m.view({}), m.view({5})});
  invalid("aten::sum", {m.view({3}), Shape{2}, false, std::monostate{}});
  invalid("aten::sum", {m.view({3, 4}), Shape{1, -1}, false, std::monostate{}});
  invalid("aten::mean", {m.view({3}, DType::I64)});
  invalid("aten::max", {m.view({0})});
  invalid("aten::softmax", {m.view({3}, DType::I64), int64_t{0}});
  invalid("aten::cat", {std::vector<TensorView>{}, int64_t{0}});
  invalid("aten::cat", {std::vector<TensorView>{m.view({2, 3}), m.view({3, 3})}, int64_t{1}});
  invalid("aten::layer_norm", {m.view({3, 4}), Shape{3}});
  invalid("aten::group_norm", {m.view({2, 5}), int64_t{2}});
  invalid("aten::embedding", {m.view({3, 4}), m.view({2})});
  invalid("aten::conv2d", {m.view({1, 3, 8, 8}), m.view({4, 2, 3, 3})});
  invalid("aten::conv2d", {m.view({1, 3, 2, 2}), m.view({4, 3, 3, 3})});
  invalid("aten::max_pool2d", {m.view({1, 3, 8, 8}), Shape{2}, Shape{2}, Shape{2}});
  invalid("aten::cross_entropy_loss", {m.view({4, 3}), m.view({5}, DType::I64)});
  invalid("aten::cross_entropy_loss", {m.view({4, 3}), m.view({4})});
  invalid("aten::where", {m.view({2}, DType::Bool), m.view({3}), m.view({2})});
}

TEST(Infer, PromotesTypes) {
  StepMaker m;
  auto dtype = [&](const char* op, std::vector<Arg> args) {
    auto r = infer(op, args);
    EXPECT_TRUE(r) << op;
    return r ? (*r)[0].dtype : DType::U8;
  };
  auto i = m.view({2}, DType::I64), f = m.view({2}), h = m.view({2}, DType::F16);
  auto f64_scalar = m.view({}, DType::F64), b = m.view({2}, DType::Bool);
  EXPECT_EQ(dtype("aten::add", {i, 2.5, int64_t{1}}), DType::F32);
  EXPECT_EQ(dtype("aten::add", {i, int64_t{2}, int64_t{1}}), DType::I64);
  EXPECT_EQ(dtype("aten::add", {h, 2.5, int64_t{1}}), DType::F16);
  EXPECT_EQ(dtype("aten::add", {f, f64_scalar, int64_t{1}}), DType::F32);
  EXPECT_EQ(dtype("aten::add", {h, f, int64_t{1}}), DType::F32);
  EXPECT_EQ(dtype("aten::add", {h, m.view({2}, DType::BF16), int64_t{1}}), DType::F32);
  EXPECT_EQ(dtype("aten::add", {m.view({2}, DType::U8), m.view({2}, DType::I8), int64_t{1}}),
            DType::I16);
  EXPECT_EQ(dtype("aten::div", {i, i}), DType::F32);
  EXPECT_EQ(dtype("aten::mul", {b, i}), DType::I64);
  EXPECT_EQ(dtype("aten::eq", {f, 1.0}), DType::Bool);
  EXPECT_EQ(dtype("aten::sum", {b}), DType::I64);
  EXPECT_EQ(dtype("aten::exp", {i}), DType::F32);
}

TEST(Infer, InPlaceKeepsShapeAndDtypeOfSelf) {
  StepMaker m;
  auto r = infer("aten::add_", {m.view({2, 3}, DType::F16), m.view({3}), int64_t{1}});
  ASSERT_TRUE(r);
  EXPECT_EQ((*r)[0].dtype, DType::F16);
  EXPECT_EQ(infer_error("aten::add_", {m.view({3}), m.view({2, 3}), int64_t{1}}),
            DiagKind::Invalid);
}

TEST(Lower, OutputsMustMatch) {
  StepMaker m;
  OpStep s{"aten::relu", {m.view({2, 3})}, {m.view({3, 2})}};
  auto r = lower(s);
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().kind, DiagKind::Invalid);
  s.outputs = {m.view({2, 3}, DType::F64)};
  EXPECT_FALSE(lower(s));
  s.outputs = {m.view({2, 3})};
  EXPECT_TRUE(lower(s));
  s.outputs.push_back(m.view({2, 3}));
  EXPECT_FALSE(lower(s));
  s.outputs = {TensorView{}};  // not wanted: a temporary
  EXPECT_TRUE(lower(s));
}

// A constant is the double nearest to the real number; a Python scalar is rounded to the type.
TEST(Lower, ScalarsAreRoundedConstantsAreNot) {
  StepMaker m;
  auto values = [&](const char* op, std::vector<Arg> args) {
    std::vector<double> v;
    auto step = m.step(op, std::move(args));
    auto l = lower(*step);
    for (const BodyNode& n : l->nests[0].body) {
      if (n.kind == BodyNode::Kind::Const) v.push_back(n.value);
    }
    return v;
  };
  EXPECT_EQ(values("aten::mul", {m.view({2}), 0.1}), std::vector<double>{double{0.1f}});
  EXPECT_EQ(values("aten::mul", {m.view({2}, DType::F64), 0.1}), std::vector<double>{0.1});
  auto gelu = values("aten::gelu", {m.view({2}), std::string("none")});
  EXPECT_NE(std::find(gelu.begin(), gelu.end(), 0.70710678118654752440), gelu.end());
}

// Well-formedness of every nest that a valid step lowers to; see check() for the rules.
void check(const Lowered& op, const Nest& n, const std::string& name) {
  size_t rank = n.space.size() + n.reduction.size();
  ASSERT_LE(rank, 16u) << name;
  auto affine = [&](const Affine& a) { ASSERT_EQ(a.coeff.size(), rank) << name; };
  for (const Access& a : n.reads) {
    affine(a.offset);
    ASSERT_LT(static_cast<size_t>(a.operand), op.tensors.size());
    ASSERT_LT(a.index_read, static_cast<int>(&a - n.reads.data()));
  }
  affine(n.write.offset);
  ASSERT_TRUE(n.write.guarded.empty());
  for (const auto* nodes : {&n.body, &n.post}) {
    for (size_t k = 0; k < nodes->size(); ++k) {
      const BodyNode& b = (*nodes)[k];
      int arity = b.kind == BodyNode::Kind::Apply ? info(b.fn).arity : 0;
      for (int j = 0; j < 3; ++j) {
        ASSERT_EQ(b.arg[j] >= 0, j < arity) << name << " node " << k;
        ASSERT_LT(b.arg[j], static_cast<int>(k));
      }
    }
  }
  ASSERT_FALSE(n.body.empty()) << name;
  ASSERT_EQ(n.out_type, program::dtype_ty(op.tensors[n.write.operand].view.dtype)) << name;
}

// Arbitrary arguments never crash; what lowers is well-formed.
TEST(Lower, SurvivesRandomArguments) {
  std::mt19937 rng(11);
  auto pick = [&](int64_t n) { return static_cast<int64_t>(rng() % n); };
  auto shape = [&] {
    Shape s;
    for (int64_t k = pick(5); k > 0; --k) s.push_back(pick(6));
    return s;
  };
  int lowered = 0;
  for (int trial = 0; trial < 100; ++trial) {
    for (const OpRow& row : op_rows()) {
      StepMaker m;
      Shape common = shape();
      auto tensor = [&](bool index) {
        DType t = index ? DType::I64 : (pick(4) ? DType::F32 : static_cast<DType>(pick(10)));
        return m.view(pick(3) ? common : shape(), t);
      };
      std::vector<Arg> args;
      for (const Parameter& p : row.schema.parameters) {
        if (p.has_default && pick(4) == 0) break;
        bool index = p.name == "index" || p.name == "indices" || p.name == "target";
        switch (p.optional && pick(3) == 0 ? ArgType::Ignored : p.type) {
          case ArgType::Tensor:
            args.emplace_back(tensor(index));
            break;
          case ArgType::TensorList:
            args.emplace_back(std::vector<TensorView>{tensor(index), tensor(index)});
            break;
          case ArgType::Int:
            args.emplace_back(pick(7) - 2);
            break;
          case ArgType::IntList:
            args.emplace_back(shape());
            break;
          case ArgType::Float:
            args.emplace_back(static_cast<double>(pick(3)));
            break;
          case ArgType::FloatList:
            args.emplace_back(std::vector<double>{1.0});
            break;
          case ArgType::Bool:
            args.emplace_back(pick(2) == 1);
            break;
          case ArgType::Str:
            args.emplace_back(std::string(pick(2) ? "none" : "reflect"));
            break;
          case ArgType::Scalar:
            args.emplace_back(static_cast<double>(pick(5) - 2));
            break;
          case ArgType::DType:
            args.emplace_back(static_cast<DType>(pick(10)));
            break;
          case ArgType::Ignored:
            args.emplace_back(std::monostate{});
            break;
        }
      }
      auto step = m.step(row.schema.name + "." + row.schema.overload, args);
      if (!step) {
        ASSERT_NE(step.error().kind, DiagKind::Internal) << step.error().message;
        continue;
      }
      auto op = lower(*step);
      ASSERT_TRUE(op) << row.schema.name << ": " << op.error().message;
      ++lowered;
      for (const Nest& n : op->nests) check(*op, n, row.schema.name);
    }
  }
  EXPECT_GT(lowered, 5000);
}

// PyTorch's CPU and CUDA kernels save different statistics in evaluation; a step says which.
TEST(Lower, SavedStatisticsOfEitherDevice) {
  StepMaker m;
  for (auto [shape, dtype, fits] :
       {std::tuple(Shape{4}, DType::F32, true), std::tuple(Shape{0}, DType::F16, true),
        std::tuple(Shape{0}, DType::F32, true), std::tuple(Shape{4}, DType::F64, false),
        std::tuple(Shape{2}, DType::F32, false)}) {
    const Arg v = m.view({4});
    OpStep s{"aten::_native_batch_norm_legit_no_training",
             {m.view({2, 4, 3}, DType::F16), v, v, v, v, 0.1, 1e-5},
             {m.view({2, 4, 3}, DType::F16), m.view(shape, dtype), m.view(shape, dtype)}};
    EXPECT_EQ(lower(s).has_value(), fits) << shape[0];
    s.op = "aten::native_batch_norm";
    s.args.insert(s.args.begin() + 5, false);
    EXPECT_EQ(lower(s).has_value(), fits) << shape[0];
    s.args[5] = true;  // in training both save what they computed
    EXPECT_EQ(lower(s).has_value(), fits && shape[0] == 4) << shape[0];
  }
  for (DType saved : {DType::F16, DType::F32, DType::F64}) {
    OpStep s{"aten::native_layer_norm",
             {m.view({2, 4}, DType::F16), Shape{4}, std::monostate(), std::monostate(), 1e-5},
             {m.view({2, 4}, DType::F16), m.view({2, 1}, saved), m.view({2, 1}, saved)}};
    EXPECT_EQ(lower(s).has_value(), saved != DType::F64);
  }
}

}  // namespace
}  // namespace assay::tensor
