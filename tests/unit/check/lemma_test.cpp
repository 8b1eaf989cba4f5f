// Cuts in plans, and the transfer of a lemma from one CTA to others on the side of operators.
#include "check/lemma.h"

#include <gtest/gtest.h>

#include "check/classes.h"
#include "check/experiment.h"
#include "term/real_domain.h"

namespace assay::check {
namespace {

using program::Arg;
using program::DType;
using program::OpStep;
using program::Program;
using program::TensorView;

// Operators on x [6, 8], buffer 0.
class Net {
 public:
  Net() {
    buffer({6, 8});
    program_.buffers[0].init = program::Init::Symbolic;
    program_.buffers[0].role = program::Role::Input;
    program_.arguments.push_back({"x", x(), "input:0"});
  }
  TensorView x() const { return {0, DType::F32, 0, {6, 8}, {8, 1}}; }
  TensorView buffer(const std::vector<int64_t>& shape) {
    TensorView v{static_cast<int>(program_.buffers.size()), DType::F32, 0, shape, {}};
    v.strides.assign(shape.size(), 1);
    for (size_t k = shape.size(); k-- > 1;) v.strides[k - 1] = v.strides[k] * shape[k];
    program::Buffer b;
    b.bytes = static_cast<uint64_t>(v.numel()) * 4;
    program_.buffers.push_back(b);
    return v;
  }
  TensorView add(const std::string& op, std::vector<Arg> args, const TensorView& out) {
    program::Step step;
    step.what = OpStep{op, std::move(args), {out}};
    program_.steps.push_back(std::move(step));
    return out;
  }
  Side side() {
    auto s = prepare(program_);
    EXPECT_TRUE(s) << s.error().message;
    return s ? std::move(*s) : Side{};
  }

