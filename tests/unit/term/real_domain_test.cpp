// What counts as leaving the range of f64: an infinity away from a pole, a 0 that is none.
#include "term/real_domain.h"

#include <gtest/gtest.h>

#include <cmath>

namespace assay::term {
namespace {

struct NoInputs : InputModel {
  void values(uint64_t, Ty, const int64_t*, uint32_t, double*) const override {}
};

struct Outcome {
  double value;
  uint64_t undefined, overflowed;
};

Outcome apply(Fn fn, double x, double y = 0) {
  const NoInputs inputs;
  const Snapper snapper({});
  RealDomain domain(inputs, snapper);
  RealDomain::Row a, b, out;
  domain.set_number(Ty::F64, x, a);
  domain.set_number(Ty::F64, y, b);
  domain.apply(fn, Ty::F64, {}, &a, &b, nullptr, nullptr, out, 1);
  return {out.v[0], domain.undefined, domain.overflowed};
}

TEST(RealDomain, PolesAreNoOverflow) {
  for (Fn fn : {Fn::Log, Fn::Log2, Fn::Log10}) {
    EXPECT_EQ(apply(fn, 0).value, -INFINITY);
    EXPECT_EQ(apply(fn, 0).overflowed, 0u);
  }
  EXPECT_EQ(apply(Fn::Log1p, -1).overflowed, 0u);
  EXPECT_EQ(apply(Fn::Div, 1, 0).overflowed, 0u);
  EXPECT_EQ(apply(Fn::Log, -1).undefined, 1u);
  EXPECT_EQ(apply(Fn::Exp, 1e4).overflowed, 1u);
}

TEST(RealDomain, AProductThatUnderflowsIsOutOfRange) {
  EXPECT_EQ(apply(Fn::Mul, 1e-200, 1e-200).overflowed, 1u);
  EXPECT_EQ(apply(Fn::Mul, 0, 1e-200).overflowed, 0u);
  EXPECT_EQ(apply(Fn::Mul, 1e-200, 0).overflowed, 0u);
  EXPECT_EQ(apply(Fn::Mul, 1e-100, 1e-100).overflowed, 0u);
  EXPECT_EQ(apply(Fn::Div, 1e-200, 1e200).overflowed, 1u);
  EXPECT_EQ(apply(Fn::Div, 0, 3).overflowed, 0u);
  EXPECT_EQ(apply(Fn::Exp, -1e4).overflowed, 1u);
  EXPECT_EQ(apply(Fn::Erfc, 50).overflowed, 1u);
}

}  // namespace
}  // namespace assay::term
