#pragma once
// Inside of ieee.h: float formats, single-rounding conversion from double, and the tables that
// ieee_apply dispatches on. Everything assumes the default floating-point environment (round to
// nearest, no flush): directed modes are computed exactly, never by fesetround.
#include <bit>
#include <cmath>
#include <cstdint>

#include "base/fn.h"

namespace assay::ieee {

// A batch function: operands as in ieee_apply. `out` may equal an operand.
struct Batch {
  const uint64_t* a;
  const uint64_t* b;
  const uint64_t* c;
  const uint64_t* d;
  uint64_t* out;
  int n;
};

template <int kMantBits, int kExpBits, uint64_t kCanonicalNan>
struct Format {
  static constexpr int kMant = kMantBits;
  static constexpr int kBias = (1 << (kExpBits - 1)) - 1;
  static constexpr int kWidth = kMantBits + kExpBits + 1;
  static constexpr uint64_t kNan = kCanonicalNan;
  static constexpr uint64_t kSign = uint64_t{1} << (kWidth - 1);
  static constexpr uint64_t kInf = ((uint64_t{1} << kExpBits) - 1) << kMantBits;
  static constexpr uint64_t kOne = static_cast<uint64_t>(kBias) << kMantBits;
  static constexpr uint64_t kMax = kInf - 1;  // largest finite magnitude

