// Guards that choose between a function and its limit: x > 20 ? x : x * tanh(log(1 + e^x)). Where
// the two differ by at most half a unit of rounding wherever the limit is taken, the guard is
// folded: the value is the function, and the fold is listed.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "term/field_domain.h"

namespace assay::term {

// f, where the arm g is taken instead of f if w > at: does g differ too little to be told from f?
bool FieldDomain::is_tail(Pair w, double at, Pair f, Pair g, double half_unit, const char** name) {
  const Modulus &p = primes_.p, &q = primes_.q;
  if (!(at >= 3) || g.v == 0) return false;
  thread_local const Snapper kPlain({});  // these literals are nobody's, and not listed
  auto constant = [&](double value) { return ideal_pair(kPlain.snap(Ty::F64, value)); };
  // f / g, or its reciprocal, is num / den, a function of w that tends to 1. Multiplied out:
  // inverses are the dear part.
  auto is = [&](double num, double den, double deviation, const char* what) {
    if (!(deviation <= half_unit)) return false;
    if (f_mul(p, num, g.v) != f_mul(p, f.v, den) && f_mul(p, num, f.v) != f_mul(p, g.v, den))
      return false;
    *name = what;
    return true;
  };
  const auto by_erf = [&] {
    auto erf = [&](double scale) {  // of w * scale
      Row a, out;
      clear(a);
      const Pair s = constant(scale);
      std::fill_n(a.v, kRow, f_mul(p, w.v, s.v));
      std::fill_n(a.e, kRow, f_mul(q, w.e, s.e));
      clear(out);
      odd_even(Fn::Erf, a, true, out, 1);
      return out.v[0];
    };
    return is(erf(1), 1, std::erfc(at), "1 against erf(w)") ||
           is(f_add(p, 1, erf(M_SQRT1_2)), 2, std::erfc(at * M_SQRT1_2) / 2,
              "1 against normcdf(w)");
  };
  if (!with_exp_) return by_erf();
  // c log(1 + e^w) against c w. PyTorch's own softplus turns at 20, in double too.
  LogForm plain;
  const LogForm* log = find_log(f.v, plain);
  if (log != nullptr && log->set && g.v == f_mul(p, log->c_p, w.v) &&
      (std::exp(-at) / at <= half_unit || at >= 20) && log->arg == f_add(p, 1, primes_.exp(w.e))) {
    *name = "w against log(1 + exp(w))";
    return true;
  }
  // c log(1 + e^(w / c)) against w.
  double c = 0;
  if (log != nullptr && log->set && g.v == w.v && is_const(log->c_p, &c) && c > 0 &&
      (std::exp(-at / c) / (at / c) <= half_unit || at / c >= 20) &&
      log->arg == f_add(p, 1, primes_.exp(f_mul(q, w.e, f_inv(q, log->c_q))))) {
    *name = "w against c log(1 + exp(w / c))";
    return true;
  }
  const double e1 = primes_.exp(f_neg(q, w.e)), e2 = f_mul(p, e1, e1);  // e^-w, e^-2w
  if (log != nullptr && log->set && std::exp(-at) / 2 <= half_unit &&
      g.v == f_mul(p, log->c_p, e1) && log->arg == f_add(p, 1, e1)) {
    *name = "exp(-w) against log(1 + exp(-w))";
    return true;
  }
  const double up1 = f_add(p, 1, e1), down1 = f_sub(p, 1, e1);
  const double up2 = f_add(p, 1, e2), down2 = f_sub(p, 1, e2);
  const double two1 = f_add(p, up1, e1);  // 1 + 2 e^-w
  const double x1 = std::exp(-at), x2 = std::exp(-2 * at);
  if (is(1, up1, x1, "1 against sigmoid(w)") || is(down1, 1, x1, "1 against 1 - exp(-w)") ||
      is(down1, up1, 2 * x1, "1 against tanh(w / 2)") ||
      is(down2, up2, 2 * x2, "1 against tanh(w)") || is(up2, 1, x2, "exp(w) / 2 against cosh(w)") ||
      is(down2, 1, x2, "exp(w) / 2 against sinh(w)") || is(1, up2, x2, "1 against sigmoid(2 w)") ||
      is(two1, f_add(p, two1, f_add(p, e2, e2)), 2 * x2, "1 against tanh(log(1 + exp(w)))") ||
      by_erf())
    return true;
  // The tanh form of GELU: sigmoid(2 sqrt(2 / pi) (w + 0.044715 w^3)).
  const Pair slope = constant(0.79788456080286535588), cubic = constant(0.044715);
  const double w3 = f_mul(q, w.e, f_mul(q, w.e, w.e));
  const double u = f_mul(q, slope.e, f_add(q, w.e, f_mul(q, cubic.e, w3)));
  const double gelu = primes_.exp(f_neg(q, f_add(q, u, u)));
  const double at_u = 0.79788456080286535588 * (at + 0.044715 * at * at * at);
  return is(1, f_add(p, 1, gelu), std::exp(-2 * at_u), "1 against gelu_tanh(w) / w");
}

// "a > b ? x : y", one of a and b a constant T.
bool FieldDomain::fold_tail(const Pred& pred, Ty type, Pair x, Pair y, Pair* out) {
  const Modulus &p = primes_.p, &q = primes_.q;
  double t = 0;
  const bool right = is_const(pred.b, &t);  // z > T
  if ((!right && !is_const(pred.a, &t)) || std::fabs(t) < 3) return false;
  const double half_unit = std::ldexp(1.0, bits(type) == 64 ? -54 : -25);
  // x is taken if w > t; y, if -w >= -t.
  Pair w = right ? Pair{pred.a, pred.i} : Pair{f_neg(p, pred.b), f_neg(q, pred.j)};
  if (!right) t = -t;
  const bool beyond = t > 0;
  if (!beyond) w = {f_neg(p, w.v), f_neg(q, w.e)};
  const Pair f = beyond ? y : x, g = beyond ? x : y;
  const char* name = nullptr;
  if (!is_tail(w, std::fabs(t), f, g, half_unit, &name)) return false;
  const std::string text = fmt::format("beyond {:g}: {}", std::fabs(t), name);
  if (folds.size() < 8 && std::find(folds.begin(), folds.end(), text) == folds.end())
    folds.push_back(text);
  *out = f;
  return true;
}

}  // namespace assay::term
