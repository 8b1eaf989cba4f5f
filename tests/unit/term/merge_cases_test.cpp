// Selects whose arms are one formula: images of a trace with and without its Agree nodes.
#include "machine/merge_cases.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "base/ieee.h"
#include "machine/trace_builder.h"
#include "term/field_domain.h"
#include "term/trace_eval.h"

namespace assay::term {
namespace {

using machine::NodeId;

class Kernel {
 public:
  NodeId in(int k) {  // element k of the input
    machine::InputPayload p;
    p.buffer = 0;
    p.type = Ty::F32;
    p.first = k;
    return b.input(p);
  }
  NodeId num(float v) { return b.constant(Ty::F32, ieee_from_double(Ty::F32, v)); }
  NodeId op(Fn fn, NodeId x, NodeId y = 0, NodeId z = 0) {
    return b.apply(fn, Ty::F32, {}, ++pc_, x, y, z);
  }
  NodeId select(NodeId c, NodeId x, NodeId y) { return b.select(c, x, y, ++pc_); }
  NodeId gt(NodeId x, NodeId y) { return op(Fn::Gt, x, y); }
  NodeId eq(NodeId x, NodeId y) { return op(Fn::Eq, x, y); }
  NodeId add(NodeId x, NodeId y) { return op(Fn::Add, x, y); }
  NodeId sub(NodeId x, NodeId y) { return op(Fn::Sub, x, y); }
  NodeId mul(NodeId x, NodeId y) { return op(Fn::Mul, x, y); }
  NodeId exp(NodeId x) { return op(Fn::Exp, x); }
  NodeId max(NodeId x, NodeId y) { return op(Fn::Max, x, y); }

  machine::TraceBuilder b;

