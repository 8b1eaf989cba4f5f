// Conversions: exhaustive for f16 and bf16, corner and random for the rest.
#include <gtest/gtest.h>

#include "tests/unit/base/ieee_reference.h"

namespace assay {
namespace {

using testing::kRounds;
using testing::Patterns;

Mods mods_of(Ty source, Round round = Round::Rn) {
  Mods m;
  m.type2 = source;
  m.round = round;
  return m;
}

TEST(IeeeCvt, SmallFormatsWidenExactly) {
  for (auto [type, f] :
       {std::pair{Ty::F16, &testing::f16_format()}, {Ty::BF16, &testing::bf16_format()}}) {
    for (uint64_t u = 0; u < 0x10000; ++u) {
      const double want = testing::small_to_double(*f, u);
      const double got = ieee_to_double(type, u);
      const uint64_t f32 = ieee_apply1(Fn::CvtFF, Ty::F32, mods_of(type), u);
      const uint64_t f64 = ieee_apply1(Fn::CvtFF, Ty::F64, mods_of(type), u);
      if (std::isnan(want)) {
        ASSERT_TRUE(std::isnan(got) && testing::is_nan_bits(Ty::F32, f32) &&
                    testing::is_nan_bits(Ty::F64, f64));
        continue;
      }
      ASSERT_EQ(std::bit_cast<uint64_t>(got), std::bit_cast<uint64_t>(want));
      ASSERT_EQ(f32, std::bit_cast<uint32_t>(static_cast<float>(want)));
      ASSERT_EQ(f64, std::bit_cast<uint64_t>(want));
      ASSERT_EQ(ieee_apply1(Fn::CvtFF, type, mods_of(Ty::F64), f64), u);
    }
  }
}

// Every midpoint and its neighbours in double, every mode.
TEST(IeeeCvt, NarrowingRoundsAtEveryMidpoint) {
  for (auto [type, f] :
       {std::pair{Ty::F16, &testing::f16_format()}, {Ty::BF16, &testing::bf16_format()}}) {
    for (Round round : {Round::Rn, Round::Rz, Round::Rm, Round::Rp, Round::Rna}) {
      for (uint64_t u = 0; u + 1 < f->values.size();
           u += 1 + (u > 2000 && u + 2000 < f->values.size())) {
        const double mid = (f->values[u] + f->values[u + 1]) / 2;
        for (double v :
             {f->values[u], mid, std::nextafter(mid, 1e300), std::nextafter(mid, -1e300)}) {
          for (double sv : {v, -v}) {
            const uint64_t want = testing::small_round(*f, sv, round, std::signbit(sv));
            ASSERT_EQ(ieee_from_double(type, sv, round), want) << sv;
            ASSERT_EQ(
                ieee_apply1(Fn::CvtFF, type, mods_of(Ty::F64, round), std::bit_cast<uint64_t>(sv)),
                want);
          }
        }
      }
    }
  }
}

// The same from f32, whose conversions have loops of their own.
TEST(IeeeCvt, NarrowingFromF32RoundsAtEveryMidpoint) {
  for (auto [type, f] :
       {std::pair{Ty::F16, &testing::f16_format()}, {Ty::BF16, &testing::bf16_format()}}) {
    for (uint64_t u = 0; u + 1 < f->values.size(); ++u) {
      const float mid = static_cast<float>((f->values[u] + f->values[u + 1]) / 2);
      for (float v : {static_cast<float>(f->values[u]), mid, std::nextafter(mid, INFINITY),
                      std::nextafter(mid, -INFINITY)}) {
        for (float sv : {v, -v}) {
          if (std::isinf(sv)) continue;
          const uint64_t want = testing::small_round(*f, sv, Round::Rn, std::signbit(sv));
          ASSERT_EQ(ieee_apply1(Fn::CvtFF, type, mods_of(Ty::F32), std::bit_cast<uint32_t>(sv)),
                    want)
              << sv;
        }
      }
    }
    for (uint32_t u :
         {0x7f800000u, 0x7f7fffffu, 0x477fefffu, 0x477ff000u, 0x7f800001u, 0xff800000u}) {
      EXPECT_EQ(ieee_apply1(Fn::CvtFF, type, mods_of(Ty::F32), u),
                ieee_from_double(type, std::bit_cast<float>(u)));
    }
  }
}

TEST(IeeeCvt, F64ToF32EveryMode) {
  Patterns p(52, 11);
  for (int i = 0; i < 300000; ++i) {
    double v = std::bit_cast<double>(p.next());
    if (i % 2 == 0) v = std::ldexp(std::bit_cast<double>(p.next()), -static_cast<int>(i % 160));
    if (std::isnan(v)) continue;
    const float nearest = static_cast<float>(v);
    const float down =
        static_cast<double>(nearest) <= v ? nearest : std::nextafter(nearest, -INFINITY);
    const float up =
        static_cast<double>(nearest) >= v ? nearest : std::nextafter(nearest, INFINITY);
    const auto check = [&](Round r, float want) {
      ASSERT_EQ(ieee_apply1(Fn::CvtFF, Ty::F32, mods_of(Ty::F64, r), std::bit_cast<uint64_t>(v)),
                std::bit_cast<uint32_t>(want))
          << v;
    };
    check(Round::Rn, nearest);
    check(Round::Rm, std::signbit(v) && down == 0 ? -0.0f : down);
    check(Round::Rp, std::signbit(v) && up == 0 ? -0.0f : up);
    const float zero = std::signbit(v) ? up : down;
    check(Round::Rz,
          zero == 0 ? std::copysign(0.0f, static_cast<float>(v < 0 || std::signbit(v) ? -1 : 1))
                    : zero);
  }
}

double round_integer(double v, Round r) {
  switch (r) {
    case Round::Rz:
      return std::trunc(v);
    case Round::Rm:
      return std::floor(v);
    case Round::Rp:
      return std::ceil(v);
    default:
      return std::nearbyint(v);
  }
}

TEST(IeeeCvt, FloatToIntegerClamps) {
  for (Ty dst : {Ty::U8, Ty::S8, Ty::U16, Ty::S16, Ty::U32, Ty::S32, Ty::U64, Ty::S64}) {
    for (auto [src, mant, exp_bits] :
         {std::tuple{Ty::F16, 10, 5}, {Ty::BF16, 7, 8}, {Ty::F32, 23, 8}, {Ty::F64, 52, 11}}) {
      Patterns p(mant, exp_bits);
      const int w = static_cast<int>(bits(dst));
      const __int128 one = 1;
      const __int128 lo = is_signed(dst) ? -(one << (w - 1)) : 0;
      const __int128 hi = lo + (one << w) - 1;
      for (int i = 0; i < 8000; ++i) {
        uint64_t a = p.next();
        if (i % 3 == 0)
          a = ieee_from_double(src, std::ldexp(1.0, i % 70) * (i % 2 == 0 ? 1.5 : -1.25));
        const double v = ieee_to_double(src, a);
        for (Round r : kRounds) {
          uint64_t want;
          if (std::isnan(v)) {
            want = src == Ty::F64 || w == 64 ? uint64_t{1} << (w - 1) : 0;
          } else {
            const double d = std::min(std::max(round_integer(v, r), -1e30), 1e30);
            __int128 n = static_cast<__int128>(d);
            n = n < lo ? lo : (n > hi ? hi : n);
            want = static_cast<uint64_t>(n) & (w == 64 ? ~uint64_t{0} : (uint64_t{1} << w) - 1);
          }
          ASSERT_EQ(ieee_apply1(Fn::CvtFI, dst, mods_of(src, r), a), want)
              << info(dst).text << " from " << info(src).text << " " << v;
        }
      }
    }
  }
  Mods m = mods_of(Ty::F32, Round::Rp);
  EXPECT_EQ(ieee_apply1(Fn::CvtFI, Ty::S32, m, 1), 1u);
  m.ftz = true;
  EXPECT_EQ(ieee_apply1(Fn::CvtFI, Ty::S32, m, 1), 0u);
}

TEST(IeeeCvt, IntegerToFloatRoundsOnce) {
  std::mt19937_64 rng(12);
  for (Ty src : {Ty::U8, Ty::S8, Ty::U16, Ty::S16, Ty::U32, Ty::S32, Ty::U64, Ty::S64}) {
    for (int i = 0; i < 20000; ++i) {
      const uint64_t mask = bits(src) == 64 ? ~uint64_t{0} : (uint64_t{1} << bits(src)) - 1;
      uint64_t a = rng() & mask;
      if (i % 2 == 0) a >>= rng() % bits(src);
      if (i % 5 == 0) a = (uint64_t{1} << (rng() % bits(src))) + (rng() % 5) - 2;  // near powers
      if (i % 7 == 0) a = ((rng() % 4096) * 2 + 1) << (rng() % 48);                // midpoints
      a &= mask;
      __float128 v = a;
      if (is_signed(src) && ((a >> (bits(src) - 1)) & 1) != 0)
        v -= static_cast<__float128>(mask) + 1;
      for (Round r : kRounds) {
        ASSERT_EQ(ieee_apply1(Fn::CvtIF, Ty::F16, mods_of(src, r), a),
                  testing::small_round(testing::f16_format(), v, r, false));
        ASSERT_EQ(ieee_apply1(Fn::CvtIF, Ty::BF16, mods_of(src, r), a),
                  testing::small_round(testing::bf16_format(), v, r, false));
        // f32 and f64: the result is the neighbour that the mode asks for.
        for (Ty dst : {Ty::F32, Ty::F64}) {
          const uint64_t u = ieee_apply1(Fn::CvtIF, dst, mods_of(src, r), a);
          const double got = ieee_to_double(dst, u);
          const auto step = [&](double to) -> double {
            return dst == Ty::F32 ? std::nextafter(static_cast<float>(got), static_cast<float>(to))
                                  : std::nextafter(got, to);
          };
          const __float128 g = got, down = step(-INFINITY), up = step(INFINITY);
          const bool inward_up = v < 0;  // Rz of negatives rounds up
          if (g == v) continue;
          if (r == Round::Rn) {
            ASSERT_TRUE((g - v <= v - down || g < v) && (v - g <= up - v || g > v));
            if (g < v && v - g == up - v) {
              ASSERT_EQ(u & 1, 0u);
            }
            if (g > v && g - v == v - down) {
              ASSERT_EQ(u & 1, 0u);
            }
          } else if (r == Round::Rm || (r == Round::Rz && !inward_up)) {
            ASSERT_TRUE(g < v && up > v);
          } else {
            ASSERT_TRUE(g > v && down < v);
          }
        }
      }
    }
  }
}

TEST(IeeeCvt, IntegerToInteger) {
  const auto cvt = [](Ty dst, Ty src, uint64_t a, bool sat = false) {
    Mods m = mods_of(src);
    m.sat = sat;
    return ieee_apply1(Fn::CvtII, dst, m, a);
  };
  EXPECT_EQ(cvt(Ty::S32, Ty::S8, 0x80), 0xffffff80u);
  EXPECT_EQ(cvt(Ty::U32, Ty::U8, 0x80), 0x80u);
  EXPECT_EQ(cvt(Ty::U64, Ty::S16, 0xffff), ~uint64_t{0});
  EXPECT_EQ(cvt(Ty::S8, Ty::S32, 0x1ff), 0xffu);
  EXPECT_EQ(cvt(Ty::S8, Ty::S32, 0x1ff, true), 0x7fu);
  EXPECT_EQ(cvt(Ty::U8, Ty::S32, 0xffffffff, true), 0u);
  EXPECT_EQ(cvt(Ty::S8, Ty::S32, 0x80000000, true), 0x80u);
  EXPECT_EQ(cvt(Ty::S32, Ty::U32, 0xffffffff, true), 0x7fffffffu);
  EXPECT_EQ(cvt(Ty::S64, Ty::U64, ~uint64_t{0}, true), 0x7fffffffffffffffu);
  EXPECT_EQ(cvt(Ty::U32, Ty::Pred, 1), 1u);
  EXPECT_EQ(cvt(Ty::Pred, Ty::U32, 2), 1u);
}

TEST(IeeeCvt, FlushAndSaturate) {
  Mods m = mods_of(Ty::F32);
  EXPECT_EQ(ieee_apply1(Fn::CvtFF, Ty::F64, m, 1), std::bit_cast<uint64_t>(0x1p-149));
  m.ftz = true;
  EXPECT_EQ(ieee_apply1(Fn::CvtFF, Ty::F64, m, 0x80000001), 0x8000000000000000u);
  m = mods_of(Ty::F64);
  m.ftz = true;
  EXPECT_EQ(ieee_apply1(Fn::CvtFF, Ty::F32, m, std::bit_cast<uint64_t>(0x1p-140)), 0u);
  m = mods_of(Ty::F16);
  m.ftz = true;  // f16 subnormals are not concerned
  EXPECT_EQ(ieee_apply1(Fn::CvtFF, Ty::F32, m, 1), std::bit_cast<uint32_t>(0x1p-24f));
  m = mods_of(Ty::F32);
  m.sat = true;
  EXPECT_EQ(ieee_apply1(Fn::CvtFF, Ty::F16, m, 0x40000000), 0x3c00u);
  EXPECT_EQ(ieee_apply1(Fn::CvtFF, Ty::F32, m, 0xffc00000), 0u);
}

TEST(IeeeCvt, PackAndBits) {
  EXPECT_EQ(ieee_apply1(Fn::Pack, Ty::B32, Mods{}, 0x1234, 0xabcd), 0xabcd1234u);
  EXPECT_EQ(ieee_apply1(Fn::Pack, Ty::B64, Mods{}, 0x12345678, 0x9abcdef0), 0x9abcdef012345678u);
  EXPECT_EQ(ieee_apply1(Fn::UnpackLo, Ty::B16, Mods{}, 0xabcd1234), 0x1234u);
  EXPECT_EQ(ieee_apply1(Fn::UnpackHi, Ty::F16, Mods{}, 0xabcd1234), 0xabcdu);
  EXPECT_EQ(ieee_apply1(Fn::UnpackHi, Ty::B32, Mods{}, 0x9abcdef012345678), 0x9abcdef0u);
  EXPECT_EQ(ieee_apply1(Fn::Bits, Ty::F32, mods_of(Ty::U32), 0x3f800000), 0x3f800000u);
}

}  // namespace
}  // namespace assay
