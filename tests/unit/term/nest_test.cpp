// Loop nests in the domains of src/term against their concrete execution by src/tensor.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

#include "tensor/demand.h"
#include "term/field_domain.h"
#include "term/ieee_domain.h"
#include "term/nest_eval.h"
#include "term/real_domain.h"
#include "tests/unit/tensor/steps.h"

namespace assay::term {
namespace {

using tensor::test::Arg;
using tensor::test::DType;
using tensor::test::OpStep;
using tensor::test::StepData;
using tensor::test::StepMaker;
using tensor::test::TensorView;
using Shape = std::vector<int64_t>;

class NoInputs : public InputModel {
 public:
  void values(uint64_t, Ty, const int64_t*, uint32_t, double*) const override {}
};

// The nests of one step in a domain; operands hold data, or symbols where a test says so.
template <class D>
class NestRun {
 public:
  NestRun(D& domain, const OpStep& step, StepData& data) : store_(domain, {}) {
    auto op = tensor::lower(step);
    EXPECT_TRUE(op) << (op ? "" : op.error().message);
    if (!op) return;
    op_ = std::move(*op);
    std::map<int, int> of_view;  // buffer of the step to buffer of the store
    for (const auto& t : op_.tensors) {
      const Ty type = program::dtype_ty(t.view.dtype);
      Source s;
      s.type = type;
      types_.push_back(type);
      if (!t.is_temp) {
        auto& bytes = data.bytes[static_cast<size_t>(t.view.buffer)];
        s.kind = Source::Kind::Data;
        s.data = bytes.data();
        s.elements = static_cast<int64_t>(bytes.size() / assay::bytes(type));
      }
      auto known = t.is_temp ? of_view.end() : of_view.find(t.view.buffer);
      buffers_.push_back(known != of_view.end() ? known->second : store_.add(s));
      if (!t.is_temp) of_view[t.view.buffer] = buffers_.back();
    }
    of_view_ = std::move(of_view);
  }
  void symbol(const TensorView& view, uint64_t symbol) {
    Source s = store_.source(of_view_.at(view.buffer));
    s.kind = Source::Kind::Symbol;
    s.symbol = symbol;
    store_.set_source(of_view_.at(view.buffer), s);
  }
  void run(D& domain) {
    NestEval<D> eval(domain, store_, buffers_, types_);
    for (const tensor::Nest& nest : op_.nests) {
      NestShape shape(nest);
      tensor::ElemSet all;
      const auto& view = op_.tensors[static_cast<size_t>(nest.write.operand)].view;
      int64_t n = 1;
      for (int64_t e : view.shape) n *= e;
      all.insert_range(0, n, 1);
      eval.run(shape, all);
    }
  }
  typename D::Cell cell(const TensorView& view, int64_t element) {
    return store_.load1(of_view_.at(view.buffer), element);
  }