 private:
  Program program_;
};

Plan plan_of(Side& side, const TensorView& view, const std::vector<int64_t>& at,
             const PlanRequest& request = {}) {
  Wants wants;
  for (int64_t p : at) wants[view.buffer].insert(view.element(p));
  auto plan = make_plan(side, wants, request);
  EXPECT_TRUE(plan) << plan.error().message;
  return plan ? std::move(*plan) : Plan{};
}

// By how many elements the reads of x move; nothing: not alike.
std::optional<int64_t> moves(Side& side, const TensorView& view, const std::vector<int64_t>& at,
                             int64_t by) {
  const PlanRequest request;
  const Plan plan = plan_of(side, view, at);
  const PlanShift shift(side, plan, request, view.buffer);
  std::map<uint64_t, int64_t> symbols;
  if (!shift.shift(by, &symbols)) return std::nullopt;
  return symbols.at(argument_symbol(0, 0));
}

TEST(Lemma, PlacesAreTheResultsOfEachStep) {
  Net net;
  const TensorView h = net.add("aten::relu", {net.x()}, net.buffer({6, 8}));
  net.add("aten::neg", {h}, h);  // the same memory holds two tensors, one after the other
  Side side = net.side();
  const std::vector<Intermediate> places = places_of(side);
  ASSERT_EQ(places.size(), 2u);
  EXPECT_EQ(places[0].view.buffer, places[1].view.buffer);
  EXPECT_TRUE(places[0].at < places[1].at);
  EXPECT_EQ(places[1].view.numel(), 48);
}

// relu(x) + neg(x), whose branches stand in either order; each place has one partner.
TEST(Lemma, BranchesMeetInAnyOrder) {
  const auto made = [](bool relu_first) {
    Net net;
    TensorView a, b;
    if (relu_first) a = net.add("aten::relu", {net.x()}, net.buffer({6, 8}));
    b = net.add("aten::neg", {net.x()}, net.buffer({6, 8}));
    if (!relu_first) a = net.add("aten::relu", {net.x()}, net.buffer({6, 8}));
    const TensorView again = net.add("aten::relu", {net.x()}, net.buffer({6, 8}));
    const TensorView sum = net.add("aten::add.Tensor", {a, b, int64_t{1}}, net.buffer({6, 8}));
    net.add("aten::add.Tensor", {sum, again, int64_t{1}}, net.buffer({6, 8}));
    return net;
  };
  Net one = made(true), other = made(false);
  Side candidate = one.side(), reference = other.side();
  const term::Snapper snapper({6, 8});
  const LemmaRequest request{candidate,
                             reference,
                             {},
                             snapper,
                             1,
                             1,
                             Clock::now() + std::chrono::seconds(60),
                             [](const Plan&) { return Status{}; }};
  const auto lemmas = find_lemmas(request);
  ASSERT_TRUE(lemmas) << lemmas.error().message;
  ASSERT_EQ(lemmas->claims.size(), 4u);
  std::set<std::pair<size_t, int>> partners;
  for (size_t k = 0; k < lemmas->claims.size(); ++k) {
    EXPECT_EQ(lemmas->claims[k].how, "the same operator of the same tensors");
    partners.insert({lemmas->reference[k].at.step, lemmas->reference[k].buffer});
  }
  EXPECT_EQ(partners.size(), 4u);
  EXPECT_EQ(lemmas->reference[0].at.step, 1u);  // relu
  EXPECT_EQ(lemmas->reference[1].at.step, 0u);  // neg
}

TEST(Lemma, CutReplacesTheContentsOfItsPointAlone) {
  Net net;
  const TensorView h = net.add("aten::relu", {net.x()}, net.buffer({6, 8}));
  net.add("aten::neg", {h}, h);
  Side side = net.side();
  PlanRequest request;
  request.cuts = {{{0, 0}, h.buffer, 0, 48, 77}};
  const Plan plan = plan_of(side, h, {5}, request);
  EXPECT_TRUE(plan.support.empty());  // nothing of x
  ASSERT_EQ(plan.steps[0].cuts.size(), 1u);
  EXPECT_EQ(plan.steps[0].cuts[0].elements.count(), 1);
  const Experiment e(side.symbols, 1);
  const term::Snapper snapper({});
  term::RealDomain domain(e, snapper);
  term::Store<term::RealDomain> store(domain, side.sources);
  GivenCells<term::RealDomain> given;
  given[77].assign(48, {3, 3, false});
  run_plan(side, plan, domain, store, &given);
  EXPECT_EQ(store.load1(h.buffer, 5).v, -3);
  request.end = Point{0, 0};  // before it was negated
  const Plan first = plan_of(side, h, {5}, request);
  term::Store<term::RealDomain> other(domain, side.sources);
  run_plan(side, first, domain, other, &given);
  EXPECT_EQ(other.load1(h.buffer, 5).v, 3);
}

TEST(Lemma, PlanKnowsWhenItIsTooLarge) {
  Net net;
  const TensorView y = net.add("aten::relu", {net.x()}, net.buffer({6, 8}));
  Side side = net.side();
  Wants wants;
  wants[y.buffer].insert_range(0, 48);
  PlanRequest request;
  request.limit = 1;
  const auto plan = make_plan(side, wants, request);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().kind, DiagKind::Limit);
  request.limit = 2;
  EXPECT_TRUE(make_plan(side, wants, request));
}

TEST(Lemma, RowsOfASoftmaxMoveByWholeRows) {
  Net net;
  const TensorView y = net.add("aten::_softmax", {net.x(), int64_t{1}, false}, net.buffer({6, 8}));
  Side side = net.side();
  EXPECT_EQ(moves(side, y, {8, 9}, 16), 16);
  EXPECT_EQ(moves(side, y, {8, 9}, -8), -8);
  EXPECT_FALSE(moves(side, y, {8, 9}, 40));  // beyond the last row
  EXPECT_FALSE(moves(side, y, {8, 9}, 7));   // one of both would leave its row
}

// Within a row the sum moves by 1 and the elements that it runs over do not.
TEST(Lemma, ReadsThatMoveDifferentlyAreNotAlike) {
  Net net;
  const TensorView y = net.add("aten::_softmax", {net.x(), int64_t{1}, false}, net.buffer({6, 8}));
  Side side = net.side();
  EXPECT_FALSE(moves(side, y, {8}, 1));
  Net square;  // x x^T: the rows move, the columns do not
  TensorView t = square.x();
  t.shape = {8, 6};
  t.strides = {1, 8};
  const TensorView z = square.add("aten::mm", {square.x(), t}, square.buffer({6, 6}));
  Side other = square.side();
  EXPECT_FALSE(moves(other, z, {1}, 6));
  EXPECT_EQ(moves(other, z, {1}, 0), 0);
}

TEST(Lemma, ScansDoNotMoveAlongThemselves) {
  Net net;
  const TensorView y =
      net.add("aten::cumsum", {net.x(), int64_t{1}, std::monostate{}}, net.buffer({6, 8}));
  Side side = net.side();
  EXPECT_EQ(moves(side, y, {3}, 8), 8);
  EXPECT_FALSE(moves(side, y, {3}, 1));
}

// What another step overwrites where the moved elements would be is not what moves.
TEST(Lemma, BuffersWithTwoWritersDoNotMove) {
  Net net;
  const TensorView h = net.add("aten::relu", {net.x()}, net.buffer({6, 8}));
  TensorView half = h;
  half.shape = {3, 8};
  TensorView source = net.x();
  source.shape = {3, 8};
  net.add("aten::neg", {source}, half);
  Side side = net.side();
  EXPECT_FALSE(moves(side, h, {40}, -8));
  EXPECT_FALSE(moves(side, h, {40}, -40));
}

}  // namespace
}  // namespace assay::check
