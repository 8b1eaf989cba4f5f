#include "machine/affine_lines.h"

#include <algorithm>
#include <bit>

namespace assay::machine {
namespace {

Wide power(uint32_t n) { return Wide{1} << n; }
Wide least_of(Ty t) { return is_signed(t) ? -power(bits(t) - 1) : 0; }
Wide most_of(Ty t) { return power(is_signed(t) ? bits(t) - 1 : bits(t)) - 1; }
Wide floor_div(Wide a, Wide b) { return a / b - (a % b < 0 ? 1 : 0); }  // b > 0

// Modulo 2^n, nearest to 0.
int64_t wrap(uint64_t slope, uint32_t n) {
  if (n >= 64) return static_cast<int64_t>(slope);
  return static_cast<int64_t>(slope << (64 - n)) >> (64 - n);
}
int64_t wrap(Wide slope, uint32_t n) { return wrap(static_cast<uint64_t>(slope), n); }

bool fixed(const Line& x) { return !x.unknown && x.slope == 0; }

// The integer does not wrap in its type.
bool in_range(const Line& x, Ty t, CtaSpan* run) {
  return !x.unknown && stay(x.value, x.slope, least_of(t), most_of(t), run);
}

// floor((v + k * s) / d): of a constant step where d divides s, else while it is the same.
bool quotient(Wide v, Wide s, Wide d, CtaSpan* run, Wide* slope) {
  *slope = s % d == 0 ? s / d : 0;
  if (s % d == 0) return true;
  const Wide first = floor_div(v, d) * d;
  return stay(v, s, first, first + d - 1, run);
}

// x modulo a power of two, or x without that.
bool masked(const Line& x, uint64_t mask, uint32_t n, CtaSpan* run, Wide* slope) {
  const uint64_t all = n >= 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1;
  const bool high = (mask & 1) == 0;
  const uint64_t low = high ? ~mask & all : mask & all;
  if (x.unknown || !std::has_single_bit(low + 1)) return false;
  const Wide d = Wide{low} + 1;
  const bool steps = x.slope % d == 0;  // the low part is the same in all CTAs
  *slope = steps == high ? x.slope : 0;
  if (steps) return true;
  return stay(x.value - floor_div(x.value, d) * d, x.slope, 0, d - 1, run);
}

// A sum in which no bits meet: what x grows by lies above all bits of y.
bool joined(const Line& x, const Line& y, Wide* slope) {
  if (x.unknown || !fixed(y) || y.value < 0) return false;
  const uint64_t taken = static_cast<uint64_t>(x.value) | static_cast<uint64_t>(x.slope);
  *slope = x.slope;
  return (y.value >> std::countr_zero(taken)) == 0;  // taken is not 0: the slope is not
}

bool divided(const MicroOp& op, const Line& x, const Line& y, CtaSpan* run, Wide* slope) {
  if (!fixed(y) || y.value <= 0 || !in_range(x, op.type, run)) return false;
  if (!stay(x.value, x.slope, 0, most_of(op.type), run)) return false;  // rounds toward 0
  Wide q = 0;
  if (!quotient(x.value, x.slope, y.value, run, &q)) return false;
  *slope = op.fn == Fn::IDiv ? q : x.slope - q * y.value;
  return true;
}

bool product(const MicroOp& op, const Line& x, const Line& y, CtaSpan* run, Wide* slope) {
  if (x.slope == 0 && y.slope == 0) return true;  // an addend grows
  if (x.slope == 0) return product(op, y, x, run, slope);
  if (!fixed(y)) return false;
  *slope = Wide{x.slope} * y.value;
  if (op.fn == Fn::IMul) return true;
  if (bits(op.type) > 32 || !in_range(x, op.type, run)) return false;
  if (op.fn == Fn::IMulWide) return true;
  return quotient(x.value * y.value, *slope, power(bits(op.type)), run, slope);
}

bool alu(const MicroOp& op, const Line* x, CtaSpan* run, Wide* slope) {
  const uint32_t n = bits(op.type);
  switch (op.fn) {
    case Fn::IAdd:
      *slope = Wide{x[0].slope} + x[1].slope;
      return !op.mods.sat;
    case Fn::ISub:
      *slope = Wide{x[0].slope} - x[1].slope;
      return !op.mods.sat;
    case Fn::INeg:
    case Fn::Not:
      *slope = -Wide{x[0].slope};
      return true;
    case Fn::IMul:
    case Fn::IMulWide:
    case Fn::IMulHi:
      return product(op, x[0], x[1], run, slope);
    case Fn::Shl:
      if (!fixed(x[1])) return false;
      *slope = x[1].value >= n ? 0 : x[0].slope * power(static_cast<uint32_t>(x[1].value));
      return true;
    case Fn::Shr:
      return fixed(x[1]) && x[1].value < n && in_range(x[0], op.type, run) &&
             quotient(x[0].value, x[0].slope, power(static_cast<uint32_t>(x[1].value)), run, slope);
    case Fn::And:
      if (fixed(x[1])) return masked(x[0], static_cast<uint64_t>(x[1].value), n, run, slope);
      return fixed(x[0]) && masked(x[1], static_cast<uint64_t>(x[0].value), n, run, slope);
    case Fn::Or:
    case Fn::Xor:
      return x[1].slope == 0 ? joined(x[0], x[1], slope) : joined(x[1], x[0], slope);
    case Fn::IDiv:
    case Fn::IRem:
      return divided(op, x[0], x[1], run, slope);
    case Fn::IMin:
    case Fn::IMax:
      if (!same_order(x[0], x[1], op.type, run)) return false;
      *slope = x[(x[0].value < x[1].value) == (op.fn == Fn::IMin) ? 0 : 1].slope;
      return x[0].value != x[1].value || x[0].slope == x[1].slope;
    case Fn::CvtII:
      if (op.mods.sat || n < 32) return false;
      *slope = x[0].slope;
      return n <= bits(op.mods.type2) || in_range(x[0], op.mods.type2, run);
    case Fn::Bits:
      *slope = x[0].slope;
      return true;
    default:
      return false;
  }
}

}  // namespace

Wide integer(uint64_t v, Ty type) {
  const uint32_t n = bits(type);
  if (n < 64) v &= (uint64_t{1} << n) - 1;
  const bool negative = is_signed(type) && ((v >> (n - 1)) & 1) != 0;
  return Wide{v} - (negative ? power(n) : 0);
}

Ty operand_type(const MicroOp& op, size_t i) {
  if (op.kind == OpKind::Mad && i == 2 && op.fn == Fn::IMulWide)
    return bits(op.type) == 32 ? Ty::U64 : Ty::U32;
  if (op.kind != OpKind::Alu) return op.type;
  if (op.fn == Fn::CvtII || op.fn == Fn::CvtIF || op.fn == Fn::CvtFI || op.fn == Fn::CvtFF)
    return op.mods.type2;
  return i == 1 && (op.fn == Fn::Shl || op.fn == Fn::Shr) ? Ty::U32 : op.type;
}

bool stay(Wide value, Wide slope, Wide least, Wide most, CtaSpan* run) {
  if (value < least || value > most) return false;
  if (slope == 0) return true;
  const Wide last = slope > 0 ? (most - value) / slope : (value - least) / -slope;
  if (last < Wide{run->count}) run->count = std::min(run->count, static_cast<uint64_t>(last) + 1);
  return true;
}

bool same_order(const Line& x, const Line& y, Ty type, CtaSpan* run) {
  if (!in_range(x, type, run) || !in_range(y, type, run)) return false;
  const Wide far = power(100), d = x.value - y.value, step = Wide{x.slope} - y.slope;
  return d > 0   ? stay(d, step, 1, far, run)
         : d < 0 ? stay(d, step, -far, -1, run)
                 : stay(d, step, 0, 0, run);
}

bool slope_of(const MicroOp& op, const Line* x, CtaSpan* run, int64_t* slope) {
  if (!is_int(op.type) || (op.fn == Fn::CvtII && !is_int(op.mods.type2))) return false;
  Wide s = 0;
  if (!(op.kind == OpKind::Mad ? product(op, x[0], x[1], run, &s) : alu(op, x, run, &s)))
    return false;
  uint32_t n = bits(op.type);
  if (op.fn == Fn::IMulWide) n *= 2;
  if (op.kind == OpKind::Mad) s += x[2].slope;
  *slope = wrap(s, n);
  return true;
}

}  // namespace assay::machine