 private:
  uint32_t pc_ = 0;
};

// The image of one value. merged: with Agree nodes.
double image(const std::function<NodeId(Kernel&)>& make, bool merged) {
  Kernel k;
  const NodeId node = make(k);
  k.b.trace.stores.push_back({0, 1, node, 0, Ty::F32, 0});
  k.b.trace.ctas.push_back({0, static_cast<uint32_t>(k.b.trace.nodes.size()), 1, 0, 0});
  machine::Trace trace = k.b.trace;
  if (merged)
    if (auto more = machine::merge_cases(trace)) trace = std::move(*more);
  const Marks marks = mark(trace, [](int, int64_t) { return true; });
  const Snapper snapper({64});
  FieldDomain domain({3, 17, true}, snapper);
  std::vector<Source> sources(2);
  for (size_t s = 0; s < 2; ++s) sources[s] = {Source::Kind::Symbol, Ty::F32, s + 1, nullptr, 0};
  Store<FieldDomain> store(domain, sources);
  TraceEval<FieldDomain>(domain, store).run(trace, marks);
  return store.load1(1, 0).v;
}

constexpr float kInf = std::numeric_limits<float>::infinity();

struct State {
  NodeId m, s;
};

// sum of e^x by an online maximum, written with a branch for each element. wrong: see below.
State push(Kernel& k, State a, NodeId x, int wrong) {
  const NodeId more = k.gt(x, a.m);
  const NodeId up = k.add(wrong == 1 ? a.s : k.mul(a.s, k.exp(k.sub(a.m, x))), k.num(1));
  const NodeId down = k.add(a.s, k.exp(wrong == 2 ? k.sub(a.m, x) : k.sub(x, a.m)));
  return {k.select(more, x, a.m), k.select(more, up, down)};
}

// Branch on "less", as compilers turn it.
State push_less(Kernel& k, State a, NodeId x, int wrong) {
  const NodeId more = k.op(Fn::Lt, a.m, x);
  const NodeId up = k.add(wrong == 1 ? a.s : k.mul(a.s, k.exp(k.sub(a.m, x))), k.num(1));
  const NodeId down = k.add(a.s, k.exp(wrong == 2 ? k.sub(a.m, x) : k.sub(x, a.m)));
  return {k.select(more, x, a.m), k.select(more, up, down)};
}

// The same with the case of equal values of its own.
State push3(Kernel& k, State a, NodeId x, int wrong) {
  const NodeId more = k.gt(x, a.m), same = k.eq(x, a.m);
  const NodeId up = k.add(k.mul(a.s, k.exp(k.sub(a.m, x))), k.num(1));
  const NodeId one = k.select(k.eq(x, k.num(-kInf)), k.num(0), k.num(wrong == 1 ? 2 : 1));
  const NodeId down = k.select(same, k.add(a.s, one), k.add(a.s, k.exp(k.sub(x, a.m))));
  return {k.select(more, x, a.m), k.select(more, up, down)};
}

State merge(Kernel& k, State a, State b, int wrong) {
  const NodeId m = k.max(a.m, b.m);
  const auto rescale = [&](State x) {
    return k.select(k.eq(x.m, m), wrong == 3 ? k.num(1) : x.s, k.mul(x.s, k.exp(k.sub(x.m, m))));
  };
  return {m, k.add(rescale(a), rescale(b))};
}

using Push = State (*)(Kernel&, State, NodeId, int);

NodeId online(Kernel& k, Push push, int wrong, bool two_halves) {
  const State start{k.num(-kInf), k.num(0)};
  State a = start, b = start;
  for (int e = 0; e < 4; ++e) a = push(k, a, k.in(e), wrong);
  for (int e = 4; e < 8; ++e) (two_halves ? b : a) = push(k, two_halves ? b : a, k.in(e), wrong);
  if (two_halves) a = merge(k, a, b, wrong);
  return k.mul(a.s, k.exp(a.m));
}

NodeId plain(Kernel& k) {
  NodeId sum = k.num(0);
  for (int e = 0; e < 8; ++e) sum = k.add(sum, k.exp(k.in(e)));
  return sum;
}

TEST(MergeCases, OnlineSumsWithBranches) {
  const double wanted = image(plain, true);
  for (const Push step : {push, push_less, push3}) {
    for (const bool halves : {false, true}) {
      const auto right = [&](Kernel& k) { return online(k, step, 0, halves); };
      EXPECT_EQ(image(right, true), wanted) << halves;
      EXPECT_NE(image(right, false), wanted) << halves;
      for (int wrong = 1; wrong <= 3; ++wrong) {
        if (wrong == 2 && step == push3) continue;
        if (wrong == 3 && !halves) continue;
        EXPECT_NE(image([&](Kernel& k) { return online(k, step, wrong, halves); }, true), wanted)
            << wrong << halves;
      }
    }
  }
}

TEST(MergeCases, ClampsByBranches) {
  const auto clamp = [](float low, float high) {
    return [low, high](Kernel& k) {
      const NodeId x = k.mul(k.in(0), k.in(1));
      const NodeId top = k.select(k.gt(x, k.num(high)), k.num(high), x);
      return k.select(k.op(Fn::Lt, x, k.num(low)), k.num(low), top);
    };
  };
  const auto reference = [](Kernel& k) {
    const NodeId x = k.mul(k.in(0), k.in(1));
    return k.op(Fn::Min, k.num(2), k.max(k.num(-2), x));
  };
  EXPECT_EQ(image(clamp(-2, 2), true), image(reference, true));
  EXPECT_NE(image(clamp(-2, 3), true), image(reference, true));
  EXPECT_NE(image(clamp(1, 2), true), image(reference, true));
}

TEST(MergeCases, OtherSelectsStayAsTheyAre) {
  const auto leaky = [](float slope) {
    return [slope](Kernel& k) {
      const NodeId x = k.in(0);
      return k.select(k.gt(x, k.num(0)), x, k.mul(x, k.num(slope)));
    };
  };
  EXPECT_NE(image(leaky(0.5f), true), image(leaky(0.25f), true));
  EXPECT_EQ(image(leaky(0.5f), true), image(leaky(0.5f), false));
  // e^x and e^-x meet at 0 only.
  const auto tails = [](Kernel& k) {
    const NodeId x = k.in(0);
    return k.select(k.gt(x, k.num(0)), k.exp(x), k.exp(k.sub(k.num(0), x)));
  };
  const auto one = [](Kernel& k) { return k.exp(k.in(0)); };
  EXPECT_NE(image(tails, true), image(one, true));
}

}  // namespace
}  // namespace assay::term
