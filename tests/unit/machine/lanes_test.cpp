// The fast lane operations against base/ieee, bit for bit, on corner cases and random operands.
#include "machine/lanes.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "base/ieee.h"

namespace assay::machine {
namespace {

std::vector<uint64_t> corners(Ty t) {
  if (t == Ty::F32) {
    return {0x00000000, 0x80000000, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000,
            0x7fc00000, 0xffc12345, 0x7f800001, 0x00000001, 0x807fffff, 0x00800000,
            0x7f7fffff, 0xff7fffff, 0x33800000, 0x40490fdb};
  }
  if (t == Ty::F64) {
    return {0,
            uint64_t{1} << 63,
            0x3ff0000000000000,
            0xbff0000000000000,
            0x7ff0000000000000,
            0xfff0000000000000,
            0x7ff8000000000000,
            0xfff8000000000123,
            1,
            0x000fffffffffffff,
            0x0010000000000000,
            0x7fefffffffffffff,
            0x3ca0000000000000};
  }
  uint64_t m = bits(t) == 64 ? ~uint64_t{0} : (uint64_t{1} << bits(t)) - 1;
  uint64_t s = uint64_t{1} << (bits(t) - 1);
  return {0, 1, 2, 3, m, m - 1, s, s - 1, s + 1, 31, 32, 33, 63, 64, 0x55555555 & m};
}

class Operands {
 public:
  explicit Operands(uint32_t seed) : rng_(seed) {}
  uint64_t pick(Ty t) {
    std::vector<uint64_t> c = corners(t);
    uint64_t m = bits(t) == 64 ? ~uint64_t{0} : (uint64_t{1} << bits(t)) - 1;
    return rng_() % 3 == 0 ? rng_() & m : c[rng_() % c.size()];
  }

