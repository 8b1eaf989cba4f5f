#include <cmath>
#include <limits>

#include "term/real_domain.h"

namespace assay::term {
namespace {

double round_by(Round mode, double a) {
  switch (mode) {
    case Round::Rz:
      return std::trunc(a);
    case Round::Rm:
      return std::floor(a);
    case Round::Rp:
      return std::ceil(a);
    case Round::Rna:
      return std::round(a);
    case Round::Rn:
      break;
  }
  return std::nearbyint(a);
}

double erfinv(double y) {
  if (!(std::fabs(y) < 1)) return y == 1 ? INFINITY : y == -1 ? -INFINITY : NAN;
  const double w = -std::log((1 - y) * (1 + y));
  double x = std::copysign(
      std::sqrt(std::sqrt((4.33 + w / -2) * (4.33 + w / -2) + w / 0.147) - (4.33 + w / -2)), y);
  for (int k = 0; k < 4; ++k) x -= (std::erf(x) - y) / (2 / std::sqrt(M_PI) * std::exp(-x * x));
  return x;
}

double normcdf(double a) { return 0.5 * std::erfc(-a * M_SQRT1_2); }

double integer_fn(Fn fn, double a, double b) {
  const auto x = static_cast<int64_t>(a), y = static_cast<int64_t>(b);
  const int64_t quotient = y == 0 ? 0 : x / y;
  switch (fn) {
    case Fn::IDiv:
      return y == 0 ? NAN : static_cast<double>(quotient);
    case Fn::IRem:
      return y == 0 ? NAN : static_cast<double>(x - quotient * y);
    case Fn::And:
      return static_cast<double>(x & y);
    case Fn::Or:
      return static_cast<double>(x | y);
    case Fn::Xor:
      return static_cast<double>(x ^ y);
    case Fn::Not:
      return static_cast<double>(~x);
    case Fn::Shl:
      return std::ldexp(a, static_cast<int>(b));
    case Fn::Shr:
      return std::floor(std::ldexp(a, -static_cast<int>(b)));
    default:
      return NAN;
  }
}

}  // namespace

bool is_step(Fn fn) {
  return fn == Fn::Floor || fn == Fn::Ceil || fn == Fn::Trunc || fn == Fn::Rint ||
         fn == Fn::Round || fn == Fn::CvtFI;
}

double real_fn(Fn fn, const Mods& mods, double a, double b, double c) {
  switch (fn) {
    case Fn::Add:
    case Fn::IAdd:
      return a + b;
    case Fn::Sub:
    case Fn::ISub:
      return a - b;
    case Fn::Mul:
    case Fn::IMul:
    case Fn::IMulWide:
      return a * b;
    case Fn::Fma:
      return a * b + c;
    case Fn::Div:
      return a / b;
    case Fn::Neg:
    case Fn::INeg:
      return -a;
    case Fn::Abs:
    case Fn::IAbs:
      return std::fabs(a);
    case Fn::Min:
    case Fn::IMin:
      if (mods.nan && (std::isnan(a) || std::isnan(b))) return NAN;
      return std::fmin(a, b);
    case Fn::Max:
    case Fn::IMax:
      if (mods.nan && (std::isnan(a) || std::isnan(b))) return NAN;
      return std::fmax(a, b);
    case Fn::Sqrt:
      return std::sqrt(a);
    case Fn::Rsqrt:
      return 1 / std::sqrt(a);
    case Fn::Rcp:
      return 1 / a;
    case Fn::Cbrt:
      return std::cbrt(a);
    case Fn::Rcbrt:
      return 1 / std::cbrt(a);
    case Fn::Exp:
      return std::exp(a);
    case Fn::Exp2:
      return std::exp2(a);
    case Fn::Exp10:
      return std::pow(10.0, a);
    case Fn::Expm1:
      return std::expm1(a);
    case Fn::Log:
      return std::log(a);
    case Fn::Log2:
      return std::log2(a);
    case Fn::Log10:
      return std::log10(a);
    case Fn::Log1p:
      return std::log1p(a);
    case Fn::Pow:
      return std::pow(a, b);
    case Fn::Sin:
      return std::sin(a);
    case Fn::Cos:
      return std::cos(a);
    case Fn::Tan:
      return std::tan(a);
    case Fn::Sinpi:
      return std::sin(M_PI * std::fmod(a, 2.0));
    case Fn::Cospi:
      return std::cos(M_PI * std::fmod(a, 2.0));
    case Fn::Asin:
      return std::asin(a);
    case Fn::Acos:
      return std::acos(a);
    case Fn::Atan:
      return std::atan(a);
    case Fn::Atan2:
      return std::atan2(a, b);
    case Fn::Sinh:
      return std::sinh(a);
    case Fn::Cosh:
      return std::cosh(a);
    case Fn::Tanh:
      return std::tanh(a);
    case Fn::Asinh:
      return std::asinh(a);
    case Fn::Acosh:
      return std::acosh(a);
    case Fn::Atanh:
      return std::atanh(a);
    case Fn::Erf:
      return std::erf(a);
    case Fn::Erfc:
      return std::erfc(a);
    case Fn::Erfcx:
      return std::exp(a * a) * std::erfc(a);
    case Fn::Erfinv:
      return erfinv(a);
    case Fn::Erfcinv:
      return erfinv(1 - a);
    case Fn::Normcdf:
      return normcdf(a);
    case Fn::Normcdfinv:
      return M_SQRT2 * erfinv(2 * a - 1);
    case Fn::Lgamma:
      return std::lgamma(a);
    case Fn::Tgamma:
      return std::tgamma(a);
    case Fn::Hypot:
      return std::hypot(a, b);
    case Fn::Fmod:
      return std::fmod(a, b);
    case Fn::Remainder:
      return std::remainder(a, b);
    case Fn::Fdim:
      return std::fdim(a, b);
    case Fn::Floor:
      return std::floor(a);
    case Fn::Ceil:
      return std::ceil(a);
    case Fn::Trunc:
      return std::trunc(a);
    case Fn::Rint:
      return std::nearbyint(a);
    case Fn::Round:
      return std::round(a);
    case Fn::Copysign:
      return std::copysign(a, b);
    case Fn::Sat:
      return std::isnan(a) ? 0 : std::fmin(std::fmax(a, 0.0), 1.0);
    case Fn::Nextafter:
      return a;
    case Fn::Ldexp:
      return std::ldexp(a, static_cast<int>(b));
    case Fn::Logb:
      return std::logb(a);
    case Fn::J0:
      return j0(a);
    case Fn::J1:
      return j1(a);
    case Fn::Y0:
      return y0(a);
    case Fn::Y1:
      return y1(a);
    case Fn::I0:
      return std::cyl_bessel_i(0, std::fabs(a));
    case Fn::I1:
      return std::copysign(std::cyl_bessel_i(1, std::fabs(a)), a);
    case Fn::FrexpMant: {
      int e = 0;
      return std::frexp(a, &e);
    }
    case Fn::FrexpExp: {
      int e = 0;
      std::frexp(a, &e);
      return e;
    }
    case Fn::Eq:
      return a == b;
    case Fn::Ne:
      return a < b || a > b;
    case Fn::Lt:
      return a < b;
    case Fn::Le:
      return a <= b;
    case Fn::Gt:
      return a > b;
    case Fn::Ge:
      return a >= b;
    case Fn::Equ:
      return !(a < b || a > b);
    case Fn::Neu:
      return a != b;
    case Fn::Ltu:
      return !(a >= b);
    case Fn::Leu:
      return !(a > b);
    case Fn::Gtu:
      return !(a <= b);
    case Fn::Geu:
      return !(a < b);
    case Fn::Num:
      return !std::isnan(a) && !std::isnan(b);
    case Fn::Nan:
      return std::isnan(a) || std::isnan(b);
    case Fn::IsInf:
      return std::isinf(a);
    case Fn::PAnd:
      return a != 0 && b != 0;
    case Fn::POr:
      return a != 0 || b != 0;
    case Fn::PXor:
      return (a != 0) != (b != 0);
    case Fn::PNot:
      return a == 0;
    case Fn::Select:
      return a != 0 ? b : c;
    case Fn::CvtFF:
    case Fn::CvtIF:
    case Fn::CvtII:
    case Fn::Bits:
      return a;
    case Fn::CvtFI:
      return std::isnan(a) ? 0 : round_by(mods.round, a);
    default:
      return integer_fn(fn, a, b);
  }
}

}  // namespace assay::term
