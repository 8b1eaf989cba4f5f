// Functions. Results of at most 24 bits come from double, f64 results from long double, rounded
// once more: correct to about 0.5001 units in the last place where the C library is good to a few
// units of its own type. The .approx forms are computed the same way: PTX ISA 9.7.3 states an
// absolute or relative error bound for each, and the correctly rounded value lies within it.
#include <algorithm>

#include "base/ieee_impl.h"
#include "base/ieee_special.h"

namespace assay::ieee {
namespace {

using D = double;
using L = long double;

// One row a unary function: id, in double, in long double.
#define UNARY_FUNCTIONS(ROW)                                                          \
  ROW(Rsqrt, 1 / std::sqrt(x), 1 / std::sqrt(x))                                      \
  ROW(Cbrt, std::cbrt(x), std::cbrt(x))                                               \
  ROW(Rcbrt, 1 / std::cbrt(x), 1 / std::cbrt(x))                                      \
  ROW(Exp, std::exp(x), std::exp(x))                                                  \
  ROW(Exp2, std::exp2(x), std::exp2(x))                                               \
  ROW(Exp10, ::exp10(x), ::exp10l(x))                                                 \
  ROW(Expm1, std::expm1(x), std::expm1(x))                                            \
  ROW(Log, std::log(x), std::log(x))                                                  \
  ROW(Log2, std::log2(x), std::log2(x))                                               \
  ROW(Log10, std::log10(x), std::log10(x))                                            \
  ROW(Log1p, std::log1p(x), std::log1p(x))                                            \
  ROW(Sin, std::sin(x), std::sin(x))                                                  \
  ROW(Cos, std::cos(x), std::cos(x))                                                  \
  ROW(Tan, std::tan(x), std::tan(x))                                                  \
  ROW(Sinpi, sinpi_of(x), sinpi_of(x))                                                \
  ROW(Cospi, cospi_of(x), cospi_of(x))                                                \
  ROW(Asin, std::asin(x), std::asin(x))                                               \
  ROW(Acos, std::acos(x), std::acos(x))                                               \
  ROW(Atan, std::atan(x), std::atan(x))                                               \
  ROW(Sinh, std::sinh(x), std::sinh(x))                                               \
  ROW(Cosh, std::cosh(x), std::cosh(x))                                               \
  ROW(Tanh, std::tanh(x), std::tanh(x))                                               \
  ROW(Asinh, std::asinh(x), std::asinh(x))                                            \
  ROW(Acosh, std::acosh(x), std::acosh(x))                                            \
  ROW(Atanh, std::atanh(x), std::atanh(x))                                            \
  ROW(Erf, std::erf(x), std::erf(x))                                                  \
  ROW(Erfc, std::erfc(x), std::erfc(x))                                               \
  ROW(Erfcx, static_cast<D>(erfcx_of(static_cast<L>(x))), erfcx_of(x))                \
  ROW(Erfinv, static_cast<D>(erfinv_of(static_cast<L>(x))), erfinv_of(x))             \
  ROW(Erfcinv, static_cast<D>(erfcinv_of(static_cast<L>(x))), erfcinv_of(x))          \
  ROW(Normcdf, static_cast<D>(normcdf_of(static_cast<L>(x))), normcdf_of(x))          \
  ROW(Normcdfinv, static_cast<D>(normcdfinv_of(static_cast<L>(x))), normcdfinv_of(x)) \
  ROW(Lgamma, static_cast<D>(lgamma_of(static_cast<L>(x))), lgamma_of(x))             \
  ROW(Tgamma, std::tgamma(x), std::tgamma(x))                                         \
  ROW(Floor, std::floor(x), std::floor(x))                                            \
  ROW(Ceil, std::ceil(x), std::ceil(x))                                               \
  ROW(Trunc, std::trunc(x), std::trunc(x))                                            \
  ROW(Rint, std::nearbyint(x), std::nearbyint(x))                                     \
  ROW(Round, std::round(x), std::round(x))                                            \
  ROW(Logb, std::logb(x), std::logb(x))                                               \
  ROW(J0, ::j0(x), ::j0l(x))                                                          \
  ROW(J1, ::j1(x), ::j1l(x))                                                          \
  ROW(Y0, ::y0(x), ::y0l(x))                                                          \
  ROW(Y1, ::y1(x), ::y1l(x))                                                          \
  ROW(I0, static_cast<D>(bessel_i_of(0, static_cast<L>(x))), bessel_i_of(0, x))       \
  ROW(I1, static_cast<D>(bessel_i_of(1, static_cast<L>(x))), bessel_i_of(1, x))

#define BINARY_FUNCTIONS(ROW)                                \
  ROW(Pow, std::pow(x, y), std::pow(x, y))                   \
  ROW(Atan2, std::atan2(x, y), std::atan2(x, y))             \
  ROW(Hypot, std::hypot(x, y), std::hypot(x, y))             \
  ROW(Fmod, std::fmod(x, y), std::fmod(x, y))                \
  ROW(Remainder, std::remainder(x, y), std::remainder(x, y)) \
  ROW(Fdim, std::fdim(x, y), std::fdim(x, y))

template <class T>
using Unary = T (*)(T);
template <class T>
using Binary = T (*)(T, T);

template <class T>
Unary<T> unary_function(Fn fn) {
  constexpr bool kNarrow = std::is_same_v<T, D>;
#define ROW(id, narrow, wide) \
  case Fn::id:                \
    return [](T x) -> T {     \
      if constexpr (kNarrow)  \
        return narrow;        \
      else                    \
        return wide;          \
    };
  switch (fn) {
    UNARY_FUNCTIONS(ROW)
    default:
      return nullptr;
  }
#undef ROW
}

template <class T>
Binary<T> binary_function(Fn fn) {
  constexpr bool kNarrow = std::is_same_v<T, D>;
#define ROW(id, narrow, wide)  \
  case Fn::id:                 \
    return [](T x, T y) -> T { \
      if constexpr (kNarrow)   \
        return narrow;         \
      else                     \
        return wide;           \
    };
  switch (fn) {
    BINARY_FUNCTIONS(ROW)
    default:
      return nullptr;
  }
#undef ROW
}

// Functions in type T, rounded to Fmt; T holds every value of Fmt.
template <class Fmt, class T>
struct Evaluate {
  static T load(uint64_t u) { return to_double<Fmt>(u); }
  static uint64_t store(T v, const Mods& m) {
    uint64_t r = from_double<Fmt>(static_cast<double>(v), Round::Rn);
    if (m.ftz) r = Fmt::flush(r);
    return m.sat ? saturate<Fmt>(r) : r;
  }
  static uint64_t flushed(uint64_t u, const Mods& m) { return m.ftz ? Fmt::flush(u) : u; }

