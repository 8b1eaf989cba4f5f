#include "base/ieee_special.h"

#include <cmath>
#include <limits>

namespace assay::ieee {
namespace {

constexpr long double kPi = 3.14159265358979323846264338327950288L;
constexpr long double kSqrtPi = 1.77245385090551602729816748334114518L;
constexpr long double kSqrt2 = 1.41421356237309504880168872420969808L;
constexpr long double kNan = std::numeric_limits<long double>::quiet_NaN();
constexpr long double kInf = std::numeric_limits<long double>::infinity();

// The argument is reduced exactly to |r| <= 1/2, so that zeros and extrema are exact.
template <class T>
T sin_of_pi(T x) {
  if (!std::isfinite(x)) return std::numeric_limits<T>::quiet_NaN();
  T r = std::fmod(x, T{2});
  if (r == 0 || r == 1 || r == -1) return std::copysign(T{0}, x);
  bool negate = false;
  if (r > 1) r -= 2;
  if (r < -1) r += 2;
  if (std::fabs(r) > T{0.5}) r = std::copysign(T{1} - std::fabs(r), r);
  if (std::fabs(r) <= T{0.25}) {
    r = std::sin(static_cast<T>(kPi) * r);
  } else {
    negate = r < 0;
    r = std::cos(static_cast<T>(kPi) * (T{0.5} - std::fabs(r)));
  }
  return negate ? -r : r;
}

template <class T>
T cos_of_pi(T x) {
  if (!std::isfinite(x)) return std::numeric_limits<T>::quiet_NaN();
  T r = std::fabs(std::fmod(x, T{2}));
  if (r > 1) r = 2 - r;
  if (r == T{0.5}) return 0;
  const bool negate = r > T{0.5};
  if (negate) r = 1 - r;
  r = r <= T{0.25} ? std::cos(static_cast<T>(kPi) * r)
                   : std::sin(static_cast<T>(kPi) * (T{0.5} - r));
  return negate ? -r : r;
}

// One Halley step of erfc(x) = z.
long double erfc_step(long double x, long double z) {
  const long double err = std::erfc(x) - z;
  return x + err / (2 / kSqrtPi * std::exp(-x * x) - x * err);
}

}  // namespace

double sinpi_of(double x) { return sin_of_pi(x); }
double cospi_of(double x) { return cos_of_pi(x); }
long double sinpi_of(long double x) { return sin_of_pi(x); }
long double cospi_of(long double x) { return cos_of_pi(x); }

long double erfcx_of(long double x) {
  if (x < 10) return std::exp(x * x) * std::erfc(x);
  long double t = x;  // continued fraction x + (1/2)/(x + (2/2)/(x + (3/2)/(x + ...))), from below
  for (int k = 60; k >= 1; --k) t = x + k / 2.0L / t;
  return 1 / (kSqrtPi * t);
}

long double erfinv_of(long double y) {
  if (!(std::fabs(y) <= 1)) return kNan;
  if (std::fabs(y) > 0.5L) return std::copysign(erfcinv_of(1 - std::fabs(y)), y);
  if (y == 0) return y;
  long double x = y * kSqrtPi / 2;
  for (int i = 0; i < 6; ++i) {
    const long double err = std::erf(x) - y;
    x -= err / (2 / kSqrtPi * std::exp(-x * x) + x * err);
  }
  return x;
}

long double erfcinv_of(long double z) {
  if (!(z >= 0 && z <= 2)) return kNan;
  if (z == 0) return kInf;
  if (z == 2) return -kInf;
  if (z >= 0.5L && z <= 1.5L) return erfinv_of(1 - z);
  const long double p = z > 1 ? 2 - z : z;
  const long double t = std::sqrt(-2 * std::log(p / 2));
  long double x = (t - (2.30753L + t * 0.27061L) / (1 + t * (0.99229L + t * 0.04481L))) / kSqrt2;
  for (int i = 0; i < 6; ++i) x = erfc_step(x, p);
  return z > 1 ? -x : x;
}

long double normcdf_of(long double x) { return std::erfc(-x / kSqrt2) / 2; }

long double normcdfinv_of(long double p) { return -kSqrt2 * erfcinv_of(2 * p); }

long double bessel_i_of(int order, long double x) {
  if (x != x) return x;
  if (std::fabs(x) > 11000) return order == 1 && x < 0 ? -kInf : kInf;
  // All terms of sum_k (x/2)^(2k+order) / (k! (k+order)!) have one sign: no cancellation.
  const long double q = x * x / 4;
  long double term = order == 0 ? 1 : x / 2, sum = term;
  for (int k = 1; std::fabs(term) > std::fabs(sum) * 1e-21L; ++k) {
    term *= q / (static_cast<long double>(k) * (k + order));
    sum += term;
  }
  return sum;
}

long double lgamma_of(long double x) {
  int sign = 0;
  return ::lgammal_r(x, &sign);
}

}  // namespace assay::ieee
