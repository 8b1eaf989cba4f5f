// Arithmetic, comparison and sign operations on floats of every format and rounding mode, and on
// packed pairs. Narrow formats go through double: sums, products, quotients and roots are rounded
// to odd there and once to the format, so every rounding mode sees one rounding.
#include <algorithm>

#include "base/ieee_impl.h"

namespace assay::ieee {
namespace {

template <class Fmt>
struct Narrow {  // f16, bf16, f32
  static uint64_t run(Fn fn, uint64_t a, uint64_t b, uint64_t c, Round round) {
    const double x = to_double<Fmt>(a), y = to_double<Fmt>(b), z = to_double<Fmt>(c);
    switch (fn) {
      case Fn::Add:
        return from_double<Fmt>(add_odd(x, y, round), round);
      case Fn::Sub:
        return from_double<Fmt>(add_odd(x, -y, round), round);
      case Fn::Mul:
        return from_double<Fmt>(x * y, round);  // exact in double
      case Fn::Fma:
        return from_double<Fmt>(add_odd(x * y, z, round), round);
      case Fn::Div:
        return from_double<Fmt>(div_odd(x, y), round);
      case Fn::Rcp:
        return from_double<Fmt>(div_odd(1.0, x), round);
      default:
        return from_double<Fmt>(sqrt_odd(x), round);  // Sqrt
    }
  }
};

struct Wide {  // f64
  static uint64_t run(Fn fn, uint64_t a, uint64_t b, uint64_t c, Round round) {
    switch (fn) {
      case Fn::Add:
        return soft_add(a, b, round);
      case Fn::Sub:
        return soft_add(a, F64::is_nan(b) ? b : b ^ F64::kSign, round);
      case Fn::Mul:
        return soft_mul(a, b, round);
      case Fn::Fma:
        return soft_fma(a, b, c, round);
      case Fn::Div:
        return soft_div(a, b, round);
      case Fn::Rcp:
        return soft_div(F64::kOne, a, round);
      default:
        return soft_sqrt(a, round);  // Sqrt
    }
  }
};

template <class Fmt>
bool compare(Fn fn, uint64_t a, uint64_t b) {
  const double x = to_double<Fmt>(a), y = to_double<Fmt>(b);
  switch (fn) {
    case Fn::Eq:
      return x == y;
    case Fn::Ne:
      return x < y || x > y;
    case Fn::Lt:
      return x < y;
    case Fn::Le:
      return x <= y;
    case Fn::Gt:
      return x > y;
    case Fn::Ge:
      return x >= y;
    case Fn::Equ:
      return !(x < y || x > y);
    case Fn::Neu:
      return x != y;
    case Fn::Ltu:
      return !(x >= y);
    case Fn::Leu:
      return !(x > y);
    case Fn::Gtu:
      return !(x <= y);
    case Fn::Geu:
      return !(x < y);
    case Fn::Num:
      return x == x && y == y;
    default:
      return x != x || y != y;  // Nan
  }
}

enum class Shape : uint8_t { None, Arithmetic, MinMax, Sign, Compare, IsInf, Saturate, Select };

Shape shape_of(Fn fn) {
  switch (fn) {
    case Fn::Add:
    case Fn::Sub:
    case Fn::Mul:
    case Fn::Div:
    case Fn::Fma:
    case Fn::Rcp:
    case Fn::Sqrt:
      return Shape::Arithmetic;
    case Fn::Min:
    case Fn::Max:
      return Shape::MinMax;
    case Fn::Neg:
    case Fn::Abs:
    case Fn::Copysign:
      return Shape::Sign;
    case Fn::Eq:
    case Fn::Ne:
    case Fn::Lt:
    case Fn::Le:
    case Fn::Gt:
    case Fn::Ge:
    case Fn::Equ:
    case Fn::Neu:
    case Fn::Ltu:
    case Fn::Leu:
    case Fn::Gtu:
    case Fn::Geu:
    case Fn::Num:
    case Fn::Nan:
      return Shape::Compare;
    case Fn::IsInf:
      return Shape::IsInf;
    case Fn::Sat:
      return Shape::Saturate;
    case Fn::Select:
      return Shape::Select;
    default:
      return Shape::None;
  }
}

// Calls body(a, b, c) for each lane with flushed operands and stores its result; absent operands
// read as zero.
template <class Fmt, class Body>
void lanes(const Batch& x, int arity, bool ftz, Body body) {
  for (int l = 0; l < x.n; ++l) {
    uint64_t a = x.a[l], b = arity > 1 ? x.b[l] : 0, c = arity > 2 ? x.c[l] : 0;
    if (ftz) a = Fmt::flush(a), b = Fmt::flush(b), c = Fmt::flush(c);
    x.out[l] = body(a, b, c);
  }
}

// div.approx.f32 (PTX ISA 9.7.3): a quotient with 2^126 < |b| < 2^128 is 0, and NaN for an infinite
// dividend. Elsewhere the correctly rounded quotient lies within the stated error of 2 ulp.
uint64_t div_approx32(uint64_t a, uint64_t b) {
  const uint64_t mag = b & 0x7fffffff;
  if (mag <= 0x7e800000 || mag >= F32::kInf || F32::is_nan(a)) {
    return Narrow<F32>::run(Fn::Div, a, b, 0, Round::Rn);
  }
  return F32::is_inf(a) ? F32::kNan : (a ^ b) & F32::kSign;
}

template <class Fmt>
void arithmetic(Fn fn, const Mods& mods, const Batch& x) {
  using Calc = std::conditional_t<Fmt::kWidth == 64, Wide, Narrow<Fmt>>;
  const bool by_reciprocal = Fmt::kWidth == 32 && fn == Fn::Div && mods.approx && mods.imm == 0;
  lanes<Fmt>(x, info(fn).arity, mods.ftz, [&](uint64_t a, uint64_t b, uint64_t c) {
    uint64_t r = by_reciprocal ? div_approx32(a, b) : Calc::run(fn, a, b, c, mods.round);
    if (mods.ftz) r = Fmt::flush(r);
    return mods.sat ? saturate<Fmt>(r) : r;
  });
}

template <class Fmt>
void sign(Fn fn, const Mods& mods, const Batch& x) {
  constexpr uint64_t kAll = 2 * Fmt::kSign - 1;  // wraps to all ones for 64 bits
  lanes<Fmt>(x, info(fn).arity, mods.ftz, [&](uint64_t a, uint64_t b, uint64_t) -> uint64_t {
    if (fn == Fn::Neg) a ^= Fmt::kSign;
    if (fn == Fn::Abs) a &= ~Fmt::kSign;
    if (fn == Fn::Copysign) a = (a & ~Fmt::kSign) | (b & Fmt::kSign);
    a &= kAll;
    return mods.sat ? saturate<Fmt>(a) : a;
  });
}

template <class Fmt>
bool apply(Fn fn, const Mods& mods, const Batch& x) {
  switch (shape_of(fn)) {
    case Shape::None:
      return false;
    case Shape::Arithmetic:
      arithmetic<Fmt>(fn, mods, x);
      break;
    case Shape::Sign:
      sign<Fmt>(fn, mods, x);
      break;
    case Shape::MinMax:
      lanes<Fmt>(x, 2, mods.ftz, [&](uint64_t a, uint64_t b, uint64_t) {
        const uint64_t r = fn == Fn::Max ? min_max<Fmt, true>(a, b, mods.nan)
                                         : min_max<Fmt, false>(a, b, mods.nan);
        return mods.sat ? saturate<Fmt>(r) : r;
      });
      break;
    case Shape::Compare:
      lanes<Fmt>(x, 2, mods.ftz, [&](uint64_t a, uint64_t b, uint64_t) -> uint64_t {
        return compare<Fmt>(fn, a, b) ? 1 : 0;
      });
      break;
    case Shape::IsInf:
      lanes<Fmt>(x, 1, false,
                 [](uint64_t a, uint64_t, uint64_t) -> uint64_t { return Fmt::is_inf(a); });
      break;
    case Shape::Saturate:
      lanes<Fmt>(x, 1, mods.ftz, [](uint64_t a, uint64_t, uint64_t) { return saturate<Fmt>(a); });
      break;
    case Shape::Select:
      for (int l = 0; l < x.n; ++l) x.out[l] = x.a[l] != 0 ? x.b[l] : x.c[l];
      break;
  }
  return true;
}

}  // namespace

bool apply_float(Fn fn, Ty type, const Mods& mods, const Batch& x) {
  switch (type) {
    case Ty::F16:
      return apply<F16>(fn, mods, x);
    case Ty::BF16:
      return apply<BF16>(fn, mods, x);
    case Ty::F32:
      return apply<F32>(fn, mods, x);
    case Ty::F64:
      return apply<F64>(fn, mods, x);
    default:
      return false;
  }
}

}  // namespace assay::ieee
