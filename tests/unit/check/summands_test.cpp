#include "check/summands.h"

#include <gtest/gtest.h>

namespace assay::check {
namespace {

using term::TermDag;
using term::TermId;

class SummandsTest : public testing::Test {
 protected:
  SummandsTest() {
    SymbolInfo t, p;
    t.symbol = 1, p.symbol = 2;
    reference_.symbols = {t, p};
  }
  TermId t(int64_t k) { return dag_.symbol(1, Ty::F32, k); }
  TermId p(int64_t k) { return dag_.symbol(2, Ty::F32, k); }
  TermId number(double v) { return dag_.number(Ty::F32, v); }
  TermId apply(Fn fn, TermId a, TermId b = 0, TermId c = 0) {
    const TermId args[3] = {a, b, c};
    return dag_.apply(fn, Ty::F32, {}, args, info(fn).arity, 0);
  }
  // t == 0 ? 0 : t log t, as a sum with -t log p.
  TermId reference_term(int64_t k) {
    const TermId own = apply(Fn::Select, apply(Fn::Eq, t(k), number(0)), number(0),
                             apply(Fn::Mul, t(k), apply(Fn::Log, t(k))));
    return apply(Fn::Sub, own, apply(Fn::Mul, t(k), apply(Fn::Log, p(k))));
  }
  // t > bound ? t (log t - log p) : 0
  TermId candidate_term(int64_t k, double bound) {
    const TermId difference = apply(Fn::Sub, apply(Fn::Log, t(k)), apply(Fn::Log, p(k)));
    return apply(Fn::Select, apply(Fn::Gt, t(k), number(bound)), apply(Fn::Mul, t(k), difference),
                 number(0));
  }
  bool equal(TermId candidate, TermId reference) {
    return equal_by_summands(dag_, {5, 17, true, true}, snapper_, reference_.symbols, candidate,
                             reference);
  }

  TermDag dag_;
  term::Snapper snapper_{{64}};
  Side reference_;
};

TEST_F(SummandsTest, ReferenceBoundsWhatItTakesTheLogarithmOf) {
  TermId c = number(0), r = number(0), wrong = number(0);
  for (int64_t k = 0; k < 500; ++k) {
    c = apply(Fn::Add, c, candidate_term((k * 7) % 500, 0));  // in another order
    wrong = apply(Fn::Add, wrong, candidate_term(k, k == 321 ? 1 : 0));
    r = apply(Fn::Add, r, reference_term(k));
  }
  const TermId n = number(64);
  EXPECT_TRUE(equal(apply(Fn::Div, c, n), apply(Fn::Mul, r, number(0x1p-6))));
  EXPECT_FALSE(equal(apply(Fn::Div, wrong, n), apply(Fn::Div, r, n)));
  EXPECT_FALSE(equal(apply(Fn::Div, c, number(65)), apply(Fn::Div, r, n)));
}

TEST_F(SummandsTest, WhatNoReferenceComputesBoundsNothing) {
  // The logarithm stands in a branch that is taken for t > 1 alone: t < 0 lies in the domain.
  const TermId r =
      apply(Fn::Select, apply(Fn::Gt, t(0), number(1)), apply(Fn::Log, t(0)), apply(Fn::Abs, t(0)));
  const TermId c = apply(Fn::Select, apply(Fn::Gt, t(0), number(1)), apply(Fn::Log, t(0)), t(0));
  EXPECT_FALSE(equal(c, r));
  EXPECT_TRUE(equal(r, r));
  // The candidate takes one where the reference takes none.
  const TermId taken =
      apply(Fn::Select, apply(Fn::Gt, t(0), number(0)), number(0), apply(Fn::Log, t(0)));
  const TermId zero = apply(Fn::Mul, taken, apply(Fn::Sub, p(0), p(0)));
  EXPECT_FALSE(equal(apply(Fn::Add, zero, r), r));
}

TEST_F(SummandsTest, SharedInputsJoinSummands) {
  // max(a, b) + min(a, b) = a + b, with other summands between.
  TermId c = number(0), r = number(0);
  for (int64_t k = 0; k < 64; ++k) {
    c = apply(Fn::Add, c, apply(Fn::Max, t(k), p(k)));
    r = apply(Fn::Add, r, apply(Fn::Add, t(k), p(k)));
  }
  for (int64_t k = 0; k < 64; ++k) c = apply(Fn::Add, apply(Fn::Min, t(k), p(k)), c);
  EXPECT_TRUE(equal(c, r));
  EXPECT_FALSE(equal(apply(Fn::Add, c, t(3)), r));
  EXPECT_FALSE(equal(apply(Fn::Add, c, number(1)), r));
  // One more of the same on one side: what is cancelled is counted.
  const TermId top = apply(Fn::Max, t(0), p(0));
  EXPECT_FALSE(equal(apply(Fn::Add, top, top), top));
  EXPECT_FALSE(equal(top, apply(Fn::Add, top, apply(Fn::Fma, top, number(1), top))));
}

TEST_F(SummandsTest, MeansByConvertedCounts) {
  // Block by block, each divided by the count as a launch is given it: an integer.
  const TermId count = apply(Fn::CvtIF, dag_.integer(640)), half = number(0.5), one = number(1);
  TermId c = number(0), r = number(0), wrong = number(0);
  for (int64_t block = 0; block < 5; ++block) {
    TermId sum = number(0), other = number(0);
    for (int64_t k = block * 128; k < (block + 1) * 128; ++k) {
      const TermId d = apply(Fn::Sub, t(k), p(k)), a = apply(Fn::Abs, d);
      const TermId near = apply(Fn::Mul, d, apply(Fn::Mul, d, half));
      const TermId far = apply(Fn::Add, a, number(-0.5));
      const TermId less = apply(Fn::Lt, a, one);
      sum = apply(Fn::Add, sum, apply(Fn::Select, less, near, far));
      other = apply(Fn::Add, other, apply(Fn::Select, less, near, k == 300 ? a : far));
      const TermId square = apply(Fn::Mul, apply(Fn::Mul, half, a), a);
      r = apply(Fn::Add, r,
                apply(Fn::Select, less, apply(Fn::Div, square, one), apply(Fn::Sub, a, half)));
    }
    c = apply(Fn::Add, c, apply(Fn::Div, sum, count));
    wrong = apply(Fn::Add, wrong, apply(Fn::Div, other, count));
  }
  EXPECT_TRUE(equal(c, apply(Fn::Div, r, number(640))));
  EXPECT_FALSE(equal(wrong, apply(Fn::Div, r, number(640))));
  EXPECT_FALSE(equal(c, apply(Fn::Div, r, number(639))));
}

TEST_F(SummandsTest, OneConstantInVeryManySums) {
  // Threads that all begin with the same number.
  TermId c = number(0), r = number(0);
  for (int64_t k = 0; k < 100'000; ++k) {
    c = apply(Fn::Add, apply(Fn::Add, number(2), t(k)), c);
    r = apply(Fn::Add, r, t(k));
  }
  EXPECT_TRUE(equal(c, apply(Fn::Add, r, number(200'000))));
  EXPECT_FALSE(equal(c, apply(Fn::Add, r, number(200'001))));
}

}  // namespace
}  // namespace assay::check
