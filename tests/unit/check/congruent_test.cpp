// Results of operators that both sides have from the same contents.
#include "check/congruent.h"

#include <gtest/gtest.h>

namespace assay::check {
namespace {

using program::Arg;
using program::DType;
using program::OpStep;
using program::Program;
using program::TensorView;

// x [4, 16] and w [16, 8], buffers 0 and 1; others hold 4 x 8 floats.
struct Net {
  Program program;

  explicit Net(int results) {
    for (int k = 0; k < 2 + results; ++k) {
      program::Buffer b;
      b.bytes = k == 0 ? 256 : k == 1 ? 512 : 128;
      if (k < 2) {
        b.init = program::Init::Symbolic;
        b.role = program::Role::Input;
      }
      program.buffers.push_back(b);
    }
    program.arguments.push_back({"x", x(), "input:0"});
    program.arguments.push_back({"w", w(), "input:1"});
  }
  static TensorView x() { return {0, DType::F32, 0, {4, 16}, {16, 1}}; }
  static TensorView w() { return {1, DType::F32, 0, {16, 8}, {8, 1}}; }
  static TensorView result(int k) { return {2 + k, DType::F32, 0, {4, 8}, {8, 1}}; }
  void op(const std::string& name, std::vector<Arg> args, int k) {
    program::Step step;
    step.what = OpStep{name, std::move(args), {result(k)}};
    program.steps.push_back(std::move(step));
  }
  Side side() {
    auto s = prepare(program);
    EXPECT_TRUE(s) << s.error().message;
    return s ? std::move(*s) : Side{};
  }
};

TEST(Congruent, LongSumsOfTheSameTensorsAreOneSymbol) {
  Net a(2), b(3);
  a.op("aten::mm", {Net::x(), Net::w()}, 0);
  a.op("aten::relu", {Net::result(0)}, 1);
  b.op("aten::mm", {Net::x(), Net::w()}, 2);
  b.op("aten::mm", {Net::x(), Net::w()}, 0);
  b.op("aten::neg", {Net::result(0)}, 1);
  Side sa = a.side(), sb = b.side();
  const CongruentCuts cuts = congruent_cuts(sa, sb);
  ASSERT_EQ(cuts.candidate.size(), 1u);
  ASSERT_EQ(cuts.reference.size(), 2u);  // computed twice there
  EXPECT_EQ(cuts.candidate[0].buffer, 2);
  EXPECT_EQ(cuts.candidate[0].count, 32);
  for (const Cut& cut : cuts.reference) EXPECT_EQ(cut.symbol, cuts.candidate[0].symbol);
}

TEST(Congruent, OtherTensorsAreNot) {
  Net a(2), b(2);
  a.op("aten::mm", {Net::x(), Net::w()}, 0);
  const TensorView other{0, DType::F32, 0, {4, 16}, {1, 4}};  // the same memory, read otherwise
  b.op("aten::mm", {other, Net::w()}, 0);
  Side sa = a.side(), sb = b.side();
  EXPECT_TRUE(congruent_cuts(sa, sb).candidate.empty());
  EXPECT_TRUE(congruent_cuts(sa, sb).reference.empty());
}

TEST(Congruent, OperatorsElementByElementAreEvaluated) {
  Net a(1), b(1);
  const TensorView part{1, DType::F32, 0, {4, 8}, {8, 1}};
  a.op("aten::relu", {part}, 0);
  b.op("aten::relu", {part}, 0);
  Side sa = a.side(), sb = b.side();
  EXPECT_TRUE(congruent_cuts(sa, sb).candidate.empty());
}

}  // namespace
}  // namespace assay::check
