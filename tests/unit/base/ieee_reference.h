#pragma once
// References for the IEEE tests that share no code with src/base: formats are enumerated, rounding
// searches the enumeration, arithmetic is __float128 or the processor under fesetround.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "base/ieee.h"

namespace assay::testing {

inline constexpr Round kRounds[] = {Round::Rn, Round::Rz, Round::Rm, Round::Rp};

// The non-negative finite values of a small format, in the order of their bit patterns.
struct SmallFormat {
  int mant, exp_bits;
  std::vector<double> values;
  uint64_t infinity() const { return values.size(); }
  uint64_t sign() const { return uint64_t{1} << (mant + exp_bits); }
};

inline SmallFormat make_format(int mant, int exp_bits) {
  SmallFormat f{mant, exp_bits, {}};
  const int bias = (1 << (exp_bits - 1)) - 1;
  for (int e = 0; e < (1 << exp_bits) - 1; ++e) {
    for (int m = 0; m < 1 << mant; ++m) {
      const double frac = e == 0 ? m : m + (1 << mant);
      f.values.push_back(std::ldexp(frac, (e == 0 ? 1 : e) - bias - mant));
    }
  }
  return f;
}
inline const SmallFormat& f16_format() {
  static const SmallFormat f = make_format(10, 5);
  return f;
}
inline const SmallFormat& bf16_format() {
  static const SmallFormat f = make_format(7, 8);
  return f;
}

inline double small_to_double(const SmallFormat& f, uint64_t u) {
  const uint64_t mag = u & (f.sign() - 1);
  double v = NAN;
  if (mag < f.values.size()) v = f.values[mag];
  if (mag == f.infinity()) v = INFINITY;
  return (u & f.sign()) != 0 ? -v : v;
}

// Rounds an exact finite value: nearest neighbours by binary search.
inline uint64_t small_round(const SmallFormat& f, __float128 v, Round round, bool negative_zero) {
  const bool negative = v < 0 || (v == 0 && negative_zero);
  const __float128 mag = v < 0 ? -v : v;
  const auto above = std::upper_bound(f.values.begin(), f.values.end(), mag,
                                      [](__float128 x, double y) { return x < y; });
  const uint64_t lo = static_cast<uint64_t>(above - f.values.begin()) - 1, hi = lo + 1;
  const __float128 lo_v = f.values[lo];
  // The unit above the largest value is where infinity would stand.
  const __float128 hi_v =
      hi < f.values.size() ? static_cast<__float128>(f.values[hi]) : 2 * lo_v - f.values[lo - 1];
  bool up = false;
  if (mag != lo_v) {
    const __float128 a = mag - lo_v, b = hi_v - mag;
    switch (round) {
      case Round::Rn:
        up = a > b || (a == b && (lo & 1) != 0);
        break;
      case Round::Rna:
        up = a >= b;
        break;
      case Round::Rz:
        break;
      case Round::Rm:
        up = negative;
        break;
      case Round::Rp:
        up = !negative;
        break;
    }
    // Far beyond the largest value every nearest mode overflows.
    if (hi == f.values.size() && a > b) up = up || round == Round::Rn || round == Round::Rna;
  }
  return (negative ? f.sign() : 0) | (up ? hi : lo);
}

inline bool is_nan_bits(Ty type, uint64_t u) { return std::isnan(ieee_to_double(type, u)); }

// Bit patterns worth trying for a float type: zeros, subnormals, powers, limits, infinities, NaNs.
inline std::vector<uint64_t> corner_bits(int mant, int exp_bits) {
  std::vector<uint64_t> v;
  const uint64_t one = uint64_t{1}, frac = (one << mant) - 1, top = (one << exp_bits) - 1;
  const uint64_t bias = (one << (exp_bits - 1)) - 1;
  for (uint64_t e :
       {uint64_t{0}, one, uint64_t{2}, bias - static_cast<uint64_t>(mant) - 1, bias - 1, bias,
        bias + 1, bias + static_cast<uint64_t>(mant), bias + 30, top - 1, top}) {
    for (uint64_t m :
         {uint64_t{0}, one, frac, frac - 1, frac >> 1, (frac >> 1) + 1, (frac >> 1) + 2}) {
      v.push_back((e & top) << mant | m);
    }
  }
  const size_t n = v.size();
  for (size_t i = 0; i < n; ++i) v.push_back(v[i] | one << (mant + exp_bits));
  return v;
}

// Random patterns: uniform bits, or exponents near one another so that cancellation happens.
struct Patterns {
  std::mt19937_64 rng{20240607};
  int mant, exp_bits;
  std::vector<uint64_t> corners;
  Patterns(int m, int e) : mant(m), exp_bits(e), corners(corner_bits(m, e)) {}
  uint64_t next() {
    const uint64_t r = rng();
    switch (r & 3) {
      case 0:
        return corners[(r >> 8) % corners.size()];
      case 1:
        return rng() & all();
      default: {
        const uint64_t bias = (uint64_t{1} << (exp_bits - 1)) - 1;
        const uint64_t e = bias - 3 + ((r >> 8) % 7);
        const uint64_t keep = (r & 4) != 0 ? ~uint64_t{0} : ~uint64_t{0} << (mant / 2);
        return (((rng() & keep) & ((uint64_t{1} << mant) - 1)) | e << mant |
                ((r >> 20) & 1) << (mant + exp_bits));
      }
    }
  }
  uint64_t all() const {
    const int w = mant + exp_bits + 1;
    return w == 64 ? ~uint64_t{0} : (uint64_t{1} << w) - 1;
  }
};

}  // namespace assay::testing
