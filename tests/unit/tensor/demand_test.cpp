#include "tensor/demand.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>

#include "steps.h"

namespace assay::tensor {
namespace {

using test::Arg;
using test::DType;
using test::OpStep;
using test::StepMaker;
using Shape = std::vector<int64_t>;

int64_t value(const Affine& a, const std::vector<int64_t>& it) {
  int64_t v = a.constant;
  for (size_t k = 0; k < a.coeff.size() && k < it.size(); ++k) v += a.coeff[k] * it[k];
  return v;
}

// Guarded: false if a guard fails. The definition in nest.h, word for word.
bool element_of(const Access& a, const std::vector<int64_t>& it, int64_t* element) {
  *element = value(a.offset, it);
  for (const GuardedDim& g : a.guarded) {
    int64_t e = value(g.expr, it);
    if (((e % g.div) + g.div) % g.div != 0) return false;
    int64_t q = e / g.div;
    if (q < g.lo || q >= g.hi) return false;
    *element += g.stride * q;
  }
  return true;
}

// f(iterators) for the whole box.
void for_box(const std::vector<int64_t>& extents,
             const std::function<void(const std::vector<int64_t>&)>& f) {
  std::vector<int64_t> it(extents.size(), 0);
  for (int64_t e : extents) {
    if (e == 0) return;
  }
  for (;;) {
    f(it);
    size_t k = extents.size();
    while (k > 0 && ++it[k - 1] == extents[k - 1]) it[--k] = 0;
    if (k == 0) return;
  }
}

void insert(const Access& a, int64_t e, ElemSet* out) {
  if (a.index_read < 0) {
    out->insert(e);
    return;
  }
  for (int64_t i = a.index_lo; i < a.index_hi; ++i) out->insert(e + i * a.index_stride);
}

Demand brute_force(const Nest& nest, const ElemSet& points) {
  Demand d;
  d.reads.resize(nest.reads.size());
  d.post_reads.resize(nest.post_reads.size());
  std::vector<int64_t> box = nest.space, point_box = point_extents(nest);
  box.insert(box.end(), nest.reduction.begin(), nest.reduction.end());
  for_box(point_box, [&](const std::vector<int64_t>& p) {
    int64_t linear = 0;
    for (size_t k = 0; k < p.size(); ++k) linear = linear * point_box[k] + p[k];
    if (!points.contains(linear)) return;
    for (size_t k = 0; k < nest.post_reads.size(); ++k) {
      int64_t e = 0;
      if (element_of(nest.post_reads[k], p, &e)) insert(nest.post_reads[k], e, &d.post_reads[k]);
    }
    for_box(box, [&](const std::vector<int64_t>& it) {
      for (size_t k = 0; k < nest.space.size(); ++k) {
        if (it[k] != p[k]) return;
      }
      if (is_scan(nest) && it.back() > p.back()) return;
      std::vector<int64_t> e(nest.reads.size());
      std::vector<bool> ok(nest.reads.size());
      bool all = true;
      for (size_t k = 0; k < nest.reads.size(); ++k) {
        ok[k] = element_of(nest.reads[k], it, &e[k]);
        all = all && ok[k];
      }
      if (nest.on_guard == OnGuard::Skip && !all) return;
      for (size_t k = 0; k < nest.reads.size(); ++k) {
        if (ok[k]) insert(nest.reads[k], e[k], &d.reads[k]);
      }
    });
  });
  return d;
}

std::vector<OpStep> steps() {
  StepMaker m;
  std::vector<OpStep> list;
  auto add = [&](const char* op, std::vector<Arg> args) {
    auto s = m.step(op, std::move(args));
    ASSERT_TRUE(s) << op << ": " << s.error().message;
    list.push_back(std::move(*s));
  };
  auto transposed = m.view({4, 5});
  std::swap(transposed.shape[0], transposed.shape[1]);
  std::swap(transposed.strides[0], transposed.strides[1]);
  add("aten::mm", {m.view({4, 6}), m.view({6, 5})});
  add("aten::mm", {transposed, m.view({4, 3})});
  add("aten::addmm", {m.view({5}), m.view({4, 6}), m.view({6, 5})});
  add("aten::add", {m.view({3, 1, 4}), m.view({2, 1}), int64_t{1}});
  add("aten::add", {transposed, m.view({4}), int64_t{1}});
  add("aten::softmax", {m.view({3, 5}), int64_t{1}});
  add("aten::cumsum", {m.view({3, 7}), int64_t{1}});
  add("aten::cumsum", {m.view({5, 3}), int64_t{0}});
  add("aten::cumsum", {transposed, int64_t{0}});
  add("aten::logcumsumexp", {m.view({3, 7}), int64_t{1}});
  add("aten::flip", {m.view({3, 4}), Shape{1}});
  add("aten::sum", {m.view({3, 4, 5}), Shape{0, 2}, false, std::monostate{}});
  add("aten::constant_pad_nd", {m.view({3, 4}), Shape{1, 2, -1, 1}, 0.0});
  add("aten::cat", {std::vector<program::TensorView>{m.view({2, 3}), m.view({2, 2})}, int64_t{1}});
  add("aten::gather", {m.view({3, 4}), int64_t{1}, m.view({3, 6}, DType::I64)});
  add("aten::max_pool2d", {m.view({2, 6, 5}), Shape{3, 2}, Shape{2, 1}, Shape{1, 1}, Shape{1, 2}});
  add("aten::avg_pool2d", {m.view({2, 6, 5}), Shape{3, 2}, Shape{2, 2}, Shape{1, 0}, true});
  add("aten::layer_norm", {m.view({3, 4}), Shape{4}, m.view({4}), m.view({4}), 1e-5});
  auto conv = [&](Shape x, Shape w, Shape s, Shape p, Shape d, bool t, Shape op, int64_t g) {
    add("aten::convolution",
        {m.view(x), m.view(w), m.view({t ? w[1] * g : w[0]}), s, p, d, t, op, g});
  };
  conv({1, 2, 5, 6}, {3, 2, 3, 3}, {1, 1}, {1, 1}, {1, 1}, false, {0, 0}, 1);
  conv({2, 4, 7}, {2, 2, 3}, {2}, {2}, {2}, false, {0}, 2);
  conv({1, 2, 4, 3}, {2, 3, 3, 2}, {2, 3}, {1, 0}, {1, 2}, true, {1, 0}, 1);
  conv({1, 4, 5}, {4, 1, 3}, {3}, {1}, {2}, true, {2}, 2);
  return list;
}

TEST(Demand, AgreesWithBruteForce) {
  std::mt19937 rng(3);
  int nests = 0;
  for (const OpStep& step : steps()) {
    auto op = lower(step);
    ASSERT_TRUE(op) << step.op << ": " << op.error().message;
    for (const Nest& nest : op->nests) {
      ++nests;
      int64_t n = point_count(nest);
      for (int trial = 0; trial < 25; ++trial) {
        ElemSet points;
        if (trial == 0) points.insert_range(0, n);
        for (int k = 0; k < trial / 3; ++k) {
          points.insert_range(static_cast<int64_t>(rng() % n), 1);
          int64_t first = static_cast<int64_t>(rng() % n);
          points.insert_range(first, std::min<int64_t>(n - first, rng() % 6));
        }
        Demand fast = demand(nest, points), slow = brute_force(nest, points);
        for (size_t r = 0; r < nest.reads.size(); ++r) {
          ASSERT_TRUE(fast.reads[r] == slow.reads[r]) << step.op << " read " << r;
        }
        for (size_t r = 0; r < nest.post_reads.size(); ++r) {
          ASSERT_TRUE(fast.post_reads[r] == slow.post_reads[r]) << step.op << " post " << r;
        }
      }
    }
  }
  EXPECT_GE(nests, 29);
}

TEST(Demand, PointsInvertWrites) {
  for (const OpStep& step : steps()) {
    auto op = lower(step);
    ASSERT_TRUE(op);
    for (const Nest& nest : op->nests) {
      ElemSet all;
      for (int64_t p = 0; p < point_count(nest); ++p) {
        ElemSet one;
        ASSERT_TRUE(one.insert(written_element(nest, p)));
        ElemSet back = points_of(nest, one);
        ASSERT_EQ(back.count(), 1) << step.op;
        ASSERT_EQ(back.front(), p) << step.op;
        all.unite(one);
      }
      ASSERT_EQ(all.count(), point_count(nest)) << step.op << ": write is not injective";
      all.insert(all.back() + 1);
      ASSERT_EQ(points_of(nest, all).count(), point_count(nest));
    }
  }
}

TEST(Demand, KnownIndicesMakeIndirectReadsExact) {
  StepMaker m;
  auto step = m.step("aten::embedding", {m.view({100, 4}), m.view({3}, DType::I64)});
  ASSERT_TRUE(step);
  auto op = lower(*step);
  ASSERT_TRUE(op);
  ElemSet points;
  points.insert_range(4, 4);  // row 1
  auto known = [](int, int64_t e) -> std::optional<int64_t> { return 7 * e; };
  Demand exact = demand(op->nests[0], points, known), all = demand(op->nests[0], points);
  const ElemSet& rows = exact.reads[1];
  EXPECT_EQ(rows.count(), 4);
  EXPECT_EQ(rows.front(), 28);
  EXPECT_EQ(all.reads[1].count(), 400);
}

// A 32x32 tile of a product with K = 131072 must not enumerate its 134 M multiplications.
TEST(Demand, TileOfALongProductIsProjected) {
  StepMaker m;
  auto step = m.step("aten::mm", {m.view({256, 131072}), m.view({131072, 256})});
  ASSERT_TRUE(step);
  auto op = lower(*step);
  ASSERT_TRUE(op);
  ElemSet points;
  for (int64_t row = 64; row < 96; ++row) points.insert_range(row * 256 + 32, 32);
  auto start = std::chrono::steady_clock::now();
  Demand d = demand(op->nests[0], points);
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  EXPECT_EQ(d.reads[0].count(), 32 * 131072);
  EXPECT_EQ(d.reads[1].count(), 32 * 131072);
  EXPECT_LT(seconds, 2.0);
  RecordProperty("seconds", std::to_string(seconds));
}

}  // namespace
}  // namespace assay::tensor
