// Field semantics of exponentials and logarithms; docs/decisions/0002-fingerprint.md has the laws
// and their side conditions.
#include <algorithm>

#include "term/field_detail.h"

namespace assay::term {

void FieldDomain::exp_of(const Row& a, double scale_q, Row& out, uint32_t mask) {
  alignas(64) double t[kRow];
  Row ca;
  if (have_logs_) ca = a;
  const uint32_t ninf = a.ninf;
  const double* exponents = a.e;
  if ((a.taint & mask) != 0) {  // e^v / e^v is 1, and e^1 what it is for any other 1
    std::copy_n(a.e, kRow, t);
    exponents = t;
    for_lanes(a.taint & mask, [&](int l) {
      const double* known = facts_.constants.find(a.v[l]);
      if (known != nullptr && f_from_double(primes_.p, *known) == a.v[l])
        t[l] = f_from_double(primes_.q, *known);
    });
  }
  if (scale_q != 1) row_scale(primes_.q, exponents, scale_q, t, mask), exponents = t;
  primes_.row_exp(exponents, out.v, mask);
  if (have_logs_) {
    for_lanes(mask, [&](int l) {
      LogForm plain;
      const LogForm* f = find_log(ca.v[l], plain);
      if (f == nullptr || !f->set) return;
      const double c = f_mul(primes_.q, f->c_q, scale_q);
      for (int k = 1; k <= 8; ++k) {  // e^(k ln A) = A^k
        if (c == k) out.v[l] = f_pow(primes_.p, f->arg, static_cast<uint64_t>(k));
        if (c == primes_.q.p - k)
          out.v[l] = f_inv(primes_.p, f_pow(primes_.p, f->arg, static_cast<uint64_t>(k)));
      }
    });
  }
  row_hash(out.v, salt_e_, out.e, mask);
  out.taint = kAllLanes;
  for_lanes(ninf & mask, [&](int l) { out.v[l] = out.e[l] = 0; });
}

// log to the base whose reciprocal natural logarithm is `scale`.
void FieldDomain::log_of(const Row& a, double scale_p, double scale_q, Row& out, uint32_t mask) {
  oblige(Obligation::Kind::Positive, a, mask & ~a.undef);
  const Modulus &p = primes_.p, &q = primes_.q;
  alignas(64) double inv[kRow], arg[kRow], h1[kRow], h2[kRow];
  for (int l = 0; l < kRow; ++l) arg[l] = a.v[l];
  row_inv(p, arg, inv, mask);
  row_hash(arg, salt(Fn::Log), h1, mask);
  row_hash(inv, salt(Fn::Log), h2, mask);
  row_sub(p, h1, h2, out.v, mask);
  row_scale(p, out.v, scale_p, out.v, mask);
  row_hash(h1, salt_e_, h1, mask);
  row_hash(h2, salt_e_, h2, mask);
  row_sub(q, h1, h2, out.e, mask);
  row_scale(q, out.e, scale_q, out.e, mask);
  out.taint = 0;
  if (!log_laws_) return;
  for_lanes(mask, [&](int l) {
    if (scale_p == 1 && scale_q == 1)
      facts_.plain_logs[out.v[l]] = arg[l];
    else
      facts_.logs[out.v[l]] = {scale_p, scale_q, arg[l], true, arg[l], {}};
  });
  have_logs_ = true;
}

// Sums of logarithms and exponents collect into one: c ln A + c ln B = c ln(A B), and for a plain
// value m, c ln A + m = c ln(A e^(m/c)). Needs A, B > 0: both are arguments of logarithms, so it
// follows from the side's own obligations.
FieldDomain::Pair FieldDomain::log_image(const LogForm& f) {
  const Modulus &p = primes_.p, &q = primes_.q;
  auto hash = [&](double x) {
    return to_element(mix64(std::bit_cast<uint64_t>(x) ^ salt(Fn::Log)));
  };
  const double h1 = hash(f.arg), h2 = hash(f_inv(p, f.arg));
  return {f_mul(p, f_sub(p, h1, h2), f.c_p), f_mul(q, f_sub(q, e_hash(h1), e_hash(h2)), f.c_q)};
}

void FieldDomain::log_laws(Fn fn, const Row& a, const Row& b, Row& out, uint32_t mask) {
  const Modulus &p = primes_.p, &q = primes_.q;
  for_lanes(mask, [&](int l) {
    LogForm plain_a, plain_b;
    const LogForm *fa = find_log(a.v[l], plain_a), *fb = find_log(b.v[l], plain_b);
    if (fa == nullptr && fb == nullptr) return;
    if (fn == Fn::Neg) {
      if (fa == nullptr) return;
      LogForm r = *fa;
      r.c_p = f_neg(p, r.c_p), r.c_q = f_neg(q, r.c_q);
      r.plain = sub1({0, 0}, r.plain);
      facts_.logs[out.v[l]] = r;
      return;
    }
    if (fn == Fn::Mul) {
      double value = 0;
      if (fa != nullptr && fb != nullptr) return;
      const Row& k = fa != nullptr ? b : a;
      if (!is_const(k.v[l], &value) || value == 0) return;
      LogForm r = fa != nullptr ? *fa : *fb;
      r.c_p = f_mul(p, r.c_p, k.v[l]), r.c_q = f_mul(q, r.c_q, k.e[l]);
      r.plain = {f_mul(p, r.plain.v, k.v[l]), f_mul(q, r.plain.e, k.e[l])};
      facts_.logs[out.v[l]] = r;
      return;
    }
    LogForm r;
    if (fa != nullptr && fb != nullptr) {
      r = *fa;
      r.plain = add1(fa->plain, fb->plain);
      if (fa->c_p == fb->c_p) {
        r.arg = f_mul(p, fa->arg, fb->arg);
        r.core = f_mul(p, fa->core, fb->core);
      } else if (fa->c_p == f_neg(p, fb->c_p)) {
        r.arg = f_mul(p, fa->arg, f_inv(p, fb->arg));
        r.core = f_mul(p, fa->core, f_inv(p, fb->core));
      } else {
        return;
      }
    } else {
      if (!with_exp_) return;
      r = fa != nullptr ? *fa : *fb;
      const Pair m = fa != nullptr ? Pair{b.v[l], b.e[l]} : Pair{a.v[l], a.e[l]};
      r.plain = add1(r.plain, m);
      r.arg = f_mul(p, r.arg, primes_.exp(f_mul(q, m.e, f_inv(q, r.c_q))));
    }
    const Pair image = log_image(r);
    out.v[l] = image.v;
    out.e[l] = image.e;
    out.taint &= ~(1u << l);
    facts_.logs[out.v[l]] = r;
  });
}

}  // namespace assay::term
