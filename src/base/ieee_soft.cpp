// f64 arithmetic in every rounding mode: exact significands in 128-bit integers, one rounding.
#include <cassert>

#include "base/ieee_impl.h"

namespace assay::ieee {
namespace {

using U128 = unsigned __int128;

// (-1)^negative * m * 2^e, m an integer; zero iff m == 0.
struct Exact {
  bool negative = false;
  int e = 0;
  U128 m = 0;
};

int top_bit(U128 m) {  // position of the highest set bit; m != 0
  const uint64_t hi = static_cast<uint64_t>(m >> 64);
  return hi != 0 ? 127 - std::countl_zero(hi) : 63 - std::countl_zero(static_cast<uint64_t>(m));
}

Exact decode(uint64_t u) {  // finite
  Exact x;
  x.negative = (u >> 63) != 0;
  const int field = static_cast<int>((u >> 52) & 0x7ff);
  x.m = u & 0xfffffffffffff;
  if (field != 0) x.m |= U128{1} << 52;
  x.e = (field != 0 ? field : 1) - 1075;
  return x;
}

uint64_t zero(bool negative) { return negative ? F64::kSign : 0; }
uint64_t infinity(bool negative) { return zero(negative) | F64::kInf; }

uint64_t pack(bool negative, int e, U128 m, bool sticky, Round round) {
  if (m == 0) return zero(negative);
  const int top = top_bit(m);
  uint64_t hi;
  if (top >= 63) {
    const int shift = top - 63;
    hi = static_cast<uint64_t>(m >> shift);
    sticky = sticky || (shift != 0 && (m & ((U128{1} << shift) - 1)) != 0);
  } else {
    hi = static_cast<uint64_t>(m) << (63 - top);
  }
  return round_pack<F64>(negative, e + top, hi, sticky, round);
}

// Shifts so that the highest set bit stands at 125: room for a carry and a sign.
void normalise(Exact* x) {
  const int shift = 125 - top_bit(x->m);
  x->m <<= shift;
  x->e -= shift;
}

uint64_t add_exact(Exact x, Exact y, Round round) {
  if (x.m == 0 && y.m == 0) {
    return zero(x.negative == y.negative ? x.negative : round == Round::Rm);
  }
  if (x.m == 0) return pack(y.negative, y.e, y.m, false, round);
  if (y.m == 0) return pack(x.negative, x.e, x.m, false, round);
  normalise(&x);
  normalise(&y);
  if (x.e < y.e || (x.e == y.e && x.m < y.m)) std::swap(x, y);
  // Bits shifted out are jammed into the last one. A product has at most 106 significant bits, so
  // bits are lost only for shifts above 19, and then at most one leading bit cancels.
  const int shift = x.e - y.e;
  const U128 kept = shift > 127 ? 0 : y.m >> shift;
  const bool lost = shift > 127 || (shift != 0 && (y.m & ((U128{1} << shift) - 1)) != 0);
  const U128 part = kept | (lost ? 1 : 0);
  const U128 sum = x.negative == y.negative ? x.m + part : x.m - part;
  if (sum == 0) return zero(round == Round::Rm);
  return pack(x.negative, x.e, sum, false, round);
}

bool nan(uint64_t u) { return F64::is_nan(u); }
bool inf(uint64_t u) { return F64::is_inf(u); }
bool neg(uint64_t u) { return (u >> 63) != 0; }
bool is_zero(uint64_t u) { return (u << 1) == 0; }

U128 isqrt(U128 m, bool* exact) {  // floor of the square root, m < 2^126
  U128 root = 0, rest = m;
  for (U128 bit = U128{1} << 124; bit != 0; bit >>= 2) {
    const U128 trial = root + bit;
    root >>= 1;
    if (rest >= trial) {
      rest -= trial;
      root += bit;
    }
  }
  *exact = rest == 0;
  return root;
}

}  // namespace

uint64_t soft_fma(uint64_t a, uint64_t b, uint64_t c, Round round) {
  if (nan(a) || nan(b) || nan(c)) return F64::kNan;
  const bool sign = neg(a) != neg(b);
  if (inf(a) || inf(b)) {
    if (is_zero(a) || is_zero(b)) return F64::kNan;
    return inf(c) && neg(c) != sign ? F64::kNan : infinity(sign);
  }
  if (inf(c)) return c;
  const Exact x = decode(a), y = decode(b);
  return add_exact(Exact{sign, x.e + y.e, x.m * y.m}, decode(c), round);
}

uint64_t soft_add(uint64_t a, uint64_t b, Round round) {
  if (nan(a) || nan(b)) return F64::kNan;
  if (inf(a)) return inf(b) && neg(a) != neg(b) ? F64::kNan : a;
  if (inf(b)) return b;
  return add_exact(decode(a), decode(b), round);
}

uint64_t soft_mul(uint64_t a, uint64_t b, Round round) {
  if (nan(a) || nan(b)) return F64::kNan;
  const bool sign = neg(a) != neg(b);
  if (inf(a) || inf(b)) return is_zero(a) || is_zero(b) ? F64::kNan : infinity(sign);
  const Exact x = decode(a), y = decode(b);
  const U128 m = x.m * y.m;
  return m == 0 ? zero(sign) : pack(sign, x.e + y.e, m, false, round);
}

uint64_t soft_div(uint64_t a, uint64_t b, Round round) {
  if (nan(a) || nan(b)) return F64::kNan;
  const bool sign = neg(a) != neg(b);
  if (inf(a)) return inf(b) ? F64::kNan : infinity(sign);
  if (inf(b)) return zero(sign);
  if (is_zero(b)) return is_zero(a) ? F64::kNan : infinity(sign);
  if (is_zero(a)) return zero(sign);
  Exact x = decode(a), y = decode(b);
  normalise(&x);  // 126-bit numerator over at most 53 bits: at least 73 quotient bits
  return pack(sign, x.e - y.e, x.m / y.m, x.m % y.m != 0, round);
}

uint64_t soft_sqrt(uint64_t a, Round round) {
  if (nan(a)) return F64::kNan;
  if (is_zero(a)) return a;
  if (neg(a)) return F64::kNan;
  if (inf(a)) return a;
  Exact x = decode(a);
  normalise(&x);
  if (x.e % 2 != 0) {  // an even exponent; at least 62 root bits remain
    x.m >>= 1;         // low bits are zero
    x.e += 1;
  }
  bool exact = false;
  const U128 root = isqrt(x.m, &exact);
  return pack(false, x.e / 2, root, !exact, round);
}

}  // namespace assay::ieee
