// Functions against a wider evaluation, identities and published values.
#include <gtest/gtest.h>

#include <functional>

#include "tests/unit/base/ieee_reference.h"

namespace assay {
namespace {

uint64_t bits32(float v) { return std::bit_cast<uint32_t>(v); }
uint64_t bits64(double v) { return std::bit_cast<uint64_t>(v); }
float run32(Fn fn, float x, float y = 0, const Mods& m = {}) {
  return std::bit_cast<float>(
      static_cast<uint32_t>(ieee_apply1(fn, Ty::F32, m, bits32(x), bits32(y))));
}
double run64(Fn fn, double x, double y = 0) {
  return std::bit_cast<double>(ieee_apply1(fn, Ty::F64, Mods{}, bits64(x), bits64(y)));
}

// In units in the last place of float.
double ulp_error(float got, long double want) {
  const float w = static_cast<float>(want);
  if (std::isinf(w) || w == 0) return got == w ? 0 : 1e9;
  const double ulp = std::max(std::ldexp(1.0, std::ilogb(w) - 23), std::ldexp(1.0, -149));
  return std::fabs(static_cast<double>((got - want) / ulp));
}

struct Row {
  Fn fn;
  std::function<long double(long double)> f;
  float lo, hi;
};

TEST(IeeeMath, F32IsTheRoundedValue) {
  const Row rows[] = {
      {Fn::Rsqrt, [](long double x) { return 1 / std::sqrt(x); }, 1e-38f, 1e38f},
      {Fn::Exp, [](long double x) { return std::exp(x); }, -104, 89},
      {Fn::Exp2, [](long double x) { return std::exp2(x); }, -150, 128},
      {Fn::Exp10, [](long double x) { return std::pow(10.0L, x); }, -45, 38},
      {Fn::Expm1, [](long double x) { return std::expm1(x); }, -20, 80},
      {Fn::Log, [](long double x) { return std::log(x); }, 1e-40f, 1e38f},
      {Fn::Log2, [](long double x) { return std::log2(x); }, 0.5f, 2},
      {Fn::Log10, [](long double x) { return std::log10(x); }, 1e-30f, 1e30f},
      {Fn::Log1p, [](long double x) { return std::log1p(x); }, -0.999f, 10},
      {Fn::Sin, [](long double x) { return std::sin(x); }, -1e5f, 1e5f},
      {Fn::Cos, [](long double x) { return std::cos(x); }, -10, 10},
      {Fn::Tan, [](long double x) { return std::tan(x); }, -10, 10},
      {Fn::Asin, [](long double x) { return std::asin(x); }, -1, 1},
      {Fn::Acos, [](long double x) { return std::acos(x); }, -1, 1},
      {Fn::Atan, [](long double x) { return std::atan(x); }, -100, 100},
      {Fn::Sinh, [](long double x) { return std::sinh(x); }, -80, 80},
      {Fn::Cosh, [](long double x) { return std::cosh(x); }, -80, 80},
      {Fn::Tanh, [](long double x) { return std::tanh(x); }, -10, 10},
      {Fn::Asinh, [](long double x) { return std::asinh(x); }, -1e9f, 1e9f},
      {Fn::Acosh, [](long double x) { return std::acosh(x); }, 1, 1e9f},
      {Fn::Atanh, [](long double x) { return std::atanh(x); }, -0.9999f, 0.9999f},
      {Fn::Erf, [](long double x) { return std::erf(x); }, -4, 4},
      {Fn::Erfc, [](long double x) { return std::erfc(x); }, -4, 10},
      {Fn::Normcdf, [](long double x) { return std::erfc(-x * std::sqrt(0.5L)) / 2; }, -14, 6},
      {Fn::Tgamma, [](long double x) { return std::tgamma(x); }, 0.01f, 35},
      {Fn::Cbrt, [](long double x) { return std::cbrt(x); }, -1e30f, 1e30f},
      {Fn::Rcbrt, [](long double x) { return 1 / std::cbrt(x); }, 1e-30f, 1e30f},
  };
  std::mt19937 rng(8);
  for (const Row& r : rows) {
    std::uniform_real_distribution<float> d(r.lo, r.hi);
    for (int i = 0; i < 4000; ++i) {
      float x = d(rng);
      if (r.lo > 0 && i % 2 == 0)
        x = r.lo * std::pow(r.hi / r.lo, std::uniform_real_distribution<float>()(rng));
      if (!std::isfinite(x)) continue;
      ASSERT_LE(ulp_error(run32(r.fn, x), r.f(x)), 0.5001) << info(r.fn).name << " " << x;
    }
  }
}

TEST(IeeeMath, SpecialValuesOfApproximateForms) {
  Mods m;
  m.approx = true;
  const float inf = INFINITY;
  EXPECT_EQ(bits32(run32(Fn::Rcp, -0.0f, 0, m)), bits32(-inf));
  EXPECT_EQ(bits32(run32(Fn::Rcp, -inf, 0, m)), bits32(-0.0f));
  EXPECT_EQ(bits32(run32(Fn::Rsqrt, -0.0f, 0, m)), bits32(-inf));
  EXPECT_EQ(bits32(run32(Fn::Rsqrt, inf, 0, m)), 0u);
  EXPECT_EQ(bits32(run32(Fn::Rsqrt, -1.0f, 0, m)), 0x7fffffffu);
  EXPECT_EQ(bits32(run32(Fn::Sqrt, -0.0f, 0, m)), bits32(-0.0f));
  EXPECT_EQ(bits32(run32(Fn::Exp2, -inf, 0, m)), 0u);
  EXPECT_EQ(bits32(run32(Fn::Log2, 0.0f, 0, m)), bits32(-inf));
  EXPECT_EQ(bits32(run32(Fn::Log2, -1.0f, 0, m)), 0x7fffffffu);
  EXPECT_EQ(bits32(run32(Fn::Sin, inf, 0, m)), 0x7fffffffu);
  EXPECT_EQ(bits32(run32(Fn::Tanh, -inf, 0, m)), bits32(-1.0f));
  m.ftz = true;
  EXPECT_EQ(bits32(run32(Fn::Rcp, 0x1p-140f, 0, m)), bits32(inf));
  EXPECT_EQ(bits32(run32(Fn::Exp2, -127.0f, 0, m)), 0u);
  EXPECT_EQ(bits32(run32(Fn::Log2, 0x1p-140f, 0, m)), bits32(-inf));
}

// Seeds of nvcc's f64 division and root: 20 bits, zero lower half, specials of PTX ISA 9.7.3.
TEST(IeeeMath, F64Seeds) {
  Mods m;
  m.approx = m.ftz = true;
  std::mt19937_64 rng(6);
  for (int i = 0; i < 10000; ++i) {
    const double x = std::ldexp(1.0 + static_cast<double>(rng() >> 12) * 0x1p-52,
                                static_cast<int>(rng() % 2000) - 1000);
    const uint64_t rcp = ieee_apply1(Fn::Rcp, Ty::F64, m, bits64(x));
    const uint64_t rsq = ieee_apply1(Fn::Rsqrt, Ty::F64, m, bits64(x));
    ASSERT_EQ(rcp & 0xffffffff, 0u);
    ASSERT_EQ(rsq & 0xffffffff, 0u);
    ASSERT_NEAR(std::bit_cast<double>(rcp) * x, 1, 0x1p-19);
    ASSERT_NEAR(std::bit_cast<double>(rsq) * std::sqrt(x), 1, 0x1p-19);
  }
  EXPECT_EQ(ieee_apply1(Fn::Rcp, Ty::F64, m, 0x8000000000000001), bits64(-INFINITY));
  EXPECT_EQ(ieee_apply1(Fn::Rcp, Ty::F64, m, bits64(-INFINITY)), bits64(-0.0));
  EXPECT_EQ(ieee_apply1(Fn::Rcp, Ty::F64, m, bits64(1e308 * 1.7)), 0u);  // subnormal result
}

TEST(IeeeMath, SpecialFunctions) {
  // Values from DLMF tables (10 digits and more), and identities.
  EXPECT_NEAR(run64(Fn::I0, 1), 1.2660658777520083356, 4e-16);
  EXPECT_NEAR(run64(Fn::I1, 1), 0.56515910399248502721, 2e-16);
  EXPECT_NEAR(run64(Fn::I0, 20) / 43558282.559553533, 1, 1e-15);
  EXPECT_NEAR(run64(Fn::J0, 2), 0.22389077914123566805, 1e-16);
  EXPECT_NEAR(run64(Fn::J1, 2), 0.57672480775687338720, 2e-16);
  EXPECT_NEAR(run64(Fn::Y0, 2), 0.51037567264974511960, 2e-16);
  EXPECT_NEAR(run64(Fn::Y1, 2), -0.10703243154093754689, 1e-16);
  EXPECT_NEAR(run64(Fn::Erfcx, 1), 0.42758357615580700442, 1e-16);
  EXPECT_NEAR(run64(Fn::Erfcx, 1e8) * 1e8, 0.56418958354775628, 2e-16);
  EXPECT_NEAR(run64(Fn::Lgamma, 10), 12.801827480081469611, 2e-15);
  EXPECT_NEAR(run64(Fn::Lgamma, -0.5), 1.2655121234846454, 4e-16);
  EXPECT_NEAR(run64(Fn::Normcdfinv, 0.975), 1.9599639845400542355, 2e-15);
  // The two branches of erfcx meet.
  EXPECT_NEAR(run64(Fn::Erfcx, 10) / run64(Fn::Erfcx, std::nextafter(10, 0)), 1, 1e-15);
  std::mt19937_64 rng(2);
  for (int i = 0; i < 3000; ++i) {
    const double y = std::uniform_real_distribution<double>(-1, 1)(rng);
    const double x = run64(Fn::Erfinv, y);
    ASSERT_NEAR(std::erf(x), y, 3e-16);
    const double z = std::pow(10.0, std::uniform_real_distribution<double>(-290, 0)(rng));
    ASSERT_NEAR(static_cast<double>(std::erfc(static_cast<long double>(run64(Fn::Erfcinv, z))) / z),
                1, 3e-13);
    ASSERT_NEAR(run64(Fn::Erfcinv, 2 - y - 1), run64(Fn::Erfinv, 1 - (2 - y - 1)),
                1e-14 * (1 + std::fabs(x)));
    const double t = std::uniform_real_distribution<double>(-6, 6)(rng);
    ASSERT_NEAR(run64(Fn::Sinpi, t), std::sin(3.14159265358979323846L * t), 1e-15);
    ASSERT_NEAR(run64(Fn::Cospi, t), std::cos(3.14159265358979323846L * t), 1e-15);
  }
  EXPECT_EQ(run64(Fn::Erfinv, 1), INFINITY);
  EXPECT_TRUE(std::isnan(run64(Fn::Erfinv, 1.5)));
  EXPECT_EQ(run64(Fn::Sinpi, 3), 0);
  EXPECT_EQ(run64(Fn::Sinpi, 2.5), 1);
  EXPECT_EQ(run64(Fn::Sinpi, -0.5), -1);
  EXPECT_EQ(run64(Fn::Cospi, 1.5), 0);
  EXPECT_EQ(run64(Fn::Cospi, 1e15 + 1), -1);
  EXPECT_EQ(run64(Fn::Erfcx, -30), INFINITY);
}

TEST(IeeeMath, IntegralRoundingAndRemainders) {
  EXPECT_EQ(run32(Fn::Rint, 2.5f), 2);
  EXPECT_EQ(run32(Fn::Round, 2.5f), 3);
  EXPECT_EQ(run32(Fn::Trunc, -2.5f), -2);
  EXPECT_EQ(run32(Fn::Floor, -2.5f), -3);
  EXPECT_EQ(bits32(run32(Fn::Ceil, -0.5f)), bits32(-0.0f));
  EXPECT_EQ(run64(Fn::Rint, 0.49999999999999994), 0);
  std::mt19937 rng(3);
  for (int i = 0; i < 20000; ++i) {
    const float x = std::ldexp(std::uniform_real_distribution<float>(-1, 1)(rng),
                               static_cast<int>(rng() % 60) - 20);
    const float y = std::ldexp(std::uniform_real_distribution<float>(0.5f, 1)(rng),
                               static_cast<int>(rng() % 20) - 10);
    ASSERT_EQ(run32(Fn::Fmod, x, y), std::fmod(x, y));
    ASSERT_EQ(run32(Fn::Remainder, x, y), std::remainder(x, y));
    ASSERT_EQ(run32(Fn::Fdim, x, y), std::fdim(x, y));
    ASSERT_EQ(run32(Fn::Nextafter, x, y), std::nextafter(x, y));
    ASSERT_EQ(run32(Fn::Floor, x), std::floor(x));
    ASSERT_EQ(run32(Fn::Logb, x), std::logb(x));
    const int n = static_cast<int>(rng() % 400) - 200;
    ASSERT_EQ(ieee_apply1(Fn::Ldexp, Ty::F32, Mods{}, bits32(x), static_cast<uint32_t>(n)),
              bits32(std::ldexp(x, n)));
    int e = 0;
    ASSERT_EQ(run32(Fn::FrexpMant, x), std::frexp(x, &e));
    ASSERT_EQ(ieee_apply1(Fn::FrexpExp, Ty::F32, Mods{}, bits32(x)), static_cast<uint32_t>(e));
  }
  EXPECT_EQ(run32(Fn::Nextafter, 0.0f, -1.0f), -0x1p-149f);
  EXPECT_EQ(run32(Fn::Pow, 2, 10), 1024);
  EXPECT_EQ(run32(Fn::Hypot, 3e30f, 4e30f), 5e30f);
  EXPECT_EQ(run64(Fn::Atan2, -1, -1), std::atan2(-1.0, -1.0));
  EXPECT_EQ(ieee_apply1(Fn::Ldexp, Ty::F64, Mods{}, bits64(1), static_cast<uint32_t>(-1080)), 0u);
  EXPECT_EQ(ieee_apply1(Fn::Ldexp, Ty::F64, Mods{}, bits64(1), static_cast<uint32_t>(-1074)), 1u);
}

TEST(IeeeMath, F16FunctionsExhaustively) {
  const auto& f = testing::f16_format();
  for (uint64_t u = 0; u < 0x10000; ++u) {
    const double x = testing::small_to_double(f, u);
    if (!std::isfinite(x)) continue;
    const auto check = [&](Fn fn, long double want) {
      if (!std::isfinite(want)) return;
      ASSERT_EQ(
          ieee_apply1(fn, Ty::F16, Mods{}, u),
          testing::small_round(f, static_cast<__float128>(want), Round::Rn, std::signbit(want)))
          << info(fn).name << " " << x;
    };
    check(Fn::Exp2, std::exp2(static_cast<long double>(x)));
    check(Fn::Tanh, std::tanh(static_cast<long double>(x)));
    check(Fn::Sin, std::sin(static_cast<long double>(x)));
    check(Fn::Rint, std::nearbyint(x));
    if (x > 0) check(Fn::Log2, std::log2(static_cast<long double>(x)));
    if (x > 0) check(Fn::Rsqrt, 1 / std::sqrt(static_cast<long double>(x)));
  }
}

}  // namespace
}  // namespace assay
