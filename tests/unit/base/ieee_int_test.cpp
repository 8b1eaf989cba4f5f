// Integer operations against the ISA's bit-by-bit pseudo code and 128-bit integers.
#include <gtest/gtest.h>

#include <random>

#include "base/ieee.h"

namespace assay {
namespace {

constexpr Ty kInts[] = {Ty::U8,  Ty::S8,  Ty::U16, Ty::S16, Ty::U32,
                        Ty::S32, Ty::U64, Ty::S64, Ty::B32, Ty::B64};

uint64_t mask_of(Ty t) { return bits(t) == 64 ? ~uint64_t{0} : (uint64_t{1} << bits(t)) - 1; }

__int128 value_of(Ty t, uint64_t u) {
  __int128 v = static_cast<__int128>(u);
  if (is_signed(t) && ((u >> (bits(t) - 1)) & 1) != 0) v -= static_cast<__int128>(1) << bits(t);
  return v;
}

struct Source {
  std::mt19937_64 rng{77};
  uint64_t next(Ty t) {
    const uint64_t r = rng(), m = mask_of(t);
    switch (r & 7) {
      case 0:
        return 0;
      case 1:
        return m;
      case 2:
        return m >> 1;
      case 3:
        return (m >> 1) + 1;
      case 4:
        return (r >> 8) & 0x7f & m;
      default:
        return rng() & m;
    }
  }
};

TEST(IeeeInt, ArithmeticWrapsSaturatesAndExtends) {
  Source s;
  for (Ty t : kInts) {
    const uint64_t m = mask_of(t);
    for (int i = 0; i < 20000; ++i) {
      const uint64_t a = s.next(t), b = s.next(t), c = s.next(t);
      const __int128 x = value_of(t, a), y = value_of(t, b);
      const auto run = [&](Fn fn, const Mods& mods = {}) {
        return ieee_apply1(fn, t, mods, a, b, c);
      };
      const auto cut = [&](__int128 v) { return static_cast<uint64_t>(v) & m; };
      ASSERT_EQ(run(Fn::IAdd), cut(x + y));
      ASSERT_EQ(run(Fn::ISub), cut(x - y));
      ASSERT_EQ(run(Fn::IMul), cut(static_cast<__int128>(static_cast<unsigned __int128>(x) *
                                                         static_cast<unsigned __int128>(y))));
      ASSERT_EQ(run(Fn::IMin), x < y ? a : b);
      ASSERT_EQ(run(Fn::IMax), x > y ? a : b);
      ASSERT_EQ(run(Fn::INeg), cut(-x));
      ASSERT_EQ(run(Fn::Sad), cut(static_cast<__int128>(c) + (x < y ? y - x : x - y)));
      if (bits(t) < 64) {  // products fit __int128
        ASSERT_EQ(run(Fn::IMulHi), cut((x * y) >> bits(t)));
      } else if (!is_signed(t)) {
        ASSERT_EQ(run(Fn::IMulHi),
                  static_cast<uint64_t>((static_cast<unsigned __int128>(a) * b) >> 64));
      } else {
        ASSERT_EQ(run(Fn::IMulHi), static_cast<uint64_t>((x * y) >> 64));
      }
      if (bits(t) <= 32) {
        const uint64_t wide = bits(t) == 32 ? ~uint64_t{0} : (uint64_t{1} << (2 * bits(t))) - 1;
        ASSERT_EQ(run(Fn::IMulWide), static_cast<uint64_t>(x * y) & wide);
      }
      if (b != 0) {
        ASSERT_EQ(run(Fn::IDiv), cut(x / y));
        ASSERT_EQ(run(Fn::IRem), cut(x % y));
      }
      Mods sat;
      sat.sat = true;
      const __int128 lo = is_signed(t) ? -(static_cast<__int128>(1) << (bits(t) - 1)) : 0;
      const __int128 hi = lo + static_cast<__int128>(m);
      ASSERT_EQ(run(Fn::IAdd, sat), cut(x + y < lo ? lo : (x + y > hi ? hi : x + y)));
      ASSERT_EQ(run(Fn::ISub, sat), cut(x - y < lo ? lo : (x - y > hi ? hi : x - y)));
      ASSERT_EQ(run(Fn::Lt), x < y ? 1u : 0u);
      ASSERT_EQ(run(Fn::Le), x <= y ? 1u : 0u);
      ASSERT_EQ(run(Fn::Gt), x > y ? 1u : 0u);
      ASSERT_EQ(run(Fn::Ge), x >= y ? 1u : 0u);
      ASSERT_EQ(run(Fn::Eq), x == y ? 1u : 0u);
      ASSERT_EQ(run(Fn::Ne), x != y ? 1u : 0u);
    }
  }
  EXPECT_EQ(ieee_apply1(Fn::IAbs, Ty::S32, Mods{}, 0x80000000), 0x80000000u);
  EXPECT_EQ(ieee_apply1(Fn::IAbs, Ty::S16, Mods{}, 0xffff), 1u);
  EXPECT_EQ(ieee_apply1(Fn::IDiv, Ty::S32, Mods{}, 0x80000000, 0xffffffff), 0x80000000u);
}

TEST(IeeeInt, ShiftsClamp) {
  for (Ty t : kInts) {
    Source s;
    for (int i = 0; i < 2000; ++i) {
      const uint64_t a = s.next(t);
      for (uint64_t amount :
           {0u, 1u, 7u, 8u, 15u, 16u, 31u, 32u, 33u, 63u, 64u, 200u, 0xffffffffu}) {
        uint64_t left = a, right = a;
        const uint64_t top = uint64_t{1} << (bits(t) - 1);
        for (uint64_t k = 0; k < std::min<uint64_t>(amount, 64); ++k) {  // one bit at a time
          left = (left << 1) & mask_of(t);
          right = (right >> 1) | (is_signed(t) ? right & top : 0);
        }
        ASSERT_EQ(ieee_apply1(Fn::Shl, t, Mods{}, a, amount), left);
        ASSERT_EQ(ieee_apply1(Fn::Shr, t, Mods{}, a, amount), right);
      }
    }
  }
}

// PTX ISA 9.7.1, pseudo code of bfe and bfi.
TEST(IeeeInt, BitFields) {
  std::mt19937_64 rng(5);
  for (Ty t : {Ty::U32, Ty::S32, Ty::U64, Ty::S64}) {
    const int msb = static_cast<int>(bits(t)) - 1;
    for (int i = 0; i < 60000; ++i) {
      const uint64_t a = rng() & mask_of(t), base = rng() & mask_of(t);
      const uint64_t b = rng() % (i % 2 != 0 ? 300 : 70), c = rng() % (i % 3 != 0 ? 300 : 70);
      // The 64-bit forms do not reduce the bounds to 8 bits (seen on the H200).
      const uint64_t low = bits(t) == 64 ? ~uint64_t{0} : 0xff;
      const int pos = static_cast<int>(b & low), len = static_cast<int>(c & low);
      const auto bit = [](uint64_t v, int k) { return (v >> k) & 1; };
      const uint64_t sbit = !is_signed(t) || len == 0 ? 0 : bit(a, std::min(pos + len - 1, msb));
      uint64_t want = 0;
      for (int k = 0; k <= msb; ++k)
        want |= (k < len && pos + k <= msb ? bit(a, pos + k) : sbit) << k;
      ASSERT_EQ(ieee_apply1(Fn::Bfe, t, Mods{}, a, b, c), want) << a << " " << pos << " " << len;
      uint64_t f = base;
      for (int k = 0; k < len && pos + k <= msb; ++k) {
        f = (f & ~(uint64_t{1} << (pos + k))) | bit(a, k) << (pos + k);
      }
      const Ty bt = bits(t) == 32 ? Ty::B32 : Ty::B64;
      ASSERT_EQ(ieee_apply1(Fn::Bfi, bt, Mods{}, a, base, b, c), f);
    }
  }
}

TEST(IeeeInt, BitCounts) {
  Source s;
  for (Ty t : {Ty::U32, Ty::S32, Ty::U64, Ty::S64}) {
    for (int i = 0; i < 20000; ++i) {
      const uint64_t a = s.next(t);
      int pop = 0, top = -1, sig = -1;
      uint64_t reversed = 0;
      const int w = static_cast<int>(bits(t));
      const uint64_t sign = (a >> (w - 1)) & 1;
      for (int k = 0; k < w; ++k) {
        const uint64_t bit = (a >> k) & 1;
        if (bit != 0) ++pop, top = k;
        if (bit != (is_signed(t) ? sign : 0)) sig = k;
        reversed |= bit << (w - 1 - k);
      }
      ASSERT_EQ(ieee_apply1(Fn::Popc, t, Mods{}, a), static_cast<uint64_t>(pop));
      ASSERT_EQ(ieee_apply1(Fn::Clz, t, Mods{}, a), static_cast<uint64_t>(w - 1 - top));
      ASSERT_EQ(ieee_apply1(Fn::Brev, t, Mods{}, a), reversed);
      ASSERT_EQ(ieee_apply1(Fn::Bfind, t, Mods{}, a), static_cast<uint32_t>(sig));
      Mods shift;
      shift.imm = 1;
      ASSERT_EQ(ieee_apply1(Fn::Bfind, t, shift, a),
                static_cast<uint32_t>(sig < 0 ? -1 : w - 1 - sig));
    }
  }
  EXPECT_EQ(ieee_apply1(Fn::Cnot, Ty::U32, Mods{}, 0), 1u);
  EXPECT_EQ(ieee_apply1(Fn::Cnot, Ty::U32, Mods{}, 7), 0u);
}

TEST(IeeeInt, Logic) {
  std::mt19937_64 rng(9);
  for (int i = 0; i < 256; ++i) {
    const uint64_t a = rng() & 0xffffffff, b = rng() & 0xffffffff, c = rng() & 0xffffffff;
    Mods m;
    m.imm = static_cast<uint8_t>(i);
    uint64_t want = 0;
    for (int k = 0; k < 32; ++k) {
      const uint64_t index = ((a >> k) & 1) << 2 | ((b >> k) & 1) << 1 | ((c >> k) & 1);
      want |= ((static_cast<uint64_t>(i) >> index) & 1) << k;
    }
    ASSERT_EQ(ieee_apply1(Fn::Lop3, Ty::B32, m, a, b, c), want);
    ASSERT_EQ(ieee_apply1(Fn::Not, Ty::B32, Mods{}, a), ~a & 0xffffffff);
    ASSERT_EQ(ieee_apply1(Fn::And, Ty::B64, Mods{}, a, b), a & b);
  }
  Mods m;
  m.imm = 0xe8;  // majority (PTX ISA: immLut from 0xF0, 0xCC, 0xAA)
  EXPECT_EQ(ieee_apply1(Fn::Lop3, Ty::B32, m, 0xf0, 0xcc, 0xaa), 0xe8u);
  EXPECT_EQ(ieee_apply1(Fn::PAnd, Ty::Pred, Mods{}, 1, 1), 1u);
  EXPECT_EQ(ieee_apply1(Fn::PXor, Ty::Pred, Mods{}, 1, 1), 0u);
  EXPECT_EQ(ieee_apply1(Fn::POr, Ty::Pred, Mods{}, 0, 1), 1u);
  EXPECT_EQ(ieee_apply1(Fn::PNot, Ty::Pred, Mods{}, 1), 0u);
}

TEST(IeeeInt, Permute) {
  const uint64_t a = 0x33221100, b = 0x77e6d544;  // bytes 4..7 have sign bits in 5, 6
  const auto prmt = [&](uint64_t c, uint8_t mode) {
    Mods m;
    m.imm = mode;
    return ieee_apply1(Fn::Prmt, Ty::B32, m, a, b, c);
  };
  EXPECT_EQ(prmt(0x3210, 0), 0x33221100u);
  EXPECT_EQ(prmt(0x7654, 0), 0x77e6d544u);
  EXPECT_EQ(prmt(0x0f0d, 0), 0x000000ffu | 0x00000000u);  // replicated signs of bytes 5 and 7
  EXPECT_EQ(prmt(0xe0c3, 0), 0xff000033u);
  EXPECT_EQ(prmt(1, 1), 0x44332211u);  // f4e
  EXPECT_EQ(prmt(1, 2), 0xe6770011u);  // b4e: bytes 1, 0, 7, 6
  EXPECT_EQ(prmt(2, 3), 0x22222222u);  // rc8
  EXPECT_EQ(prmt(1, 4), 0x33221111u);  // ecl
  EXPECT_EQ(prmt(1, 5), 0x11111100u);  // ecr
  EXPECT_EQ(prmt(1, 6), 0x33223322u);  // rc16
}

TEST(IeeeInt, FunnelShift) {
  std::mt19937_64 rng(3);
  for (int i = 0; i < 5000; ++i) {
    const uint32_t a = static_cast<uint32_t>(rng()), b = static_cast<uint32_t>(rng());
    for (uint32_t c = 0; c < 70; ++c) {
      for (uint8_t clamp : {0, 1}) {
        Mods m;
        m.imm = clamp;
        const uint32_t n = clamp != 0 ? std::min(c, 32u) : c & 31;
        const uint32_t left = n == 0 ? b : n == 32 ? a : (b << n) | (a >> (32 - n));
        const uint32_t right = n == 0 ? a : n == 32 ? b : (b << (32 - n)) | (a >> n);
        ASSERT_EQ(ieee_apply1(Fn::ShfL, Ty::B32, m, a, b, c), left);
        ASSERT_EQ(ieee_apply1(Fn::ShfR, Ty::B32, m, a, b, c), right);
      }
    }
  }
}

TEST(IeeeInt, DotProducts) {
  std::mt19937_64 rng(4);
  for (int i = 0; i < 5000; ++i) {
    const uint32_t a = static_cast<uint32_t>(rng()), b = static_cast<uint32_t>(rng()),
                   c = static_cast<uint32_t>(rng());
    for (uint8_t imm = 0; imm < 8; ++imm) {
      const bool sa = (imm & 1) != 0, sb = (imm & 2) != 0, hi = (imm & 4) != 0;
      const auto byte = [](uint32_t v, int k, bool s) -> int64_t {
        const uint8_t u = static_cast<uint8_t>(v >> (8 * k));
        return s ? static_cast<int8_t>(u) : u;
      };
      const auto half = [](uint32_t v, int k, bool s) -> int64_t {
        const uint16_t u = static_cast<uint16_t>(v >> (16 * k));
        return s ? static_cast<int16_t>(u) : u;
      };
      int64_t d4 = c, d2 = c;
      for (int k = 0; k < 4; ++k) d4 += byte(a, k, sa) * byte(b, k, sb);
      for (int k = 0; k < 2; ++k) d2 += half(a, k, sa) * byte(b, hi ? k + 2 : k, sb);
      Mods m;
      m.imm = imm;
      ASSERT_EQ(ieee_apply1(Fn::Dp4a, Ty::S32, m, a, b, c), static_cast<uint32_t>(d4));
      ASSERT_EQ(ieee_apply1(Fn::Dp2a, Ty::S32, m, a, b, c), static_cast<uint32_t>(d2));
    }
  }
}

TEST(IeeeInt, BatchesEqualLanes) {
  Source s;
  constexpr int kN = 100;
  for (Ty t : kInts) {
    std::vector<uint64_t> a(kN), b(kN), c(kN), d(kN), out(kN);
    for (int l = 0; l < kN; ++l)
      a[l] = s.next(t), b[l] = s.next(t), c[l] = s.next(t), d[l] = s.next(t);
    for (int f = 0; f < static_cast<int>(Fn::Count); ++f) {
      const Fn fn = static_cast<Fn>(f);
      if (!ieee_defined(fn, t, Mods{})) continue;
      ieee_apply(fn, t, Mods{}, a.data(), b.data(), c.data(), d.data(), out.data(), kN);
      for (int l = 0; l < kN; ++l) {
        ASSERT_EQ(out[l], ieee_apply1(fn, t, Mods{}, a[l], b[l], c[l], d[l])) << info(fn).name;
      }
    }
  }
}

}  // namespace
}  // namespace assay
