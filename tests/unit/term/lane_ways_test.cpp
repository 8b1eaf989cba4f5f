// Ways of their own for single lanes and for intervals without bounds give what the others give.
#include <gtest/gtest.h>

#include <random>

#include "term/field_domain.h"
#include "term/interval_domain.h"

namespace assay::term {
namespace {

TEST(LaneWays, OneSymbolAsARowOfThem) {
  const Snapper snapper({64});
  FieldDomain domain({3, 17, true}, snapper);
  int64_t elements[kRow];
  for (int l = 0; l < kRow; ++l) elements[l] = 1000 - 37 * l;
  FieldDomain::Row row, one;
  domain.symbol(5, Ty::F32, elements, ~0u, row);
  for (int l = 0; l < kRow; ++l) {
    domain.symbol(5, Ty::F32, elements, 1u << l, one);
    EXPECT_EQ(one.v[l], row.v[l]);
    EXPECT_EQ(one.e[l], row.e[l]);
  }
}

TEST(LaneWays, FusedProductsAsRowsOfThem) {
  const PrimePair primes(4);
  std::mt19937_64 rng(11);
  const auto element = [&](const Modulus& m) {
    return static_cast<double>(rng() % static_cast<uint64_t>(m.p));
  };
  for (int again = 0; again < 200; ++again) {
    double x[2][3][kRow], out[2][kRow];
    const Modulus* m[2] = {&primes.p, &primes.q};
    for (size_t k = 0; k < 2; ++k) {
      for (auto& operand : x[k])
        for (double& v : operand) v = again == 0 ? m[k]->p - 1 : element(*m[k]);
      row_fma(*m[k], x[k][0], x[k][1], x[k][2], out[k]);
    }
    for (int l = 0; l < kRow; ++l) {
      double v = -1, e = -1;
      f_fma2(primes.p, primes.q, x[0][0][l], x[0][1][l], x[0][2][l], x[1][0][l], x[1][1][l],
             x[1][2][l], &v, &e);
      ASSERT_EQ(v, out[0][l]);
      ASSERT_EQ(e, out[1][l]);
      ASSERT_EQ(v, f_add(primes.p, f_mul(primes.p, x[0][0][l], x[0][1][l]), x[0][2][l]));
    }
  }
}

TEST(LaneWays, ProductsOfUnboundedIntervals) {
  IntervalDomain domain;
  const auto product = [&](double alo, double ahi, double blo, double bhi) {
    IntervalDomain::Row a, b, out;
    for (auto* r : {&a, &b, &out}) domain.clear(*r);
    a.lo[0] = alo, a.hi[0] = ahi, b.lo[0] = blo, b.hi[0] = bhi;
    domain.apply(Fn::Mul, Ty::F32, {}, &a, &b, nullptr, nullptr, out, 1);
    return std::make_pair(out.lo[0], out.hi[0]);
  };
  const std::pair<double, double> all{-INFINITY, INFINITY}, zero{0, 0};
  for (const auto& [lo, hi] : {all, std::pair<double, double>{0, 1}, {-3, 0}, {-1, 2}, {5, 5}}) {
    EXPECT_EQ(product(-INFINITY, INFINITY, lo, hi), all) << lo << " " << hi;
    EXPECT_EQ(product(lo, hi, -INFINITY, INFINITY), all) << lo << " " << hi;
  }
  EXPECT_EQ(product(-INFINITY, INFINITY, 0, 0), zero);
  EXPECT_EQ(product(0, 0, -INFINITY, INFINITY), zero);
  EXPECT_EQ(product(0, INFINITY, -2, 3), all);
  EXPECT_EQ(product(0, INFINITY, 2, 3), std::make_pair(0.0, double{INFINITY}));
}

}  // namespace
}  // namespace assay::term