  static bool is_nan(uint64_t u) { return (u & ~kSign) > kInf; }
  static bool is_inf(uint64_t u) { return (u & ~kSign) == kInf; }
  static uint64_t flush(uint64_t u) { return (u & kInf) == 0 ? u & kSign : u; }
};

// NaN results are canonical: 0x7fff (f16, bf16) and 0x7fffffff (f32) by PTX ISA 9.7.3 and 9.7.4;
// for f64 the ISA is silent, and the same pattern is used (as in machine/lanes).
using F16 = Format<10, 5, 0x7fff>;
using BF16 = Format<7, 8, 0x7fff>;
using F32 = Format<23, 8, 0x7fffffff>;
using F64 = Format<52, 11, 0x7fffffffffffffff>;

template <class Fmt>
inline double to_double(uint64_t u) {
  if constexpr (Fmt::kWidth == 64) {
    return std::bit_cast<double>(u);
  } else if constexpr (Fmt::kWidth == 32) {
    return std::bit_cast<float>(static_cast<uint32_t>(u));
  } else if constexpr (Fmt::kMant == 7) {
    return std::bit_cast<float>(static_cast<uint32_t>(u) << 16);
  } else {
    // The exponent is rebiased by a multiplication, which also normalises subnormals (exact).
    const uint32_t sign = (static_cast<uint32_t>(u) & 0x8000u) << 16;
    uint32_t mag = (static_cast<uint32_t>(u) & 0x7fffu) << 13;
    if (mag >= 0x0f800000u) {
      mag |= 0x7f800000u;  // infinity or NaN
    } else {
      mag = std::bit_cast<uint32_t>(std::bit_cast<float>(mag) * 0x1p112f);
    }
    return std::bit_cast<float>(sign | mag);
  }
}

// The magnitude that an overflowing result takes (PTX ISA: as IEEE 754).
template <class Fmt>
inline uint64_t overflow(bool negative, Round round) {
  const bool to_max =
      round == Round::Rz || (round == Round::Rm && !negative) || (round == Round::Rp && negative);
  return (negative ? Fmt::kSign : 0) | (to_max ? Fmt::kMax : Fmt::kInf);
}

// Rounds (-1)^negative * m * 2^(e - 63), bit 63 of m set, plus a positive amount below one unit of
// m if `sticky`.
template <class Fmt>
inline uint64_t round_pack(bool negative, int e, uint64_t m, bool sticky, Round round) {
  constexpr int kMinExp = 1 - Fmt::kBias;
  int shift = 63 - Fmt::kMant;
  if (e > Fmt::kBias) return overflow<Fmt>(negative, round);
  if (e < kMinExp) shift = kMinExp - e > 64 ? 128 : shift + (kMinExp - e);
  uint64_t q = 0, half = 0, rest = 0;  // rest and half as fractions of q's unit, scaled alike
  if (shift < 64) {
    q = m >> shift;
    rest = m & ((uint64_t{1} << shift) - 1);
    half = uint64_t{1} << (shift - 1);
  } else if (shift == 64) {
    rest = m;
    half = uint64_t{1} << 63;
  } else {
    rest = 1;  // below one half, not zero
    half = 2;
  }
  bool up = false;
  switch (round) {
    case Round::Rn:
      up = rest > half || (rest == half && (sticky || (q & 1) != 0));
      break;
    case Round::Rna:
      up = rest >= half;
      break;
    case Round::Rz:
      break;
    case Round::Rm:
      up = negative && (rest != 0 || sticky);
      break;
    case Round::Rp:
      up = !negative && (rest != 0 || sticky);
      break;
  }
  q += up ? 1 : 0;
  if (e >= kMinExp) q += static_cast<uint64_t>(e + Fmt::kBias - 1) << Fmt::kMant;
  if (q >= Fmt::kInf) return overflow<Fmt>(negative, round);
  return (negative ? Fmt::kSign : 0) | q;
}

// Rounds once to Fmt. Exact results of wider arithmetic that were rounded to odd (below) round
// correctly: 53 bits are at least two more than any narrower format has.
template <class Fmt>
inline uint64_t from_double(double v, Round round) {
  const uint64_t u = std::bit_cast<uint64_t>(v);
  if constexpr (Fmt::kWidth == 64) return v != v ? Fmt::kNan : u;
  const bool negative = (u >> 63) != 0;
  const int field = static_cast<int>((u >> 52) & 0x7ff);
  const uint64_t mant = u & 0xfffffffffffff;
  if (field == 0x7ff) return mant != 0 ? Fmt::kNan : (negative ? Fmt::kSign : 0) | Fmt::kInf;
  if (field == 0) {
    if (mant == 0) return negative ? Fmt::kSign : 0;
    return round_pack<Fmt>(negative, -1023, uint64_t{1} << 63, true, round);  // far below any Fmt
  }
  return round_pack<Fmt>(negative, field - 1023, (mant | (uint64_t{1} << 52)) << 11, false, round);
}

// Round to odd: `v` is the nearest double to an exact value v + err (only err's sign matters). The
// last bit becomes a sticky bit, so that a later rounding to fewer bits is the only one.
inline double to_odd(double v, double err) {
  uint64_t u = std::bit_cast<uint64_t>(v);
  if ((u & 1) == 0 && (err > 0 || err < 0)) u += (err > 0) == (v > 0) ? 1 : uint64_t{0} - 1;
  return std::bit_cast<double>(u);
}

// The following are exact for operands from f16, bf16 and f32, whose sums and products stay far
// inside double's exponent range. A zero result of exact cancellation is -0 when rounding down.
inline double add_odd(double a, double b, Round round) {
  const double s = a + b;
  if (s == 0 && round == Round::Rm && (std::signbit(a) || std::signbit(b))) return -0.0;
  const double bb = s - a;
  return to_odd(s, (a - (s - bb)) + (b - bb));
}
inline double div_odd(double a, double b) {
  const double q = a / b;
  if (q == 0 || !std::isfinite(q)) return q;
  const double r = std::fma(-q, b, a);
  return to_odd(q, b < 0 ? -r : r);
}
inline double sqrt_odd(double a) {
  const double s = std::sqrt(a);
  if (s == 0 || !std::isfinite(s)) return s;
  return to_odd(s, std::fma(-s, s, a));
}

template <class Fmt>
inline uint64_t saturate(uint64_t u) {  // [0, 1]; NaN and -0 give +0
  if (Fmt::is_nan(u) || (u & Fmt::kSign) != 0) return 0;
  return u > Fmt::kOne ? Fmt::kOne : u;
}

// Order of PTX min and max: -0 below +0; NaN is the other operand, or NaN with .NaN.
template <class Fmt, bool kMax>
inline uint64_t min_max(uint64_t a, uint64_t b, bool nan) {
  const bool an = Fmt::is_nan(a), bn = Fmt::is_nan(b);
  if (an || bn) return (an && bn) || nan ? Fmt::kNan : (an ? b : a);
  // Sign-magnitude to a monotonic unsigned key.
  const uint64_t ka = (a & Fmt::kSign) != 0 ? ~a & (2 * Fmt::kSign - 1) : a | Fmt::kSign;
  const uint64_t kb = (b & Fmt::kSign) != 0 ? ~b & (2 * Fmt::kSign - 1) : b | Fmt::kSign;
  return (kMax ? ka >= kb : ka <= kb) ? a : b;
}

// Exact f64 arithmetic in every rounding mode on 128-bit integers (ieee_soft.cpp).
uint64_t soft_fma(uint64_t a, uint64_t b, uint64_t c, Round round);
uint64_t soft_add(uint64_t a, uint64_t b, Round round);
uint64_t soft_mul(uint64_t a, uint64_t b, Round round);
uint64_t soft_div(uint64_t a, uint64_t b, Round round);
uint64_t soft_sqrt(uint64_t a, Round round);

// Vectorised loops for the common cases: rn, no sat. nullptr: there is none.
using FastFn = void (*)(const Batch&);
FastFn fast_baseline(Fn fn, Ty type, bool ftz);
FastFn fast_cvt_baseline(Fn fn, Ty to, Ty from);  // no ftz; float to integer: rz
bool has_avx2();                                  // AVX2 and FMA; else do not call what follows
FastFn fast_avx2(Fn fn, Ty type, bool ftz);
FastFn fast_cvt_avx2(Fn fn, Ty to, Ty from);

// Each returns false if (fn, type, mods) has no meaning in its family; then `x.out` is untouched.
// With x.n == 0 it only answers.
bool apply_float(Fn fn, Ty type, const Mods& mods, const Batch& x);  // arithmetic, comparisons
bool apply_math(Fn fn, Ty type, const Mods& mods, const Batch& x);   // functions
bool apply_int(Fn fn, Ty type, const Mods& mods, const Batch& x);
bool apply_cvt(Fn fn, Ty type, const Mods& mods, const Batch& x);

inline uint64_t width_mask(uint32_t width) {
  return width >= 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
}
inline int64_t sign_extend(uint64_t u, uint32_t width) {
  return static_cast<int64_t>(u << (64 - width)) >> (64 - width);
}

}  // namespace assay::ieee