 private:
  Store<D> store_;
  tensor::Lowered op_;
  std::vector<int> buffers_;
  std::vector<Ty> types_;
  std::map<int, int> of_view_;
};

uint64_t element_bits(const StepData& data, const TensorView& view, int64_t element) {
  uint64_t v = 0;
  const size_t width = program::dtype_bytes(view.dtype);
  std::memcpy(
      &v,
      data.bytes[static_cast<size_t>(view.buffer)].data() + static_cast<size_t>(element) * width,
      width);
  return v;
}

// The IEEE domain gives what src/tensor computes, bit for bit.
void expect_ieee_agrees(const OpStep& step, StepData& data, int64_t elements) {
  StepData want = data;
  auto op = tensor::lower(step);
  ASSERT_TRUE(op) << op.error().message;
  auto done = tensor::evaluate(*op, want.spans());
  ASSERT_TRUE(done) << done.error().message;
  NoInputs inputs;
  IeeeDomain domain(inputs);
  NestRun<IeeeDomain> run(domain, step, data);
  run.run(domain);
  for (const TensorView& out : step.outputs) {
    for (int64_t e = 0; e < elements; ++e) {
      const auto cell = run.cell(out, e);
      EXPECT_FALSE(cell.undef) << e;
      EXPECT_EQ(cell.v, element_bits(want, out, e)) << e;
    }
  }
}

// What runs of results read, against single results and against the other implementation of it.
TEST(Nests, DemandOfRunsIsThatOfTheirElements) {
  StepMaker m;
  std::vector<OpStep> steps;
  auto add = [&](const char* op, std::vector<Arg> args) {
    auto s = m.step(op, std::move(args));
    ASSERT_TRUE(s) << op << ": " << s.error().message;
    steps.push_back(std::move(*s));
  };
  TensorView transposed = m.view({4, 5});
  std::swap(transposed.shape[0], transposed.shape[1]);
  std::swap(transposed.strides[0], transposed.strides[1]);
  add("aten::mm", {transposed, m.view({4, 3})});
  add("aten::add", {m.view({3, 1, 4}), m.view({2, 1}), int64_t{1}});
  add("aten::add", {transposed, m.view({4}), int64_t{1}});
  add("aten::add", {m.view({3, 4}), m.view({3, 1}), int64_t{1}});
  add("aten::softmax", {m.view({3, 5}), int64_t{0}});
  add("aten::cumsum", {m.view({5, 3}), int64_t{0}});
  add("aten::flip", {m.view({3, 4}), Shape{1}});
  add("aten::mean", {m.view({3, 4, 5}), Shape{0, 2}, false, std::monostate{}});
  add("aten::constant_pad_nd", {m.view({3, 4}), Shape{1, 2, -1, 1}, 0.0});
  add("aten::gather", {m.view({3, 4}), int64_t{1}, m.view({3, 6}, DType::I64)});
  add("aten::max_pool2d", {m.view({2, 6, 5}), Shape{3, 2}, Shape{2, 1}, Shape{1, 1}, Shape{1, 2}});
  add("aten::layer_norm", {m.view({3, 4}), Shape{4}, m.view({4}), m.view({4}), 1e-5});
  add("aten::convolution", {m.view({1, 2, 4, 3}), m.view({2, 3, 3, 2}), m.view({3}), Shape{2, 3},
                            Shape{1, 0}, Shape{1, 2}, true, Shape{1, 0}, int64_t{1}});
  std::mt19937 rng(5);
  size_t compared = 0;
  for (const OpStep& step : steps) {
    auto op = tensor::lower(step);
    ASSERT_TRUE(op) << step.op;
    for (const tensor::Nest& nest : op->nests) {
      const NestShape shape(nest);
      tensor::ElemSet all;
      for (int64_t p = 0; p < tensor::point_count(nest); ++p)
        all.insert(tensor::written_element(nest, p));
      if (const auto dense = shape.dense()) {
        tensor::ElemSet written;
        written.insert_range(dense->first, dense->second);
        EXPECT_TRUE(written == all) << step.op;
      }
      for (int trial = 0; trial < 8; ++trial) {
        tensor::ElemSet wanted, some;
        if (trial == 0) some.unite(all);
        for (int k = 0; k < trial; ++k)
          some.insert_range(all.front() + static_cast<int64_t>(rng() % 40), 1 + rng() % 9);
        wanted.unite(some);
        wanted.intersect(all);
        std::vector<tensor::ElemSet> reads, single(nest.reads.size() + nest.post_reads.size());
        nest_demand(shape, some, reads);
        ASSERT_EQ(reads.size(), single.size());
        wanted.for_each([&](int64_t e) {
          tensor::ElemSet one;
          one.insert(e);
          std::vector<tensor::ElemSet> its;
          nest_demand(shape, one, its);
          for (size_t k = 0; k < its.size(); ++k) single[k].unite(its[k]);
        });
        const tensor::Demand other = tensor::demand(nest, tensor::points_of(nest, wanted));
        for (size_t k = 0; k < reads.size(); ++k) {
          const bool post = k >= nest.reads.size();
          EXPECT_TRUE(reads[k] == single[k]) << step.op << " read " << k << " trial " << trial;
          const tensor::ElemSet& exact =
              post ? other.post_reads[k - nest.reads.size()] : other.reads[k];
          EXPECT_TRUE(exact.is_subset_of(reads[k])) << step.op << " read " << k;
          compared += static_cast<size_t>(reads[k].count());
        }
      }
    }
  }
  EXPECT_GT(compared, 1000u);
}

TEST(Nests, PaddingOfIntegersIsAnInteger) {
  struct {
    DType dtype;
    Arg value;
  } rows[] = {{DType::I64, int64_t{3}},  {DType::I64, int64_t{-3}}, {DType::I32, int64_t{-7}},
              {DType::U8, int64_t{200}}, {DType::Bool, true},       {DType::F32, 2.5}};
  for (const auto& r : rows) {
    StepMaker m;
    auto step = m.step("aten::constant_pad_nd", {m.view({2, 3}, r.dtype), Shape{1, 2}, r.value});
    ASSERT_TRUE(step) << step.error().message;
    StepData data(*step);
    expect_ieee_agrees(*step, data, 12);
  }
}

TEST(Nests, NegativeIndicesCountFromTheEnd) {
  for (DType type : {DType::I64, DType::I32}) {
    StepMaker m;
    auto x = m.view({5, 2});
    auto index = m.view({3}, type);
    auto step = m.step("aten::index.Tensor", {x, std::vector<TensorView>{index}});
    ASSERT_TRUE(step) << step.error().message;
    StepData data(*step);
    for (int k = 0; k < 10; ++k) data.floats(0)[k] = static_cast<float>(k) + 0.5f;
    const int64_t values[] = {-1, 2, -5};
    for (int k = 0; k < 3; ++k) {
      if (type == DType::I64) data.ints(1)[k] = values[k];
      if (type == DType::I32)
        reinterpret_cast<int32_t*>(data.ints(1))[k] = static_cast<int32_t>(values[k]);
    }
    expect_ieee_agrees(*step, data, 6);
  }
}

// Rows of x are adjacent: the element behind a row is the next row's, and no value of the gather.
TEST(Nests, AnIndexOutsideItsDimensionIsUndefined) {
  StepMaker m;
  auto x = m.view({2, 3});
  auto index = m.view({2, 2}, DType::I64);
  auto step = m.step("aten::gather", {x, int64_t{1}, index});
  ASSERT_TRUE(step) << step.error().message;
  StepData data(*step);
  const int64_t values[] = {2, 3, -1, 0};
  std::copy(values, values + 4, data.ints(1));
  const bool bad[] = {false, true, true, false};
  NoInputs inputs;
  IeeeDomain ieee(inputs);
  NestRun<IeeeDomain> by_bits(ieee, *step, data);
  by_bits.run(ieee);
  Snapper snapper({3});
  RealDomain real(inputs, snapper);
  NestRun<RealDomain> by_numbers(real, *step, data);
  by_numbers.run(real);
  for (int64_t e = 0; e < 4; ++e) {
    EXPECT_EQ(by_bits.cell(step->outputs[0], e).undef, bad[e]) << e;
    EXPECT_EQ(by_numbers.cell(step->outputs[0], e).undef, bad[e]) << e;
  }
}

// Images: x[i] and the gather of the same symbol, which does not wrap.
TEST(Nests, WrappingMattersWhereAnIndexMayBeNegative) {
  Snapper snapper({5});
  for (bool negative : {false, true}) {
    FieldDomain domain({0, 1, true}, snapper);
    domain.set_int_range(2, negative ? -5 : 0, 5);
    FieldDomain::Cell cells[2];
    for (int wraps = 0; wraps < 2; ++wraps) {
      StepMaker m;
      auto x = m.view({5});
      auto index = m.view({3}, DType::I64);
      auto step = wraps ? m.step("aten::index.Tensor", {x, std::vector<TensorView>{index}})
                        : m.step("aten::index_select", {x, int64_t{0}, index});
      ASSERT_TRUE(step) << step.error().message;
      StepData data(*step);
      NestRun<FieldDomain> run(domain, *step, data);
      run.symbol(x, 1);
      run.symbol(index, 2);
      run.run(domain);
      cells[wraps] = run.cell(step->outputs[0], 1);
    }
    const bool equal = cells[0].v == cells[1].v && cells[0].e == cells[1].e;
    EXPECT_EQ(equal, !negative);
  }
}

TEST(Nests, TheFirstNanWinsArgExtrema) {
  const float rows[] = {1,         3, 2, 3,  0, 1,  std::nanf(""), 7, std::nanf(""),
                        2,         2, 1, -1, 4, -1, std::nanf(""), 0, 9,
                        -INFINITY, 5};
  for (const char* op : {"aten::argmax", "aten::argmin"}) {
    StepMaker m;
    auto step = m.step(op, {m.view({4, 5}), int64_t{1}, false});
    ASSERT_TRUE(step) << step.error().message;
    StepData data(*step);
    std::copy(rows, rows + 20, data.floats(0));
    expect_ieee_agrees(*step, data, 4);
  }
}

}  // namespace
}  // namespace assay::term
