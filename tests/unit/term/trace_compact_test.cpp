// Marks of a few elements, and the trace of their cone alone, give the values of the whole trace.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/ieee.h"
#include "machine/trace_builder.h"
#include "term/field_domain.h"
#include "term/ieee_domain.h"
#include "term/trace_eval.h"

namespace assay::term {
namespace {

using machine::kLanes;
using machine::LaneMap;
using machine::NodeId;
using machine::Trace;

class Ramp : public InputModel {
 public:
  void values(uint64_t, Ty, const int64_t* elements, uint32_t mask, double* out) const override {
    for (; mask != 0; mask &= mask - 1) {
      const int l = __builtin_ctz(mask);
      out[l] = static_cast<double>(elements[l]) + 0.5;
    }
  }
};

NodeId load(machine::TraceBuilder& b, int64_t first, int64_t stride) {
  machine::InputPayload in;
  in.buffer = 0;
  in.type = Ty::F32;
  in.first = first;
  in.stride = stride;
  return b.input(in);
}

// Two CTAs; 64 stores and an atomic on element 3; every kind of node that rows pass through.
Trace sample() {
  machine::TraceBuilder b;
  const NodeId x = load(b, 0, 1), y = load(b, 100, 1), z = load(b, 7, 0);
  const NodeId k = b.constant(Ty::F32, ieee_from_double(Ty::F32, 3));
  std::array<uint64_t, kLanes> lanes{};
  for (size_t l = 0; l < kLanes; ++l) lanes[l] = ieee_from_double(Ty::F32, static_cast<double>(l));
  const NodeId v = b.const_vec(Ty::F32, lanes);
  LaneMap reverse{}, mixed{};
  std::array<NodeId, kLanes> from{};
  for (uint8_t l = 0; l < kLanes; ++l) {
    reverse[l] = static_cast<uint8_t>(31 - l);
    mixed[l] = static_cast<uint8_t>((l * 5) % 32);
    from[l] = l % 3 == 0 ? x : l % 3 == 1 ? y : v;
  }
  const NodeId p = b.perm(x, reverse), g = b.gather(from, mixed), c = b.bcast(y, 9);
  NodeId sum = b.apply(Fn::Fma, Ty::F32, {}, 1, p, k, g);
  sum = b.blend(0x00ff00ffu, sum, b.apply(Fn::Add, Ty::F32, {}, 2, c, z));
  auto store = [&](NodeId node, int64_t base) {
    for (uint8_t l = 0; l < kLanes; ++l)
      b.trace.stores.push_back({base + l, 1, node, 5, Ty::F32, l});
  };
  auto end = [&](uint32_t cta) {
    b.trace.ctas.push_back({cta, static_cast<uint32_t>(b.trace.nodes.size()),
                            static_cast<uint32_t>(b.trace.stores.size()),
                            static_cast<uint32_t>(b.trace.atoms.size()), 0});
  };
  store(sum, 0);
  end(0);
  const NodeId more = b.apply(Fn::Mul, Ty::F32, {}, 3, sum, v);
  store(more, 32);
  b.trace.atoms.push_back({1, 3, Ty::F32, machine::AtomKind::Add, more, 17, 6});
  end(1);
  return std::move(b.trace);
}

std::vector<uint64_t> evaluate(const Trace& t, const Marks& m) {
  Ramp ramp;
  IeeeDomain domain(ramp);
  Source in, out;
  in.kind = Source::Kind::Symbol;
  in.symbol = 1;
  out.elements = 64;
  Store<IeeeDomain> store(domain, {in, out});
  TraceEval<IeeeDomain>(domain, store).run(t, m);
  std::vector<uint64_t> values;
  for (int64_t e = 0; e < 64; ++e) {
    const auto* cell = store.written(1, e);
    values.push_back(cell == nullptr ? ~uint64_t{0} : cell->v);
  }
  return values;
}

TEST(Compact, KeepsTheValuesOfItsCone) {
  const Trace t = sample();
  const std::vector<uint64_t> whole = evaluate(t, mark(t, [](int, int64_t) { return true; }));
  for (int64_t e = 0; e < 64; ++e) {
    SCOPED_TRACE(e);
    ASSERT_NE(whole[static_cast<size_t>(e)], ~uint64_t{0});
    const Marks m = mark(t, [e](int, int64_t x) { return x == e; });
    EXPECT_LE(m.slots + m.packed, m.live.size() + 1);
    const CompactTrace c = compact(t, m);
    EXPECT_EQ(c.trace.nodes.size(), m.live.size() + 1);
    EXPECT_EQ(c.trace.stores.size(), 1u);
    EXPECT_EQ(c.trace.stores[0].pc, 5u);
    for (const std::vector<uint64_t>& values : {evaluate(t, m), evaluate(c.trace, c.marks)}) {
      EXPECT_EQ(values[static_cast<size_t>(e)], whole[static_cast<size_t>(e)]);
      EXPECT_EQ(std::count(values.begin(), values.end(), ~uint64_t{0}), 63);
    }
  }
}

// Values of one lane share a row, also with those that are dead; values of several lanes do not.
TEST(Compact, RowsAreUsedAgain) {
  machine::TraceBuilder b;
  NodeId sum = load(b, 0, 1);
  for (int k = 1; k < 100; ++k) sum = b.apply(Fn::Add, Ty::F32, {}, 1, sum, load(b, 32 * k, 1));
  b.trace.stores.push_back({0, 1, sum, 1, Ty::F32, 31});
  const Marks m = mark(b.trace, [](int, int64_t) { return true; });
  EXPECT_EQ(m.live.size(), 199u);
  EXPECT_EQ(m.slots, 1u);
  EXPECT_EQ(m.packed, 3u);
  b.trace.stores.push_back({1, 1, sum, 1, Ty::F32, 30});
  const Marks two = mark(b.trace, [](int, int64_t) { return true; });
  EXPECT_EQ(two.slots, 4u);
  EXPECT_EQ(two.packed, 0u);
  EXPECT_EQ(evaluate(b.trace, two)[0], evaluate(b.trace, m)[0]);
  double expected = 0;
  for (int k = 0; k < 100; ++k) expected += 32 * k + 31.5;
  EXPECT_EQ(ieee_to_double(Ty::F32, evaluate(b.trace, m)[0]), expected);
}

// Images of a value computed alone, in a lane of a shared row, are those of the whole row: products
// with and without factors that contain exp, sums, and what no short cut takes (exp, a constant).
TEST(Compact, ImagesOfOneLaneAreThoseOfTheRow) {
  machine::TraceBuilder b;
  const NodeId x = load(b, 0, 1), y = load(b, 100, 1);
  const NodeId k = b.constant(Ty::F32, ieee_from_double(Ty::F32, 3));
  const NodeId e = b.apply(Fn::Exp, Ty::F32, {}, 1, x);
  const NodeId m = b.apply(Fn::Mul, Ty::F32, {}, 2, x, y);
  const NodeId t = b.apply(Fn::Mul, Ty::F32, {}, 3, e, m);
  const NodeId f = b.apply(Fn::Fma, Ty::F32, {}, 4, m, y, t);
  const NodeId g = b.apply(Fn::Fma, Ty::F32, {}, 5, t, x, f);
  const NodeId d = b.apply(Fn::Sub, Ty::F32, {}, 6, b.apply(Fn::Mul, Ty::F32, {}, 7, k, g), y);
  const NodeId out = b.apply(Fn::Add, Ty::F32, {}, 8, d, b.apply(Fn::Exp, Ty::F32, {}, 9, m));
  for (uint8_t l = 0; l < kLanes; ++l) b.trace.stores.push_back({l, 1, out, 5, Ty::F32, l});
  const Snapper snapper({64});
  auto cell = [&](const WantFn& wanted, int64_t element) {
    FieldDomain domain({0, 5, true}, snapper);
    Source in, to;
    in.kind = Source::Kind::Symbol;
    in.symbol = 1;
    to.elements = kLanes;
    Store<FieldDomain> store(domain, {in, to});
    TraceEval<FieldDomain>(domain, store).run(b.trace, mark(b.trace, wanted));
    return store.load1(1, element);
  };
  for (int64_t l = 0; l < kLanes; ++l) {
    SCOPED_TRACE(l);
    const auto whole = cell([](int, int64_t) { return true; }, l);
    const auto one = cell([l](int, int64_t element) { return element == l; }, l);
    const auto few = cell([l](int, int64_t element) { return (element ^ l) <= 1; }, l);
    EXPECT_GE(whole.v, 0);
    EXPECT_LT(whole.e, 0);  // contains exp
    EXPECT_EQ(one.v, whole.v);
    EXPECT_EQ(one.e, whole.e);
    EXPECT_EQ(few.v, whole.v);
    EXPECT_EQ(few.e, whole.e);
  }
}

}  // namespace
}  // namespace assay::term
