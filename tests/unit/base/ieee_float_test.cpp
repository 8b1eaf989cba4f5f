// Float arithmetic against the processor (fesetround), __float128 and enumerated small formats.
#include <gtest/gtest.h>

#include <cfenv>
#include <tuple>

#include "base/ieee_impl.h"
#include "tests/unit/base/ieee_reference.h"

namespace assay {
namespace {

using testing::kRounds;
using testing::Patterns;

Mods mods_of(Round round, bool ftz = false, bool sat = false) {
  Mods m;
  m.round = round;
  m.ftz = ftz;
  m.sat = sat;
  return m;
}

int fe_mode(Round r) {
  switch (r) {
    case Round::Rz:
      return FE_TOWARDZERO;
    case Round::Rm:
      return FE_DOWNWARD;
    case Round::Rp:
      return FE_UPWARD;
    default:
      return FE_TONEAREST;
  }
}

// Runs on the processor in the given mode; volatile keeps operations between the two calls.
template <class T>
T hardware(Fn fn, T x, T y, T z, Round round) {
  volatile T a = x, b = y, c = z, r = 0;
  std::fesetround(fe_mode(round));
  switch (fn) {
    case Fn::Add:
      r = a + b;
      break;
    case Fn::Sub:
      r = a - b;
      break;
    case Fn::Mul:
      r = a * b;
      break;
    case Fn::Div:
      r = a / b;
      break;
    case Fn::Rcp:
      r = T{1} / a;
      break;
    case Fn::Sqrt:
      r = std::sqrt(a);
      break;
    default:
      r = std::fma(a, b, c);
      break;
  }
  std::fesetround(FE_TONEAREST);
  return r;
}

constexpr Fn kArithmetic[] = {Fn::Add, Fn::Sub, Fn::Mul, Fn::Div, Fn::Rcp, Fn::Sqrt, Fn::Fma};

template <class T, class U>
void check_against_hardware(Ty type, int mant, int exp_bits, U canonical) {
  for (Fn fn : kArithmetic) {
    for (Round round : kRounds) {
      Patterns p(mant, exp_bits);
      for (int i = 0; i < 20000; ++i) {
        const U a = static_cast<U>(p.next()), b = static_cast<U>(p.next());
        U c = static_cast<U>(p.next());
        if (i % 5 == 0) {  // near cancellation of a*b + c
          c = std::bit_cast<U>(-(std::bit_cast<T>(a) * std::bit_cast<T>(b)));
        }
        const T want =
            hardware(fn, std::bit_cast<T>(a), std::bit_cast<T>(b), std::bit_cast<T>(c), round);
        const uint64_t got = ieee_apply1(fn, type, mods_of(round), a, b, c);
        const U want_bits = std::isnan(want) ? canonical : std::bit_cast<U>(want);
        ASSERT_EQ(got, want_bits) << info(fn).name << " mode " << static_cast<int>(round)
                                  << std::hex << " a " << +a << " b " << +b << " c " << +c;
      }
    }
  }
}

TEST(IeeeFloat, F32EveryModeMatchesTheProcessor) {
  check_against_hardware<float, uint32_t>(Ty::F32, 23, 8, 0x7fffffffu);
}
TEST(IeeeFloat, F64EveryModeMatchesTheProcessor) {
  check_against_hardware<double, uint64_t>(Ty::F64, 52, 11, 0x7fffffffffffffffu);
}

// Both vectorised versions agree with the one-lane path through the same entry point.
TEST(IeeeFloat, BatchesEqualLanes) {
  constexpr int kN = 321;
  for (auto [type, mant, exp_bits] :
       {std::tuple{Ty::F32, 23, 8}, {Ty::F64, 52, 11}, {Ty::F16, 10, 5}, {Ty::BF16, 7, 8}}) {
    Patterns p(mant, exp_bits);
    std::vector<uint64_t> a(kN), b(kN), c(kN), out(kN);
    for (int l = 0; l < kN; ++l) a[l] = p.next(), b[l] = p.next(), c[l] = p.next();
    for (int f = 0; f < static_cast<int>(Fn::Count); ++f) {
      const Fn fn = static_cast<Fn>(f);
      for (bool ftz : {false, true}) {
        const Mods m = mods_of(Round::Rn, ftz);
        if (!ieee_defined(fn, type, m)) continue;
        ieee_apply(fn, type, m, a.data(), b.data(), c.data(), nullptr, out.data(), kN);
        for (int l = 0; l < kN; ++l) {
          ASSERT_EQ(out[l], ieee_apply1(fn, type, m, a[l], b[l], c[l])) << info(fn).name;
        }
        std::vector<uint64_t> in_place = a;
        ieee_apply(fn, type, m, in_place.data(), b.data(), c.data(), nullptr, in_place.data(), kN);
        ASSERT_EQ(in_place, out) << info(fn).name;
      }
    }
  }
}

// The loops for any processor equal those for AVX2, which the other tests run where there is one.
TEST(IeeeFloat, BaselineLoopsEqualAvx2Loops) {
  if (!ieee::has_avx2()) GTEST_SKIP() << "no AVX2";
  constexpr int kN = 997;
  std::mt19937_64 rng(11);
  const auto compare = [&](ieee::FastFn x, ieee::FastFn y, Ty operands, const std::string& what) {
    ASSERT_EQ(x == nullptr, y == nullptr) << what;
    if (x == nullptr) return;
    std::vector<uint64_t> v[3], out_x(kN), out_y(kN);
    for (auto& w : v) w.resize(kN);
    const int mant = operands == Ty::F64    ? 52
                     : operands == Ty::F16  ? 10
                     : operands == Ty::BF16 ? 7
                                            : 23;
    Patterns p(mant, mant == 52 ? 11 : mant == 10 ? 5 : 8);
    const uint64_t mask = bits(operands) >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits(operands)) - 1;
    for (int l = 0; l < kN; ++l) {
      for (auto& w : v) w[l] = is_float(operands) ? p.next() : rng() >> (rng() % 64) & mask;
    }
    x({v[0].data(), v[1].data(), v[2].data(), nullptr, out_x.data(), kN});
    y({v[0].data(), v[1].data(), v[2].data(), nullptr, out_y.data(), kN});
    ASSERT_EQ(out_x, out_y) << what;
  };
  for (size_t t = 0; t < std::size(kTyInfo); ++t) {
    const Ty type = static_cast<Ty>(t);
    for (int f = 0; f < static_cast<int>(Fn::Count); ++f) {
      const Fn fn = static_cast<Fn>(f);
      const std::string what = std::string(info(fn).name) + " " + std::string(info(type).text);
      for (bool ftz : {false, true}) {
        compare(ieee::fast_baseline(fn, type, ftz), ieee::fast_avx2(fn, type, ftz), type, what);
      }
      for (size_t s = 0; s < std::size(kTyInfo); ++s) {
        const Ty from = static_cast<Ty>(s);
        compare(ieee::fast_cvt_baseline(fn, type, from), ieee::fast_cvt_avx2(fn, type, from), from,
                what);
      }
    }
  }
}

// Small formats: exact __float128 result, rounded by search. bf16 fma operands are kept within 113
// bits of one another.
void check_small(Ty type, const testing::SmallFormat& f) {
  for (Fn fn : {Fn::Add, Fn::Sub, Fn::Mul, Fn::Fma}) {
    for (Round round : kRounds) {
      Patterns p(f.mant, f.exp_bits);
      for (int i = 0; i < 100000; ++i) {
        const uint64_t a = p.next(), b = p.next(), c = p.next();
        const double x = testing::small_to_double(f, a), y = testing::small_to_double(f, b),
                     z = testing::small_to_double(f, c);
        if (!std::isfinite(x) || !std::isfinite(y) || !std::isfinite(z)) continue;
        const __float128 xq = x, yq = fn == Fn::Sub ? -y : y, zq = z;
        const bool product = fn == Fn::Mul || fn == Fn::Fma;
        const __float128 first = product ? xq * yq : xq;
        const __float128 second = fn == Fn::Fma ? zq : (product ? 0 : yq);
        const __float128 sum = first + second;
        if (sum - first != second || sum - second != first) continue;  // not exact
        bool negative_zero = product && fn == Fn::Mul && std::signbit(x) != std::signbit(y);
        if (fn != Fn::Mul) {
          const bool s1 = product ? std::signbit(x) != std::signbit(y) : std::signbit(x);
          const bool s2 = fn == Fn::Fma ? std::signbit(z) : std::signbit(y) != (fn == Fn::Sub);
          const bool both_zero = first == 0 && second == 0;
          negative_zero = both_zero && s1 == s2 ? s1 : round == Round::Rm;
        }
        const uint64_t want = testing::small_round(f, sum, round, negative_zero);
        ASSERT_EQ(ieee_apply1(fn, type, mods_of(round), a, b, c), want)
            << info(fn).name << " mode " << static_cast<int>(round) << std::hex << " a " << a
            << " b " << b << " c " << c;
      }
    }
  }
}

TEST(IeeeFloat, F16ArithmeticIsExactThenRoundedOnce) {
  check_small(Ty::F16, testing::f16_format());
}
TEST(IeeeFloat, BF16ArithmeticIsExactThenRoundedOnce) {
  check_small(Ty::BF16, testing::bf16_format());
}

TEST(IeeeFloat, F16DivisionAndRootSatisfyTheirDefinition) {
  const auto& f = testing::f16_format();
  for (Round round : kRounds) {
    Patterns p(10, 5);
    for (int i = 0; i < 50000; ++i) {
      const uint64_t a = p.next() & 0x7fff, b = p.next() & 0x7fff;
      const double x = testing::small_to_double(f, a), y = testing::small_to_double(f, b);
      if (!std::isfinite(x) || !std::isfinite(y) || y == 0) continue;
      // 113 bits of the quotient decide every rounding: a quotient of 11-bit numbers is either
      // exact or differs from a midpoint in its first 24 bits.
      const __float128 q = static_cast<__float128>(x) / y;
      ASSERT_EQ(ieee_apply1(Fn::Div, Ty::F16, mods_of(round), a, b),
                testing::small_round(f, q, round, false));
    }
    for (uint64_t a = 0; a < f.infinity(); ++a) {
      const uint64_t r = ieee_apply1(Fn::Sqrt, Ty::F16, mods_of(round), a);
      const double x = testing::small_to_double(f, a), v = testing::small_to_double(f, r);
      const double below = r == 0 ? 0 : testing::small_to_double(f, r - 1);
      const double above = testing::small_to_double(f, r + 1);
      switch (round) {
        case Round::Rm:
        case Round::Rz:
          ASSERT_TRUE(v * v <= x && above * above > x) << a;
          break;
        case Round::Rp:
          ASSERT_TRUE(v * v >= x && (r == 0 || below * below < x)) << a;
          break;
        default: {
          const double m1 = (v + below) / 2, m2 = (v + above) / 2;
          ASSERT_TRUE(m1 * m1 <= x && x <= m2 * m2) << a;
        }
      }
    }
  }
}

TEST(IeeeFloat, FlushToZeroKeepsSigns) {
  const Mods m = mods_of(Round::Rn, true);
  EXPECT_EQ(ieee_apply1(Fn::Add, Ty::F32, m, 0x80000001, 0x80000000), 0x80000000u);
  EXPECT_EQ(ieee_apply1(Fn::Mul, Ty::F32, m, 0x00fffffe, 0xbf000000), 0x80000000u);  // result
  EXPECT_EQ(ieee_apply1(Fn::Mul, Ty::F32, mods_of(Round::Rn), 0x00fffffe, 0xbf000000), 0x807fffffu);
  EXPECT_EQ(ieee_apply1(Fn::Lt, Ty::F32, m, 0, 1), 0u);  // subnormal operand is zero
  EXPECT_EQ(ieee_apply1(Fn::Lt, Ty::F32, mods_of(Round::Rn), 0, 1), 1u);
  EXPECT_EQ(ieee_apply1(Fn::Abs, Ty::F32, m, 0x80000001), 0u);
  EXPECT_EQ(ieee_apply1(Fn::Max, Ty::F32, m, 1, 0x80000000), 0u);
  EXPECT_EQ(ieee_apply1(Fn::Mul, Ty::F32, mods_of(Round::Rp, true), 0x00800000, 0x3f000000), 0u);
}

TEST(IeeeFloat, SaturationClampsToTheUnitInterval) {
  const Mods m = mods_of(Round::Rn, false, true);
  EXPECT_EQ(ieee_apply1(Fn::Add, Ty::F32, m, 0x3f800000, 0x3f800000), 0x3f800000u);
  EXPECT_EQ(ieee_apply1(Fn::Add, Ty::F32, m, 0xbf800000, 0), 0u);
  EXPECT_EQ(ieee_apply1(Fn::Fma, Ty::F32, m, 0x7fc00000, 0, 0), 0u);
  EXPECT_EQ(ieee_apply1(Fn::Mul, Ty::F32, m, 0x3f000000, 0x3f000000), 0x3e800000u);
  EXPECT_EQ(ieee_apply1(Fn::Sat, Ty::F16, Mods{}, 0x4000), 0x3c00u);
  EXPECT_EQ(ieee_apply1(Fn::Sat, Ty::F64, Mods{}, 0xfff0000000000000), 0u);
}

// PTX ISA min/max: NaN loses against a number, -0 < +0, .NaN propagates as the canonical NaN.
TEST(IeeeFloat, MinMax) {
  for (auto [type, mant, exp_bits] :
       {std::tuple{Ty::F32, 23, 8}, {Ty::F64, 52, 11}, {Ty::F16, 10, 5}, {Ty::BF16, 7, 8}}) {
    Patterns p(mant, exp_bits);
    const uint64_t sign = uint64_t{1} << (mant + exp_bits);
    for (int i = 0; i < 20000; ++i) {
      const uint64_t a = p.next(), b = p.next();
      const double x = ieee_to_double(type, a), y = ieee_to_double(type, b);
      Mods nan;
      nan.nan = true;
      const uint64_t lo = ieee_apply1(Fn::Min, type, Mods{}, a, b);
      const uint64_t hi = ieee_apply1(Fn::Max, type, Mods{}, a, b);
      if (std::isnan(x) || std::isnan(y)) {
        EXPECT_TRUE(testing::is_nan_bits(type, ieee_apply1(Fn::Max, type, nan, a, b)));
        EXPECT_TRUE(testing::is_nan_bits(type, ieee_apply1(Fn::Min, type, nan, a, b)));
        if (std::isnan(x) && std::isnan(y)) {
          EXPECT_TRUE(testing::is_nan_bits(type, lo) && testing::is_nan_bits(type, hi));
        } else {
          EXPECT_EQ(lo, std::isnan(x) ? b : a);
          EXPECT_EQ(hi, std::isnan(x) ? b : a);
        }
        continue;
      }
      EXPECT_EQ(hi, ieee_apply1(Fn::Max, type, nan, a, b));
      if (x == 0 && y == 0) {
        EXPECT_EQ(lo, a == sign || b == sign ? sign : 0);
        EXPECT_EQ(hi, a == 0 || b == 0 ? 0 : sign);
      } else {
        EXPECT_EQ(lo, x < y ? a : (y < x ? b : a));
        EXPECT_EQ(hi, x > y ? a : (y > x ? b : a));
      }
    }
  }
}

TEST(IeeeFloat, ComparisonsOrderedAndUnordered) {
  const uint64_t one = 0x3f800000, two = 0x40000000, nan = 0x7fc00000;
  struct Row {
    Fn fn;
    bool lt, eq, gt, un;
  };
  const Row rows[] = {{Fn::Eq, false, true, false, false}, {Fn::Ne, true, false, true, false},
                      {Fn::Lt, true, false, false, false}, {Fn::Le, true, true, false, false},
                      {Fn::Gt, false, false, true, false}, {Fn::Ge, false, true, true, false},
                      {Fn::Equ, false, true, false, true}, {Fn::Neu, true, false, true, true},
                      {Fn::Ltu, true, false, false, true}, {Fn::Leu, true, true, false, true},
                      {Fn::Gtu, false, false, true, true}, {Fn::Geu, false, true, true, true},
                      {Fn::Num, true, true, true, false},  {Fn::Nan, false, false, false, true}};
  for (const Row& r : rows) {
    for (auto [type, shift] : {std::pair{Ty::F32, 0}, {Ty::BF16, 16}}) {
      EXPECT_EQ(ieee_apply1(r.fn, type, Mods{}, one >> shift, two >> shift), r.lt ? 1u : 0u);
      EXPECT_EQ(ieee_apply1(r.fn, type, Mods{}, one >> shift, one >> shift), r.eq ? 1u : 0u);
      EXPECT_EQ(ieee_apply1(r.fn, type, Mods{}, two >> shift, one >> shift), r.gt ? 1u : 0u);
      EXPECT_EQ(ieee_apply1(r.fn, type, Mods{}, one >> shift, nan >> shift), r.un ? 1u : 0u);
      EXPECT_EQ(ieee_apply1(r.fn, type, Mods{}, nan >> shift, nan >> shift), r.un ? 1u : 0u);
    }
    const uint64_t d1 = 0x3ff0000000000000, d2 = 0x4000000000000000, dn = 0x7ff8000000000000;
    EXPECT_EQ(ieee_apply1(r.fn, Ty::F64, Mods{}, d1, d2), r.lt ? 1u : 0u);
    EXPECT_EQ(ieee_apply1(r.fn, Ty::F64, Mods{}, d2, d1), r.gt ? 1u : 0u);
    EXPECT_EQ(ieee_apply1(r.fn, Ty::F64, Mods{}, dn, d1), r.un ? 1u : 0u);
  }
  EXPECT_EQ(ieee_apply1(Fn::Eq, Ty::F32, Mods{}, 0, 0x80000000), 1u);
  EXPECT_EQ(ieee_apply1(Fn::IsInf, Ty::F16, Mods{}, 0xfc00), 1u);
  EXPECT_EQ(ieee_apply1(Fn::IsInf, Ty::F16, Mods{}, 0x7fff), 0u);
}

TEST(IeeeFloat, SignOperations) {
  EXPECT_EQ(ieee_apply1(Fn::Neg, Ty::F32, Mods{}, 0), 0x80000000u);
  EXPECT_EQ(ieee_apply1(Fn::Neg, Ty::F64, Mods{}, 0x8000000000000000), 0u);
  EXPECT_EQ(ieee_apply1(Fn::Abs, Ty::F64, Mods{}, 0xfff0000000000000), 0x7ff0000000000000u);
  EXPECT_EQ(ieee_apply1(Fn::Neg, Ty::BF16, Mods{}, 0x3f80), 0xbf80u);
  EXPECT_EQ(ieee_apply1(Fn::Copysign, Ty::F32, Mods{}, 0x3f800000, 0x80000000), 0xbf800000u);
  EXPECT_EQ(ieee_apply1(Fn::Select, Ty::F32, Mods{}, 1, 5, 6), 5u);
  EXPECT_EQ(ieee_apply1(Fn::Select, Ty::F64, Mods{}, 0, 5, 6), 6u);
}

TEST(IeeeFloat, PackedPairsWorkByHalves) {
  Patterns p(10, 5), q(7, 8);
  for (int i = 0; i < 5000; ++i) {
    for (Fn fn :
         {Fn::Add, Fn::Sub, Fn::Mul, Fn::Fma, Fn::Neg, Fn::Abs, Fn::Min, Fn::Max, Fn::Exp2}) {
      for (auto [packed, half] : {std::pair{Ty::F16x2, Ty::F16}, {Ty::BF16x2, Ty::BF16}}) {
        Patterns& r = half == Ty::F16 ? p : q;
        uint64_t v[3][2];
        for (auto& w : v) w[0] = r.next(), w[1] = r.next();
        const auto pack = [](const uint64_t* w) { return w[0] | w[1] << 16; };
        const uint64_t want = ieee_apply1(fn, half, Mods{}, v[0][0], v[1][0], v[2][0]) |
                              ieee_apply1(fn, half, Mods{}, v[0][1], v[1][1], v[2][1]) << 16;
        ASSERT_EQ(ieee_apply1(fn, packed, Mods{}, pack(v[0]), pack(v[1]), pack(v[2])), want);
      }
    }
  }
  EXPECT_EQ(ieee_apply1(Fn::Lt, Ty::F16x2, Mods{}, 0x3c000000, 0x40003c00), 3u);
  EXPECT_EQ(ieee_apply1(Fn::Lt, Ty::F16x2, Mods{}, 0x40000000, 0x3c003c00), 1u);
}

// PTX ISA div.approx.f32: huge divisors give zero, or NaN for an infinite dividend; div.full does
// not.
TEST(IeeeFloat, ApproximateDivisionByHugeNumbers) {
  Mods m;
  m.approx = true;
  EXPECT_EQ(ieee_apply1(Fn::Div, Ty::F32, m, 0x7f7fffff, 0xfe800001), 0x80000000u);
  EXPECT_EQ(ieee_apply1(Fn::Div, Ty::F32, m, 0x7f800000, 0x7e800001), 0x7fffffffu);
  EXPECT_EQ(ieee_apply1(Fn::Div, Ty::F32, m, 0x7e800000, 0x7e800000), 0x3f800000u);
  m.imm = 1;
  EXPECT_EQ(ieee_apply1(Fn::Div, Ty::F32, m, 0x7f7fffff, 0x7f7fffff), 0x3f800000u);
}

TEST(IeeeFloat, UndefinedCombinationsAreKnown) {
  EXPECT_FALSE(ieee_defined(Fn::Sqrt, Ty::U32, Mods{}));
  EXPECT_FALSE(ieee_defined(Fn::Shl, Ty::F32, Mods{}));
  EXPECT_FALSE(ieee_defined(Fn::Add, Ty::B128, Mods{}));
  EXPECT_FALSE(ieee_defined(Fn::Prmt, Ty::B64, Mods{}));
  EXPECT_FALSE(ieee_defined(Fn::CvtFI, Ty::S32, Mods{}));  // no source type
  EXPECT_TRUE(ieee_defined(Fn::Sqrt, Ty::F64, Mods{}));
  EXPECT_EQ(ieee_apply1(Fn::Sqrt, Ty::U32, Mods{}, 4), 0u);
}

}  // namespace
}  // namespace assay