 private:
  std::mt19937_64 rng_;
};

// Lanes as the registers hold them.
struct File {
  alignas(64) uint32_t w[32];
  alignas(64) uint64_t d[32];
  const void* of(Ty t) const { return bits(t) > 32 ? static_cast<const void*>(d) : w; }
  void set(int l, uint64_t v) {
    w[l] = static_cast<uint32_t>(v);
    d[l] = v;
  }
};

Ty operand(Fn fn, Ty t, const Mods& m, int i) {
  if (info(fn).cls == FnClass::V) return m.type2;
  if ((fn == Fn::Shl || fn == Fn::Shr) && i == 1) return Ty::U32;
  return t;
}
Ty result(Fn fn, Ty t) {
  if (fn == Fn::IMulWide) return t == Ty::S32 ? Ty::S64 : Ty::U64;
  return t;
}

void check(Fn fn, Ty t, const Mods& m, int* covered) {
  LaneFn f = lanes().fn(fn, t, m);
  if (!f) return;
  ++*covered;
  Operands rng(static_cast<uint32_t>(fn) * 131 + static_cast<uint32_t>(t));
  for (int round = 0; round < 40; ++round) {
    File in[3], out;
    uint64_t x[3][32], want[32];
    for (int i = 0; i < 3; ++i) {
      for (int l = 0; l < 32; ++l) {
        x[i][l] = rng.pick(operand(fn, t, m, i));
        in[i].set(l, x[i][l]);
      }
    }
    ieee_apply(fn, t, m, x[0], x[1], x[2], nullptr, want, 32);
    Ty r = result(fn, t);
    void* d = bits(r) > 32 ? static_cast<void*>(out.d) : out.w;
    f(d, in[0].of(operand(fn, t, m, 0)), in[1].of(operand(fn, t, m, 1)),
      in[2].of(operand(fn, t, m, 2)));
    for (int l = 0; l < 32; ++l) {
      uint64_t got = bits(r) > 32 ? out.d[l] : out.w[l];
      ASSERT_EQ(got, want[l]) << info(fn).name << "." << info(t).text << " ftz " << m.ftz
                              << std::hex << " on " << x[0][l] << " " << x[1][l] << " " << x[2][l];
    }
  }
}

TEST(Lanes, EqualIeee) {
  int covered = 0;
  for (int f = 0; f < static_cast<int>(Fn::Count); ++f) {
    for (Ty t : {Ty::F32, Ty::F64, Ty::S32, Ty::U32, Ty::B32, Ty::S64, Ty::U64, Ty::B64}) {
      Mods m;
      auto fn = static_cast<Fn>(f);
      if (info(fn).cls == FnClass::V) {
        for (Ty from : {Ty::F32, Ty::F64, Ty::S32, Ty::U32, Ty::S64, Ty::U64, Ty::S16, Ty::U16,
                        Ty::S8, Ty::U8}) {
          if (is_float(t) != (fn == Fn::CvtFF || fn == Fn::CvtIF)) continue;
          if (is_float(from) != (fn == Fn::CvtFF || fn == Fn::CvtFI)) continue;
          m.type2 = from;
          check(fn, t, m, &covered);
        }
        continue;
      }
      check(fn, t, m, &covered);
      if (t == Ty::F32) {
        m.ftz = true;
        check(fn, t, m, &covered);
      }
    }
  }
  EXPECT_GT(covered, 80);
}

TEST(Lanes, ComparisonsEqualIeee) {
  int covered = 0;
  for (int f = static_cast<int>(Fn::Eq); f <= static_cast<int>(Fn::Nan); ++f) {
    for (Ty t : {Ty::F32, Ty::F64, Ty::S32, Ty::U32, Ty::S64, Ty::U64, Ty::U16, Ty::B32}) {
      auto fn = static_cast<Fn>(f);
      if (!is_float(t) && f > static_cast<int>(Fn::Ge)) continue;  // unordered: floats only
      for (bool ftz : {false, true}) {
        Mods m;
        m.ftz = ftz && t == Ty::F32;
        CmpFn c = lanes().cmp(fn, t, m);
        if (!c) continue;
        ++covered;
        Operands rng(static_cast<uint32_t>(f) * 7 + static_cast<uint32_t>(t));
        for (int round = 0; round < 40; ++round) {
          File a, b;
          uint64_t x[32], y[32], want[32];
          for (int l = 0; l < 32; ++l) {
            x[l] = rng.pick(t);
            y[l] = l % 4 == 0 ? x[l] : rng.pick(t);
            a.set(l, x[l]);
            b.set(l, y[l]);
          }
          ieee_apply(fn, t, m, x, y, nullptr, nullptr, want, 32);
          uint32_t got = c(a.of(t), b.of(t));
          for (int l = 0; l < 32; ++l) {
            ASSERT_EQ((got >> l) & 1, want[l]) << info(fn).name << "." << info(t).text << std::hex
                                               << " on " << x[l] << " " << y[l];
          }
        }
      }
    }
  }
  EXPECT_GT(covered, 60);
}

TEST(Lanes, BlendSelectAndShapes) {
  File a, b;
  for (int l = 0; l < 32; ++l) {
    a.set(l, 100 + static_cast<uint64_t>(l));
    b.set(l, (uint64_t{7} << 40) + static_cast<uint64_t>(l));
  }
  File d = a;
  lanes().blend64(d.d, b.d, 0x80000001u);
  EXPECT_EQ(d.d[0], b.d[0]);
  EXPECT_EQ(d.d[1], a.d[1]);
  EXPECT_EQ(d.d[31], b.d[31]);
  lanes().select32(d.w, a.w, b.w, 0x2u);
  EXPECT_EQ(d.w[0], b.w[0]);
  EXPECT_EQ(d.w[1], a.w[1]);
  uint64_t addr[32];
  lanes().addr32(addr, a.w, static_cast<uint32_t>(-4));
  EXPECT_EQ(addr[0], 96u);
  EXPECT_EQ(lanes().shape(addr, 1), AddrShape::Contiguous);
  EXPECT_EQ(lanes().shape(addr, 4), AddrShape::Other);
  addr[17] += 1;
  EXPECT_EQ(lanes().shape(addr, 1), AddrShape::Other);
  std::fill_n(addr, 32, 64);
  EXPECT_EQ(lanes().shape(addr, 4), AddrShape::Uniform);
}

}  // namespace
}  // namespace assay::machine