  static bool run(Fn fn, const Mods& m, const Batch& x) {
    if (const Unary<T> f = unary_function<T>(fn)) {
      for (int l = 0; l < x.n; ++l) x.out[l] = store(f(load(flushed(x.a[l], m))), m);
      return true;
    }
    if (const Binary<T> f = binary_function<T>(fn)) {
      for (int l = 0; l < x.n; ++l) {
        x.out[l] = store(f(load(flushed(x.a[l], m)), load(flushed(x.b[l], m))), m);
      }
      return true;
    }
    return false;
  }
};

template <class Fmt>
uint64_t next_after(uint64_t a, uint64_t b) {
  if (Fmt::is_nan(a) || Fmt::is_nan(b)) return Fmt::kNan;
  const double x = to_double<Fmt>(a), y = to_double<Fmt>(b);
  if (x == y) return b;
  if (x == 0) return y > 0 ? 1 : Fmt::kSign | 1;
  return (x < y) == (x > 0) ? a + 1 : a - 1;
}

template <class Fmt>
uint64_t load_exponent(uint64_t a, uint64_t b) {  // b: s32
  const int n = static_cast<int>(std::clamp<int64_t>(sign_extend(b, 32), -5000, 5000));
  if constexpr (Fmt::kWidth == 64) {
    return from_double<Fmt>(std::ldexp(to_double<Fmt>(a), n), Round::Rn);
  } else {  // exact in double, hence one rounding
    return from_double<Fmt>(std::ldexp(to_double<Fmt>(a), std::clamp(n, -600, 600)), Round::Rn);
  }
}

// Functions of the representation. Frexp of zero, infinity, NaN: the operand itself, exponent 0.
template <class Fmt>
bool structural(Fn fn, const Batch& x) {
  int exponent = 0;
  for (int l = 0; l < x.n; ++l) {
    const double v = to_double<Fmt>(x.a[l]);
    switch (fn) {
      case Fn::Nextafter:
        x.out[l] = next_after<Fmt>(x.a[l], x.b[l]);
        break;
      case Fn::Ldexp:
        x.out[l] = load_exponent<Fmt>(x.a[l], x.b[l]);
        break;
      case Fn::FrexpMant:
        x.out[l] = from_double<Fmt>(std::frexp(v, &exponent), Round::Rn);
        break;
      default:  // FrexpExp
        exponent = 0;
        if (std::isfinite(v)) std::frexp(v, &exponent);
        x.out[l] = static_cast<uint32_t>(exponent);
        break;
    }
  }
  return true;
}

bool is_structural(Fn fn) {
  return fn == Fn::Nextafter || fn == Fn::Ldexp || fn == Fn::FrexpMant || fn == Fn::FrexpExp;
}

// rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64 (PTX ISA 9.7.3): a seed from the upper 32 bits of the
// operand, whose result has a zero lower half. Correctly rounded to these 21 bits here.
void gross_seed(Fn fn, const Batch& x) {
  for (int l = 0; l < x.n; ++l) {
    const double v = to_double<F64>(F64::flush(x.a[l] & ~uint64_t{0xffffffff}));
    const double r = fn == Fn::Rcp ? 1 / v : 1 / std::sqrt(v);
    if (r != r) {
      x.out[l] = F64::kNan;
      continue;
    }
    const uint64_t u = std::bit_cast<uint64_t>(r);
    const uint64_t rounded = u + 0x7fffffff + ((u >> 32) & 1);  // infinity stays infinity
    x.out[l] = F64::flush(rounded & ~uint64_t{0xffffffff});
  }
}

template <class Fmt, class T>
bool apply(Fn fn, const Mods& m, const Batch& x) {
  if (is_structural(fn)) return structural<Fmt>(fn, x);
  return Evaluate<Fmt, T>::run(fn, m, x);
}

}  // namespace

bool apply_math(Fn fn, Ty type, const Mods& m, const Batch& x) {
  switch (type) {
    case Ty::F16:
      return apply<F16, D>(fn, m, x);
    case Ty::BF16:
      return apply<BF16, D>(fn, m, x);
    case Ty::F32:
      return apply<F32, D>(fn, m, x);
    case Ty::F64:
      if (m.approx && m.ftz && (fn == Fn::Rcp || fn == Fn::Rsqrt)) return gross_seed(fn, x), true;
      return apply<F64, L>(fn, m, x);
    default:
      return false;
  }
}

}  // namespace assay::ieee
