// Field semantics of each Fn: dispatch, arithmetic, exponentials, logarithms, roots. The laws and
// their side conditions: docs/decisions/0002-fingerprint.md.
#include <cmath>

#include "base/ieee.h"
#include "term/field_domain.h"

namespace assay::term {
namespace {

constexpr uint32_t kAll = 0xffffffffu;

template <class F>
void for_lanes(uint32_t mask, F&& f) {
  for (; mask != 0; mask &= mask - 1) f(__builtin_ctz(mask));
}

bool is_ring(Fn fn) { return fn == Fn::Add || fn == Fn::Sub || fn == Fn::Mul || fn == Fn::Fma; }

void clear_marks(FieldDomain::Row& r) { r.raw = r.pinf = r.ninf = r.undef = r.taint = r.lazy = 0; }

}  // namespace

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
  out.taint = kAll;
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

void FieldDomain::fix_special(Fn fn, const Row& a, const Row& b, Row& out, uint32_t mask) {
  const uint32_t pa = a.pinf, na = a.ninf, pb = b.pinf, nb = b.ninf;
  uint32_t p = 0, n = 0, bad = 0, zero = 0;
  auto sign = [&](const Row& r, int l) {  // of a constant lane; 0: unknown
    if ((r.pinf >> l) & 1) return 1;
    if ((r.ninf >> l) & 1) return -1;
    double value = 0;
    if (!is_const(r.v[l], &value)) return 0;
    return value > 0 ? 1 : value < 0 ? -1 : 0;
  };
  auto by_sign = [&](uint32_t lanes) {
    for_lanes(lanes & mask, [&](int l) {
      const int s = sign(a, l) * sign(b, l);
      (s > 0 ? p : s < 0 ? n : bad) |= 1u << l;
    });
  };
  switch (fn) {
    case Fn::Add:
    case Fn::IAdd:
      p = (pa | pb) & ~(na | nb), n = (na | nb) & ~(pa | pb), bad = (pa | pb) & (na | nb);
      break;
    case Fn::Sub:
    case Fn::ISub:
      p = (pa | nb) & ~(na | pb), n = (na | pb) & ~(pa | nb), bad = (pa | nb) & (na | pb);
      break;
    case Fn::Neg:
    case Fn::INeg:
      p = na, n = pa;
      break;
    case Fn::Mul:
    case Fn::IMul:
      by_sign(pa | na | pb | nb);
      break;
    case Fn::Div:
      zero = (pb | nb) & ~(pa | na), bad = (pa | na) & (pb | nb);
      by_sign((pa | na) & ~(pb | nb));
      break;
    case Fn::Rcp:
    case Fn::Rsqrt:
      zero = pa | na;
      break;
    case Fn::Exp:
    case Fn::Exp2:
    case Fn::Exp10:
      p = pa, zero = na;
      break;
    case Fn::Log:
    case Fn::Log2:
    case Fn::Log10:
    case Fn::Log1p:
    case Fn::Sqrt:
      p = pa, bad = na;
      break;
    case Fn::Abs:
      p = pa | na;
      break;
    case Fn::CvtFF:
    case Fn::Floor:
    case Fn::Ceil:
    case Fn::Trunc:
    case Fn::Rint:
    case Fn::Round:
      p = pa, n = na;
      break;
    default:
      bad = pa | na | pb | nb;
      break;
  }
  out.pinf = p & mask;
  out.ninf = n & mask;
  out.undef |= bad & mask;
  for_lanes(zero & mask, [&](int l) { out.v[l] = out.e[l] = 0; });
  for_lanes((p | n) & mask, [&](int l) { out.v[l] = out.e[l] = 0; });
}

// Values of operations on constants, so that comparisons and extrema of constants are decided.
void FieldDomain::note_constants(Fn fn, Ty type, const Row& a, const Row& b, const Row& c, Row& out,
                                 uint32_t mask) {
  if (mask == 0) return;
  const int arity = info(fn).arity;
  const int first = __builtin_ctz(mask);
  double va = 0, vb = 0, vc = 0;
  if (!is_const(a.v[first], &va)) return;
  (void)type;
  for_lanes(mask, [&](int l) {
    if (!is_const(a.v[l], &va) || (arity > 1 && !is_const(b.v[l], &vb)) ||
        (arity > 2 && !is_const(c.v[l], &vc)))
      return;
    double r = 0;
    switch (fn) {
      case Fn::Add:
      case Fn::IAdd:
        r = va + vb;
        break;
      case Fn::Sub:
      case Fn::ISub:
        r = va - vb;
        break;
      case Fn::Mul:
      case Fn::IMul:
      case Fn::IMulWide:
        r = va * vb;
        break;
      case Fn::Div:
        r = va / vb;
        break;
      case Fn::Fma:
        r = va * vb + vc;
        break;
      case Fn::Neg:
      case Fn::INeg:
        r = -va;
        break;
      case Fn::Rcp:
        r = 1 / va;
        break;
      case Fn::Sqrt:
        r = std::sqrt(va);
        break;
      case Fn::Rsqrt:
        r = 1 / std::sqrt(va);
        break;
      case Fn::Exp:
        r = std::exp(va);
        break;
      case Fn::Exp2:
        r = std::exp2(va);
        break;
      case Fn::Log:
        r = std::log(va);
        break;
      case Fn::Log2:
        r = std::log2(va);
        break;
      case Fn::Tanh:
        r = std::tanh(va);
        break;
      case Fn::Abs:
        r = std::fabs(va);
        break;
      default:
        return;
    }
    if (std::isfinite(r)) facts_.constants[out.v[l]] = r;
  });
}

// Integer operations that are no ring operations, on constants: indices that a reference computes.
void FieldDomain::fold_integers(Fn fn, Ty type, const Mods& mods, const Row& a, const Row& b,
                                const Row& c, Row& out, uint32_t mask) {
  const int arity = info(fn).arity;
  if (arity > 3 || !ieee_defined(fn, type, mods)) return;
  const uint32_t width = assay::bits(type);
  const uint64_t keep = width >= 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
  for_lanes(mask, [&](int l) {
    uint64_t bits[3] = {};
    const Row* rows[] = {&a, &b, &c};
    for (int k = 0; k < arity; ++k) {
      double value = 0;
      if (!is_const(rows[k]->v[l], &value) || value != std::rint(value) ||
          std::fabs(value) > 0x1p53)
        return;
      bits[k] = static_cast<uint64_t>(static_cast<int64_t>(value)) & keep;
    }
    const bool by_zero = (fn == Fn::IDiv || fn == Fn::IRem) && bits[1] == 0;
    if (by_zero) return;
    const Pair r = bits_pair(type, ieee_apply1(fn, type, mods, bits[0], bits[1], bits[2]));
    out.v[l] = r.v;
    out.e[l] = r.e;
  });
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

// A ring operation on values without marks, to which no law applies.
bool FieldDomain::plain(Fn fn, const Mods& mods, const Row* a, const Row* b, const Row* c,
                        uint32_t mask) {
  if (!is_ring(fn) || mods.sat || ring_facts() || mask == 0) return false;
  uint32_t marks = a->marked() | b->marked();
  if (fn == Fn::Fma) marks |= c->marked();
  return (marks & mask) == 0 && facts_.constants.find(a->v[__builtin_ctz(mask)]) == nullptr;
}

void FieldDomain::ring(Fn fn, const Row& a, const Row& b, const Row* c, Row& out, uint32_t mask) {
  const Modulus &p = primes_.p, &q = primes_.q;
  const uint32_t taint = with_exp_ ? a.taint | b.taint : 0;
  uint32_t tainted = taint;
  switch (fn) {
    case Fn::Add:
      row_add(p, a.v, b.v, out.v, mask);
      if (with_exp_) row_add(q, a.e, b.e, out.e, mask);
      break;
    case Fn::Sub:
      row_sub(p, a.v, b.v, out.v, mask);
      if (with_exp_) row_sub(q, a.e, b.e, out.e, mask);
      break;
    case Fn::Mul:
      if ((taint & mask) == 0) {
        row_mul(p, a.v, b.v, out.v, mask);
        if (with_exp_) row_mul(q, a.e, b.e, out.e, mask);
      } else {
        tainted_product(a, b, out.v, out.e, mask);
      }
      break;
    default:
      if (with_exp_) tainted |= c->taint;
      if ((taint & mask) == 0) {
        row_fma(p, a.v, b.v, c->v, out.v, mask);
        if (with_exp_) row_fma(q, a.e, b.e, c->e, out.e, mask);
      } else {
        alignas(64) double v[kRow], e[kRow];
        tainted_product(a, b, v, e, mask);
        row_add(p, v, c->v, out.v, mask);
        row_add(q, e, c->e, out.e, mask);
      }
      break;
  }
  clear_marks(out);
  out.taint = tainted;
}

// Where a factor contains exp, the product as an exponent is a hash of its image. v and e may lie
// over a and b.
void FieldDomain::tainted_product(const Row& a, const Row& b, double* v, double* e,
                                  uint32_t mask) const {
  const uint32_t taint = a.taint | b.taint;
  if ((mask & ~taint) != 0) row_mul(primes_.q, a.e, b.e, e, mask);
  row_mul(primes_.p, a.v, b.v, v, mask);
  if ((mask & ~taint) == 0)
    row_hash(v, salt_e_, e, mask);
  else
    for_lanes(taint & mask, [&](int l) { e[l] = e_hash(v[l]); });
}

bool FieldDomain::apply_lane(Fn fn, const Mods& mods, const Lane* args, Row& out, int lane) {
  if (!is_ring(fn) || mods.sat || ring_facts()) return false;
  const Row &a = *args[0].row, &b = *args[1].row;
  const int la = args[0].lane, lb = args[1].lane;
  uint32_t marks = a.marked() >> la | b.marked() >> lb;
  uint32_t taint = a.taint >> la | b.taint >> lb;
  if (fn == Fn::Fma) marks |= args[2].row->marked() >> args[2].lane;
  const double av = a.v[la], bv = b.v[lb], ae = a.e[la], be = b.e[lb];
  if ((marks & 1) != 0 || facts_.constants.find(av) != nullptr) return false;
  const Modulus &p = primes_.p, &q = primes_.q;
  double v = 0, e = 0;
  switch (fn) {
    case Fn::Add:
      v = f_add(p, av, bv);
      if (with_exp_) e = f_add(q, ae, be);
      break;
    case Fn::Sub:
      v = f_sub(p, av, bv);
      if (with_exp_) e = f_sub(q, ae, be);
      break;
    default:
      if (fn == Fn::Fma && with_exp_ && (taint & 1) == 0) {
        const Row& c = *args[2].row;
        const int lc = args[2].lane;
        f_fma2(p, q, av, bv, c.v[lc], ae, be, c.e[lc], &v, &e);
        taint |= c.taint >> lc;
        break;
      }
      v = f_mul(p, av, bv);
      if (with_exp_) e = (taint & 1) != 0 ? e_hash(v) : f_mul(q, ae, be);
      if (fn == Fn::Mul) break;
      const Row& c = *args[2].row;
      const int lc = args[2].lane;
      v = f_add(p, v, c.v[lc]);
      if (with_exp_) e = f_add(q, e, c.e[lc]);
      taint |= c.taint >> lc;
      break;
  }
  const uint32_t bit = 1u << lane;
  out.raw &= ~bit, out.lazy &= ~bit, out.pinf &= ~bit, out.ninf &= ~bit, out.undef &= ~bit;
  out.taint = with_exp_ ? (out.taint & ~bit) | (taint & 1) << lane : 0;
  out.v[lane] = v;
  out.e[lane] = e;
  return true;
}

void FieldDomain::apply(Fn fn, Ty type, const Mods& mods, const Row* pa, const Row* pb,
                        const Row* pc, const Row* pd, Row& out, uint32_t mask) {
  if (plain(fn, mods, pa, pb, pc, mask)) {
    ring(fn, *pa, *pb, pc, out, mask);
    return;
  }
  op_type_ = type;
  thread_local Row s1, s2, s3, none;
  if (fn == Fn::Bits || fn == Fn::CvtII || fn == Fn::CvtIF || fn == Fn::CvtFF || fn == Fn::CvtFI) {
    const Ty from = mods.type2 == Ty::None ? type : mods.type2;
    const Row& a = typed(*pa, fn == Fn::Bits ? type : from, s1, mask);
    if (fn == Fn::CvtFI) {
      const Fn by[] = {Fn::Rint, Fn::Trunc, Fn::Floor, Fn::Ceil, Fn::Round};
      const Row copy = a;
      opaque(by[static_cast<int>(mods.round)], &copy, nullptr, nullptr, out, mask);
      clear_marks(out);
      out.undef = copy.undef & mask;
    } else if (fn == Fn::Bits && is_float(type) != is_float(from) && (pa->raw & mask) != mask) {
      const Row copy = a;
      clear_marks(out);
      opaque(fn, &copy, nullptr, nullptr, out, mask);
      out.undef = copy.undef & mask;
    } else if (&a != &out) {
      out = a;
    }
    if (mods.sat && is_float(type)) {
      const Row copy = out;
      real(Fn::Sat, type, {}, copy, copy, copy, out, mask);
    }
    return;
  }
  if (fn == Fn::Pack || fn == Fn::UnpackLo || fn == Fn::UnpackHi) {
    // Halves of unknown type: floats of half the width.
    const Ty half = assay::bits(type) == 64 ? Ty::F32 : Ty::F16;
    const Row& a = typed(*pa, fn == Fn::Pack ? half : type, s1, mask);
    const Row& b = fn == Fn::Pack ? typed(*pb, half, s2, mask) : a;
    const Row ca = a, cb = b;
    clear_marks(out);
    for_lanes(mask, [&](int l) {
      if (fn == Fn::Pack) {
        out.v[l] = to_element(mix64(std::bit_cast<uint64_t>(ca.v[l]) * 3 ^
                                    mix64(std::bit_cast<uint64_t>(cb.v[l]) ^ salt(Fn::Pack))));
        out.e[l] = e_hash(out.v[l]);
        facts_.packs[out.v[l]] = {ca.v[l], ca.e[l], cb.v[l], cb.e[l]};
        return;
      }
      const auto* parts = facts_.packs.find(ca.v[l]);
      const size_t k = fn == Fn::UnpackHi ? 2 : 0;
      if (parts != nullptr) {
        out.v[l] = (*parts)[k];
        out.e[l] = (*parts)[k + 1];
      } else {
        out.v[l] = to_element(mix64(std::bit_cast<uint64_t>(ca.v[l]) ^ salt(fn)));
        out.e[l] = e_hash(out.v[l]);
      }
    });
    out.undef = (ca.undef | cb.undef) & mask;
    return;
  }
  const FnInfo& f = info(fn);
  none.raw = none.pinf = none.ninf = none.undef = none.taint = none.lazy = 0;
  const Ty first = fn == Fn::Select ? Ty::Pred : f.cls == FnClass::L ? Ty::Pred : type;
  const bool extremal = fn == Fn::Max || fn == Fn::Min || fn == Fn::IMax || fn == Fn::IMin;
  const Row& a = typed(*pa, first, s1, mask, extremal);
  const Row& b =
      pb != nullptr ? typed(*pb, f.cls == FnClass::L ? Ty::Pred : type, s2, mask, extremal) : none;
  const Row& c = pc != nullptr ? typed(*pc, fn == Fn::IMulWide ? type : type, s3, mask) : none;
  (void)pd;
  if (fn == Fn::Select) {
    select(type, a, b, c, out, mask);
    return;
  }
  if (f.cls == FnClass::C) {
    compare(fn, a, b, out, mask);
    return;
  }
  if (f.cls == FnClass::L) {
    logic(fn, a, b, out, mask);
    return;
  }
  const uint32_t undef =
      (a.undef | (f.arity > 1 ? b.undef : 0) | (f.arity > 2 ? c.undef : 0)) & mask;
  const uint32_t inf = (a.pinf | a.ninf | (f.arity > 1 ? b.pinf | b.ninf : 0) |
                        (f.arity > 2 ? c.pinf | c.ninf : 0)) &
                       mask;
  if (inf != 0 && fn == Fn::Fma) {
    Row t;
    const Row cc = c;
    apply(Fn::Mul, type, {}, &a, &b, nullptr, nullptr, t, mask);
    apply(Fn::Add, type, {}, &t, &cc, nullptr, nullptr, out, mask);
    return;
  }
  const bool constants = mask != 0 && facts_.constants.find(a.v[__builtin_ctz(mask)]) != nullptr;
  const bool keep = inf != 0 || constants;
  Row ca, cb, cc;
  if (keep) ca = a, cb = b, cc = c;
  const bool ints = f.cls == FnClass::I && f.arity == 2 && facts_.ints.size() != 0;
  Row ia, ib;
  if (ints) ia = a, ib = b;
  switch (fn) {
    case Fn::IAdd:
      real(Fn::Add, type, mods, a, b, c, out, mask);
      break;
    case Fn::ISub:
      real(Fn::Sub, type, mods, a, b, c, out, mask);
      break;
    case Fn::IMul:
    case Fn::IMulWide:
      real(Fn::Mul, type, mods, a, b, c, out, mask);
      break;
    case Fn::INeg:
      real(Fn::Neg, type, mods, a, b, c, out, mask);
      break;
    case Fn::IAbs:
      real(Fn::Abs, type, mods, a, b, c, out, mask);
      break;
    case Fn::IMin:
      extremum(false, a, b, out, mask);
      break;
    case Fn::IMax:
      extremum(true, a, b, out, mask);
      break;
    case Fn::Shl: {
      double k = 0;
      const int l0 = mask != 0 ? __builtin_ctz(mask) : 0;
      bool same = is_const(b.v[l0], &k) && k >= 0 && k < 63;
      for_lanes(mask, [&](int l) { same = same && b.v[l] == b.v[l0]; });
      if (same) {
        Row power;
        set_number(Ty::F64, std::ldexp(1.0, static_cast<int>(k)), power);
        mul(a, power, out, mask);
      } else {
        opaque(fn, &a, &b, nullptr, out, mask);
      }
      break;
    }
    default:
      if (f.cls == FnClass::R)
        real(fn, type, mods, a, b, c, out, mask);
      else
        opaque(fn, &a, f.arity > 1 ? &b : nullptr, f.arity > 2 ? &c : nullptr, out, mask);
      if (f.cls == FnClass::I && constants) fold_integers(fn, type, mods, ca, cb, cc, out, mask);
      break;
  }
  const bool extreme = fn == Fn::Max || fn == Fn::Min || fn == Fn::IMax || fn == Fn::IMin;
  out.raw = 0;
  if (!extreme) out.lazy = 0;
  if (!extreme) {
    out.pinf = out.ninf = 0;
    out.undef = undef;
    if (inf != 0) fix_special(fn, ca, cb, out, mask);
  } else {
    out.undef = undef;
  }
  if (ints) int_laws(fn, ia, ib, out, mask);
  if (constants) note_constants(fn, type, ca, cb, cc, out, mask & ~(undef | inf));
  if (mods.sat && is_float(type) && fn != Fn::Sat) {
    const Row copy = out;
    real(Fn::Sat, type, {}, copy, copy, copy, out, mask);
  }
}

}  // namespace assay::term
