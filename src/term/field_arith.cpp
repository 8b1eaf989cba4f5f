// Field semantics of sums, products, inverses, roots and powers; docs/decisions/0002-fingerprint.md
// has the laws and their side conditions.
#include <cmath>

#include "term/field_detail.h"

namespace assay::term {

void FieldDomain::add(const Row& a, const Row& b, Row& out, uint32_t mask) {
  const uint32_t taint = a.taint | b.taint;
  if (have_logs_) {
    const Row ca = a, cb = b;
    row_add(primes_.p, a.v, b.v, out.v, mask);
    if (with_exp_) row_add(primes_.q, a.e, b.e, out.e, mask);
    out.taint = taint;
    log_laws(Fn::Add, ca, cb, out, mask);
    return;
  }
  row_add(primes_.p, a.v, b.v, out.v, mask);
  if (with_exp_) row_add(primes_.q, a.e, b.e, out.e, mask);
  out.taint = taint;
}

void FieldDomain::neg(const Row& a, Row& out, uint32_t mask) {
  Row ca;
  if (have_logs_) ca = a;
  const uint32_t taint = a.taint;
  row_neg(primes_.p, a.v, out.v, mask);
  if (with_exp_) row_neg(primes_.q, a.e, out.e, mask);
  out.taint = taint;
  if (have_logs_) log_laws(Fn::Neg, ca, ca, out, mask);
}

void FieldDomain::sub(const Row& a, const Row& b, Row& out, uint32_t mask) {
  if (have_logs_) {
    Row n = b;
    neg(b, n, mask);
    n.pinf = n.ninf = 0;
    add(a, n, out, mask);
    return;
  }
  const uint32_t taint = a.taint | b.taint;
  row_sub(primes_.p, a.v, b.v, out.v, mask);
  if (with_exp_) row_sub(primes_.q, a.e, b.e, out.e, mask);
  out.taint = taint;
}

void FieldDomain::mul(const Row& a, const Row& b, Row& out, uint32_t mask) {
  uint32_t squares = 0;
  if (have_roots_) {
    for_lanes(mask, [&](int l) {
      if (a.v[l] == b.v[l] && facts_.squares.find(a.v[l]) != nullptr) squares |= 1u << l;
    });
  }
  const bool keep = squares != 0 || have_logs_ || have_abs_;
  Row ca, cb;
  if (keep) ca = a, cb = b;
  const uint32_t taint = a.taint | b.taint;
  row_mul(primes_.p, a.v, b.v, out.v, mask);
  if (with_exp_) {
    row_mul(primes_.q, a.e, b.e, out.e, mask);
    for_lanes(taint & mask, [&](int l) { out.e[l] = e_hash(out.v[l]); });
  }
  out.taint = taint;
  for_lanes(squares, [&](int l) {
    const Pair s = *facts_.squares.find(ca.v[l]);
    out.v[l] = s.v;
    out.e[l] = s.e;
  });
  if (have_abs_) abs_laws(ca, cb, out, mask);
  if (have_logs_) log_laws(Fn::Mul, ca, cb, out, mask);
}

void FieldDomain::inverse(const Row& a, Row& out, uint32_t mask) {
  for_lanes(mask & ~(a.pinf | a.ninf | a.undef), [&](int l) {
    if (a.v[l] == 0) ++divisions_by_zero;
  });
  const uint32_t taint = a.taint;
  Row ca;
  if (have_roots_) ca = a;
  row_inv(primes_.p, a.v, out.v, mask);
  if (with_exp_) {
    row_inv(primes_.q, a.e, out.e, mask);
    for_lanes(taint & mask, [&](int l) { out.e[l] = e_hash(out.v[l]); });
  }
  out.taint = taint;
  if (!have_roots_) return;
  for_lanes(mask, [&](int l) {
    const Pair* s = facts_.squares.find(ca.v[l]);
    if (s == nullptr) return;
    const Pair inv{f_inv(primes_.p, s->v), f_inv(primes_.q, s->e)};
    facts_.squares[out.v[l]] = inv;
  });
}

void FieldDomain::sqrt_of(const Row& a, Row& out, uint32_t mask) {
  oblige(Obligation::Kind::NonNegative, a, mask & ~a.undef);
  const Row ca = a;
  for_lanes(mask, [&](int l) {
    const Pair r = root1({ca.v[l], ca.e[l]});
    out.v[l] = r.v;
    out.e[l] = r.e;
  });
  out.taint = 0;
  have_roots_ = true;
}

void FieldDomain::pow_of(const Row& a, const Row& b, Row& out, uint32_t mask) {
  double n = 0;
  const int first = mask != 0 ? __builtin_ctz(mask) : 0;
  bool same = is_const(b.v[first], &n) && std::fabs(n) <= 64 && 2 * n == std::rint(2 * n);
  for_lanes(mask, [&](int l) { same = same && b.v[l] == b.v[first]; });
  if (!same) {
    opaque(Fn::Pow, &a, &b, nullptr, out, mask);
    return;
  }
  const Row base = a;
  Row acc = base, root;
  const int whole = static_cast<int>(std::floor(std::fabs(n)));
  for (int l = 0; l < kRow; ++l) acc.v[l] = acc.e[l] = 1;
  acc.taint = 0;
  for (int k = 0; k < whole; ++k) mul(acc, base, acc, mask);
  if (std::fabs(n) != whole) {
    root = base;
    sqrt_of(base, root, mask);
    mul(acc, root, acc, mask);
  }
  if (n < 0) {
    oblige(Obligation::Kind::NonZero, base, mask);
    inverse(acc, acc, mask);
  }
  out = acc;
}

}  // namespace assay::term
