// Field semantics of comparisons: free values for [a > b] and [a < b] that add up with [a == b] to
// 1, unless constants, infinities or what is known of an index decide.
#include <array>

#include "term/field_detail.h"
#include "term/real_domain.h"

namespace assay::term {

// [a > b] and its relatives from one hash of {d, -d}, d = a - b, with [d>0] + [d<0] + [d=0] = 1.
void FieldDomain::compare(Fn fn, const Row& a, const Row& b, Row& out, uint32_t mask) {
  const Modulus& p = primes_.p;
  const Row ca = a, cb = b;
  out.raw = out.pinf = out.ninf = out.taint = out.lazy = 0;
  out.undef = (ca.undef | cb.undef) & mask;
  const uint32_t infinite = ca.pinf | ca.ninf | cb.pinf | cb.ninf;
  const bool point = fn == Fn::Eq || fn == Fn::Equ || fn == Fn::Ne || fn == Fn::Neu;
  std::array<Pred, kRow> made;
  uint32_t fresh = 0;  // lanes whose predicate is new
  double va = 0, vb = 0;
  bool ka = false, kb = false;
  auto sentinel = [&](double image) {
    return is_lowest(image) ? -1 : image != 0 && is_lowest(p.p - image) ? 1 : 0;
  };
  auto numeric = [&](int l,
                     double* value) {  // of a lane whose order against finite values is known
    if ((ca.pinf >> l) & 1 || (cb.ninf >> l) & 1) return *value = 1, true;
    if ((ca.ninf >> l) & 1 || (cb.pinf >> l) & 1) return *value = -1, true;
    if (ka && kb) return *value = va - vb, true;
    // Finite values lie between -FLT_MAX and FLT_MAX: a sentinel of that size decides the order.
    const int high = sentinel(ca.v[l]), low = sentinel(cb.v[l]);
    if (high != 0 || low != 0) return *value = high != 0 ? high : -low, true;
    return false;
  };
  for_lanes(mask, [&](int l) {
    double sign = 0;
    const double x = ca.v[l], y = cb.v[l];
    const double d = f_sub(p, x, y);
    bool known = d == 0 && ((infinite >> l) & 1) == 0;
    if (!known) {
      ka = is_const(x, &va), kb = is_const(y, &vb);
      if (point && (x == 0 || x == 1 || y == 0 || y == 1) && compare_truth(fn, x, y, out, l))
        return;
      if ((ka || kb) && compare_index(fn, x, y, out, l)) return;
      const IntForm* fi = kb ? facts_.ints.find(x) : nullptr;
      const IntForm* fj = ka && fi == nullptr ? facts_.ints.find(y) : nullptr;
      if (fi != nullptr || fj != nullptr) {
        const IntForm f = fi != nullptr ? *fi : *fj;
        int_compare(fn, f, static_cast<int64_t>(fi != nullptr ? vb : va), fi != nullptr, out, l);
        return;
      }
      const bool both_inf = ((ca.pinf & cb.pinf) | (ca.ninf & cb.ninf)) >> l & 1;
      known = numeric(l, &sign);
      if (both_inf || (d == 0 && !known)) known = true, sign = 0;
    }
    if (const int by = known ? 0 : assumed_sign(x, y); by != 0) {
      if (by != 2) {
        known = true, sign = by;
        ++assumptions_used;
      } else if (point) {
        ++assumptions_used;
        out.v[l] = out.e[l] = fn == Fn::Ne || fn == Fn::Neu ? 1 : 0;
        return;
      }
    }
    double gt, lt, eq;
    if (known) {
      gt = sign > 0, lt = sign < 0, eq = sign == 0;
    } else {
      const double n = p.p - d;
      const bool flip = n < d;
      const double s = flip ? n : d;
      const double up = to_element(mix64(std::bit_cast<uint64_t>(s) ^ salt(Fn::Gt)));
      const double down = to_element(mix64(std::bit_cast<uint64_t>(s) ^ salt(Fn::Lt)));
      gt = flip ? down : up;
      lt = flip ? up : down;
      eq = f_sub(p, f_sub(p, 1, gt), lt);
    }
    double r = 0;
    Pred pred;
    switch (fn) {
      case Fn::Gt:
      case Fn::Gtu:
        r = gt, pred = {ca.v[l], cb.v[l], 1, ca.e[l], cb.e[l]};
        break;
      case Fn::Lt:
      case Fn::Ltu:
        r = lt, pred = {cb.v[l], ca.v[l], 1, cb.e[l], ca.e[l]};
        break;
      case Fn::Ge:
      case Fn::Geu:
        r = f_sub(p, 1, lt), pred = {ca.v[l], cb.v[l], 2, ca.e[l], cb.e[l]};
        break;
      case Fn::Le:
      case Fn::Leu:
        r = f_sub(p, 1, gt), pred = {cb.v[l], ca.v[l], 2, cb.e[l], ca.e[l]};
        break;
      case Fn::Eq:
      case Fn::Equ:
        r = eq, pred = {ca.v[l], cb.v[l], 3};
        break;
      case Fn::Ne:
      case Fn::Neu:
        r = f_sub(p, 1, eq), pred = {ca.v[l], cb.v[l], 4};
        break;
      case Fn::Num:
        r = 1;
        break;  // values of the domain are finite
      case Fn::Nan:
      case Fn::IsInf:
        r = 0;
        break;
      default:
        break;
    }
    out.v[l] = r;
    out.e[l] = r == 0 || r == 1 ? r : e_hash(r);
    if (known || pred.kind == 0) return;
    made[static_cast<size_t>(l)] = pred;
    fresh |= 1u << l;
    facts_.preds.prefetch(r);
  });
  if (fresh != 0) ++open_choices;
  for_lanes(fresh, [&](int l) { facts_.preds[out.v[l]] = made[static_cast<size_t>(l)]; });
}

// A truth value (0 or 1) against 0 or 1.
bool FieldDomain::compare_truth(Fn fn, double a, double b, Row& out, int l) {
  if (b != 0 && b != 1) std::swap(a, b);
  if (const ArgForm* f = facts_.arg_forms.find(a); f != nullptr && f->truth >= 0) a = f->truth;
  const bool equal = fn == Fn::Eq || fn == Fn::Equ, differ = fn == Fn::Ne || fn == Fn::Neu;
  if ((b != 0 && b != 1) || (!equal && !differ) || facts_.preds.find(a) == nullptr) return false;
  const double r = equal == (b == 1) ? a : f_sub(primes_.p, 1, a);
  out.v[l] = r;
  out.e[l] = e_hash(r);
  const Pred n = negated(*facts_.preds.find(a));
  if (r != a && n.kind != 0) facts_.preds[r] = n;
  return true;
}

// A chosen index against a constant outside its range.
bool FieldDomain::compare_index(Fn fn, double a, double b, Row& out, int l) {
  const ArgForm* f = facts_.arg_forms.find(a);
  const bool left = f != nullptr;
  if (!left) f = facts_.arg_forms.find(b);
  double k = 0;
  if (f == nullptr || !is_const(left ? b : a, &k) || (k >= f->lo && k <= f->hi)) return false;
  static const Mods kNone;
  const double r = left ? real_fn(fn, kNone, f->lo, k, 0) : real_fn(fn, kNone, k, f->lo, 0);
  out.v[l] = out.e[l] = r;
  return true;
}

// Comparison of scale * symbol + shift with k: a sum of the indicators for which it holds.
void FieldDomain::int_compare(Fn fn, const IntForm& f, int64_t k, bool left, Row& out, int l) {
  Pair sum{0, 0};
  uint64_t held = 0;
  const auto total = static_cast<uint64_t>(f.hi - f.lo);
  auto holds = [&](int64_t s) {
    const int64_t x = f.scale * s + f.shift, a = left ? x : k, b = left ? k : x;
    switch (fn) {
      case Fn::Eq:
      case Fn::Equ:
        return a == b;
      case Fn::Ne:
      case Fn::Neu:
        return a != b;
      case Fn::Lt:
      case Fn::Ltu:
        return a < b;
      case Fn::Le:
      case Fn::Leu:
        return a <= b;
      case Fn::Gt:
      case Fn::Gtu:
        return a > b;
      case Fn::Ge:
      case Fn::Geu:
        return a >= b;
      default:
        return true;
    }
  };
  auto emit = [&](double v, double e) { out.v[l] = v, out.e[l] = e; };
  // An order between an affine form and a constant: equal ends decide it.
  const bool first = holds(f.lo), last = holds(f.hi - 1);
  const bool point = fn == Fn::Eq || fn == Fn::Equ || fn == Fn::Ne || fn == Fn::Neu;
  if (!point && first == last) return emit(first, first);
  if (total > (1u << 20)) {  // too many to look at
    const double h = to_element(
        mix64(std::bit_cast<uint64_t>(f.symbol.v) ^
              mix64(static_cast<uint64_t>(k * 64) + static_cast<uint64_t>(fn)) ^
              mix64(static_cast<uint64_t>(f.scale) * 31 + static_cast<uint64_t>(f.shift))));
    return emit(h, e_hash(h));
  }
  for (int64_t s = f.lo; s < f.hi; ++s) held += holds(s) ? 1 : 0;
  if (held == 0) return emit(0, 0);
  if (held == total) return emit(1, 1);
  const bool complement = held * 2 > total;
  for (int64_t s = f.lo; s < f.hi; ++s)
    if (holds(s) != complement) sum = add1(sum, indicator1(f, s));
  if (complement) sum = sub1({1, 1}, sum);
  emit(sum.v, sum.e);
}

}  // namespace assay::term
