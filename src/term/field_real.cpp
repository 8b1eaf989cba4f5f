// Field semantics of every function of real numbers, by those of field_arith.cpp and field_log.cpp;
// others are hashes of the images of their arguments.
#include "term/field_detail.h"

namespace assay::term {

void FieldDomain::opaque(Fn fn, const Row* a, const Row* b, const Row* c, Row& out, uint32_t mask) {
  (void)mask;
  alignas(64) double h[kRow];
  row_hash(a->v, salt(fn), h);
  for (const Row* r : {b, c}) {
    if (r == nullptr) continue;
    for (int l = 0; l < kRow; ++l)
      h[l] = to_element(
          mix64(std::bit_cast<uint64_t>(h[l]) * 31 ^ mix64(std::bit_cast<uint64_t>(r->v[l]))));
  }
  for (int l = 0; l < kRow; ++l) {
    out.v[l] = h[l];
    out.e[l] = e_hash(h[l]);
  }
  out.taint = 0;
}

void FieldDomain::odd_even(Fn fn, const Row& a, bool odd, Row& out, uint32_t mask) {
  (void)mask;
  alignas(64) double h[kRow];
  row_hash_even(primes_.p, a.v, salt(fn), h);
  for (int l = 0; l < kRow; ++l) {
    const bool flip = odd && primes_.p.p - a.v[l] < a.v[l];
    const double v = a.v[l] == 0 && odd ? 0 : h[l];
    const double e = a.v[l] == 0 && odd ? 0 : e_hash(h[l]);
    out.v[l] = flip ? f_neg(primes_.p, v) : v;
    out.e[l] = flip ? f_neg(primes_.q, e) : e;
  }
  out.taint = 0;
}

void FieldDomain::real(Fn fn, Ty type, const Mods& mods, const Row& a, const Row& b, const Row& c,
                       Row& out, uint32_t mask) {
  (void)mods;
  auto number = [&](double x) {
    Row r;
    set_number(Ty::F64, x, r);
    return r;
  };
  const Modulus &p = primes_.p, &q = primes_.q;
  Row t, u;
  switch (fn) {
    case Fn::Add:
      add(a, b, out, mask);
      break;
    case Fn::Sub:
      sub(a, b, out, mask);
      break;
    case Fn::Mul:
      mul(a, b, out, mask);
      break;
    case Fn::Fma:
      if (!ring_facts() && ((a.taint | b.taint) == 0 || !with_exp_)) {
        const uint32_t taint = c.taint;
        row_fma(p, a.v, b.v, c.v, out.v, mask);
        if (with_exp_) row_fma(q, a.e, b.e, c.e, out.e, mask);
        out.taint = taint;
      } else {
        t = a;
        mul(a, b, t, mask);
        add(t, c, out, mask);
      }
      break;
    case Fn::Neg:
      neg(a, out, mask);
      break;
    case Fn::Div:
      oblige(Obligation::Kind::NonZero, b, mask & ~(b.undef | b.pinf | b.ninf));
      t = b;
      inverse(b, t, mask);
      mul(a, t, out, mask);
      break;
    case Fn::Rcp:
      oblige(Obligation::Kind::NonZero, a, mask & ~(a.undef | a.pinf | a.ninf));
      inverse(a, out, mask);
      break;
    case Fn::Sqrt:
      sqrt_of(a, out, mask);
      break;
    case Fn::Rsqrt:
      oblige(Obligation::Kind::NonZero, a, mask & ~(a.undef | a.pinf | a.ninf));
      t = a;
      sqrt_of(a, t, mask);
      inverse(t, out, mask);
      break;
    case Fn::Exp:
      exp_of(a, 1, out, mask);
      break;
    case Fn::Exp2:
      exp_of(a, ln2_q_, out, mask);
      break;
    case Fn::Exp10:
      exp_of(a, ln10_q_, out, mask);
      break;
    case Fn::Expm1:
      t = a;
      exp_of(a, 1, t, mask);
      sub(t, number(1), out, mask);
      break;
    case Fn::Log:
      log_of(a, 1, 1, out, mask);
      break;
    case Fn::Log2:
      log_of(a, f_inv(p, ln2_p_), f_inv(q, ln2_q_), out, mask);
      break;
    case Fn::Log10:
      log_of(a, f_inv(p, ln10_p_), f_inv(q, ln10_q_), out, mask);
      break;
    case Fn::Log1p:
      t = a;
      add(a, number(1), t, mask);
      log_of(t, 1, 1, out, mask);
      break;
    case Fn::Pow:
      pow_of(a, b, out, mask);
      break;
    case Fn::Tanh: {  // (1 - e^(-2x)) / (1 + e^(-2x)); the denominator is positive
      t = a;
      mul(a, number(-2), t, mask);
      exp_of(t, 1, t, mask);
      u = t;
      add(t, number(1), u, mask);
      inverse(u, u, mask);
      sub(number(1), t, t, mask);
      mul(t, u, out, mask);
      for_lanes((a.pinf | a.ninf) & mask, [&](int l) {
        const bool minus = ((a.ninf >> l) & 1) != 0;
        out.v[l] = minus ? p.p - 1 : 1;
        out.e[l] = minus ? q.p - 1 : 1;
      });
      break;
    }
    case Fn::Sinh:
    case Fn::Cosh:
      t = a;
      exp_of(a, 1, t, mask);
      u = t;
      inverse(t, u, mask);
      if (fn == Fn::Sinh)
        sub(t, u, t, mask);
      else
        add(t, u, t, mask);
      mul(t, number(0.5), out, mask);
      break;
    case Fn::Erfc:
      t = a;
      odd_even(Fn::Erf, a, true, t, mask);
      sub(number(1), t, out, mask);
      break;
    case Fn::Normcdf: {  // (1 + erf(x sqrt(1/2))) / 2
      Row half;
      set_number(Ty::F64, 0.70710678118654752440, half);
      t = a;
      mul(a, half, t, mask);
      odd_even(Fn::Erf, t, true, t, mask);
      add(t, number(1), t, mask);
      mul(t, number(0.5), out, mask);
      break;
    }
    case Fn::Tan:
      t = a;
      u = a;
      odd_even(Fn::Sin, a, true, t, mask);
      odd_even(Fn::Cos, a, false, u, mask);
      inverse(u, u, mask);
      mul(t, u, out, mask);
      break;
    case Fn::Erf:
    case Fn::Sin:
    case Fn::Sinpi:
    case Fn::Asin:
    case Fn::Atan:
    case Fn::Asinh:
    case Fn::Atanh:
    case Fn::Erfinv:
    case Fn::Cbrt:
    case Fn::J1:
    case Fn::I1:
      odd_even(fn, a, true, out, mask);
      break;
    case Fn::Rcbrt:
      t = a;
      odd_even(Fn::Cbrt, a, true, t, mask);
      inverse(t, out, mask);
      break;
    case Fn::Cos:
    case Fn::Cospi:
    case Fn::J0:
    case Fn::I0:
      odd_even(fn, a, false, out, mask);
      break;
    case Fn::Abs: {  // 2 max(a, 0) - a
      t = a;
      for_lanes(mask, [&](int l) {
        const Pair y = abs1({a.v[l], a.e[l]});
        t.v[l] = y.v;
        t.e[l] = y.e;
      });
      out.taint = a.taint;
      for (int l = 0; l < kRow; ++l) out.v[l] = t.v[l], out.e[l] = t.e[l];
      break;
    }
    case Fn::Hypot:
      t = a;
      u = b;
      mul(a, a, t, mask);
      mul(b, b, u, mask);
      add(t, u, t, mask);
      sqrt_of(t, out, mask);
      break;
    case Fn::Fdim: {
      t = a;
      sub(a, b, t, mask);
      extremum(true, t, number(0), out, mask);
      break;
    }
    case Fn::Sat:
      t = a;
      extremum(true, a, number(0), t, mask);
      extremum(false, t, number(1), out, mask);
      break;
    case Fn::Max:
      extremum(true, a, b, out, mask);
      return;  // infinities are handled there
    case Fn::Min:
      extremum(false, a, b, out, mask);
      return;
    case Fn::Ldexp: {
      Row two = number(2);
      pow_of(two, b, t, mask);
      mul(a, t, out, mask);
      break;
    }
    default:
      opaque(fn, &a, info(fn).arity > 1 ? &b : nullptr, info(fn).arity > 2 ? &c : nullptr, out,
             mask);
      break;
  }
  (void)type;
}

}  // namespace assay::term
