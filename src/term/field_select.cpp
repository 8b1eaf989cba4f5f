// Field semantics of "p ? x : y": extrema, chosen indices, arms that meet where p changes.
#include <algorithm>

#include "term/field_detail.h"

namespace assay::term {

bool FieldDomain::arg_form(double index, double value, bool is_max, ArgForm* out,
                           double* set_image) {
  if (const ArgForm* known = facts_.arg_forms.find(index)) {
    if (known->value == value && known->is_max == is_max) {
      *out = *known;
      *set_image = index;
      return true;
    }
    if (known->other_value == value && known->is_max != is_max) {
      *out = *known;
      *set_image = known->other_set;
      return true;
    }
  }
  double k = 0;
  if (!is_const(index, &k)) return false;
  *out = {value, k, k, is_max, true};
  *set_image =
      to_element(mix64(std::bit_cast<uint64_t>(value) ^
                       mix64(std::bit_cast<uint64_t>(index) ^ salt(is_max ? Fn::IMax : Fn::IMin))));
  return true;
}

// The (value, index) lemma: a step "better ? i : j" on the predicate that compares the values is
// the lexicographic extremum of the two sets of pairs, if ties go to the smaller index: by an
// explicit tie rule, or because the indices of the side that keeps ties are all smaller.
bool FieldDomain::arg_set(const Pred& p, Pair x, Pair y, bool is_max, ArgForm* out,
                          double* joined) {
  ArgForm fx, fy;
  double sx = 0, sy = 0;
  // x belongs to the first operand of the predicate where it holds, y to the second.
  const double vx = is_max ? p.a : p.b, vy = is_max ? p.b : p.a;
  if (!arg_form(x.v, vx, is_max, &fx, &sx) || !arg_form(y.v, vy, is_max, &fy, &sy)) return false;
  const bool strict = p.kind == 1, loose = p.kind == 2,
             lex = p.kind == 6 && p.i == x.v && p.j == y.v;
  if (strict ? !(fy.hi < fx.lo) : loose ? !(fx.hi < fy.lo) : !lex) return false;
  *joined = facts_.args.join(sx, sy).image;
  *out = {extremum_again(is_max, pair_of(vx), pair_of(vy)).v, std::min(fx.lo, fy.lo),
          std::max(fx.hi, fy.hi), is_max, true};
  return true;
}

// "a > b ? i : j" for numbers i and j: the index of the larger one of (a, i), (b, j), and of the
// smaller one of (b, i), (a, j). Which is meant shows in what it is compared with later.
bool FieldDomain::arg_select(const Pred& p, double truth, Pair x, Pair y, Pair* out) {
  ArgForm f, other;
  double joined = 0, other_set = 0, k = 0;
  const bool is_max = arg_set(p, x, y, true, &f, &joined);
  if (!is_max && !arg_set(p, x, y, false, &f, &joined)) return false;
  if (is_max && is_const(x.v, &k) && is_const(y.v, &k) &&
      arg_set(p, x, y, false, &other, &other_set)) {
    f.other_value = other.value;
    f.other_set = other_set;
  }
  if (x.v == 1 && y.v == 0) f.truth = truth;
  facts_.arg_forms[joined] = f;
  *out = {joined, e_hash(joined)};
  return true;
}

// (P or Q) ? x : y for P, Q that exclude each other: P ? x1 : Q ? x2 : y, where x1 and x2 are what
// x is under P and under Q.
bool FieldDomain::select_union(Ty type, double c, Pair x, Pair y, Pair* out) {
  if (facts_.unions.size() == 0) return false;
  const auto* known = facts_.unions.find(c);
  if (known == nullptr) {
    known = facts_.unions.find(f_sub(primes_.p, 1, c));
    if (known == nullptr) return false;
    std::swap(x, y);
  }
  const auto [p, q] = *known;
  Pair x1 = x, x2 = x;
  if (const Chosen* s = facts_.selects.find(x.v)) {
    auto is = [&](double t) { return s->cond == t || s->cond == f_sub(primes_.p, 1, t); };
    if (is(p) || is(q)) {
      const bool straight = s->cond == p || s->cond == f_sub(primes_.p, 1, q);
      x1 = straight ? s->x : s->y;
      x2 = straight ? s->y : s->x;
    }
  }
  *out = select1(type, {p, e_hash(p)}, x1, select1(type, {q, e_hash(q)}, x2, y));
  return true;
}

// c ? x : y, one lane.
FieldDomain::Pair FieldDomain::select1(Ty type, Pair cond, Pair x, Pair y) {
  const Modulus &mp = primes_.p, &mq = primes_.q;
  if (x.v == y.v) return x;
  const double c = cond.v, ce = cond.e;
  Pair split;
  if (select_union(type, c, x, y, &split)) return split;
  const Pred* known = facts_.preds.find(c);
  auto chosen = [&] {
    return Pair{f_add(mp, y.v, f_mul(mp, c, f_sub(mp, x.v, y.v))),
                f_add(mq, y.e, f_mul(mq, ce, f_sub(mq, x.e, y.e)))};
  };
  if (known != nullptr && known->kind == 6) {
    const Pred pred = *known;
    Pair index;
    if (x.v == pred.a && y.v == pred.b) return extremum_again(true, x, y);
    if (x.v == pred.b && y.v == pred.a) return extremum_again(false, x, y);
    if (arg_select(pred, c, x, y, &index)) return index;
  }
  if (known != nullptr && (known->kind == 1 || known->kind == 2)) {
    const Pred pred = *known;
    double truth = 0;
    if (x.v == pred.a && y.v == pred.b) return extremum_again(true, x, y);
    if (x.v == pred.b && y.v == pred.a) return extremum_again(false, x, y);
    Pair index;
    const bool bounded = is_const(pred.a, &truth) || is_const(pred.b, &truth);
    // "a > b ? i : j": i is a's index (a running maximum), or b's (a running minimum).
    if (arg_select(pred, c, x, y, &index)) {
      if (bounded) facts_.selects[index.v] = {c, x, y};
      return index;
    }
    const double d = f_sub(mp, pred.a, pred.b);
    // x - y = k d with k a small rational: both arms meet at d = 0, so > and >= agree: y + k max(d,
    // 0).
    const double diff = f_sub(mp, x.v, y.v);
    int64_t num = 0, den = 1;
    const double k = f_mul(mp, diff, f_inv(mp, d));
    if (rational(k, 10, &num, &den)) {
      ++rational_laws;
      const double kq = f_mul(mq, f_from_int(mq, num), f_inv(mq, f_from_int(mq, den)));
      // d's exponent image from the arms: (x.e - y.e) / k.
      const Pair r = relu1({d, f_mul(mq, f_sub(mq, x.e, y.e), f_inv(mq, kq))});
      return add1(y, {f_mul(mp, k, r.v), f_mul(mq, kq, r.e)});
    }
    Pair folded;
    if (bounded && fold_tail(pred, type, x, y, &folded)) return folded;
    if (bounded) {
      const Pair r = chosen();
      facts_.selects[r.v] = {c, x, y};
      return r;
    }
  }
  return chosen();
}

// p ? 1 : b is p or b; p ? 0 : b, p ? a : 1 and p ? a : 0 likewise.
void FieldDomain::select_truth(const Row& p, const Row& a, const Row& b, Row& out, int l) {
  const uint32_t bit = 1u << l;
  const bool first = a.v[l] == 0 || a.v[l] == 1;
  const bool negate = first ? a.v[l] == 0 : b.v[l] == 1;
  Row c = p, r;
  if (negate) logic(Fn::PNot, p, p, c, bit);
  const bool all = first ? negate : !negate;
  logic(all ? Fn::PAnd : Fn::POr, c, first ? b : a, r, bit);
  copy_lane(r, l, out, l);
}

void FieldDomain::select(Ty type, const Row& p, const Row& a, const Row& b, Row& out,
                         uint32_t mask) {
  const Row cp = p, ca = a, cb = b;
  out.raw = out.pinf = out.ninf = out.undef = out.taint = out.lazy = 0;
  for_lanes(mask, [&](int l) {
    const uint32_t bit = 1u << l;
    const bool same = ca.v[l] == cb.v[l] && ((ca.pinf ^ cb.pinf) & bit) == 0 &&
                      ((ca.ninf ^ cb.ninf) & bit) == 0 && ((ca.undef ^ cb.undef) & bit) == 0;
    if ((cp.undef & bit) == 0 && (cp.v[l] == 0 || cp.v[l] == 1 || same)) {
      copy_lane(cp.v[l] == 0 ? cb : ca, l, out, l);
      return;
    }
    ++open_choices;
    auto is_truth = [](double v) { return v == 0 || v == 1; };
    if (type == Ty::Pred && ((cp.undef | ca.undef | cb.undef) & bit) == 0 &&
        (is_truth(ca.v[l]) || is_truth(cb.v[l])))
      return select_truth(cp, ca, cb, out, l);
    const uint32_t infinite = (ca.pinf | ca.ninf | cb.pinf | cb.ninf) & bit;
    out.undef |= (cp.undef | ca.undef | cb.undef) & bit;
    out.taint |= (ca.taint | cb.taint) & bit;
    if (infinite != 0) {  // a choice between a value and an infinity: opaque
      const uint64_t tag = ((ca.pinf >> l) & 1) | ((ca.ninf >> l) & 1) << 1 |
                           ((cb.pinf >> l) & 1) << 2 | ((cb.ninf >> l) & 1) << 3;
      uint64_t h = mix64(std::bit_cast<uint64_t>(cp.v[l]) ^ tag ^ salt(Fn::Select));
      if (((ca.pinf | ca.ninf) & bit) == 0) h = mix64(h ^ std::bit_cast<uint64_t>(ca.v[l]));
      if (((cb.pinf | cb.ninf) & bit) == 0) h = mix64(h ^ std::bit_cast<uint64_t>(cb.v[l]) * 3);
      out.v[l] = to_element(h);
      out.e[l] = e_hash(out.v[l]);
      return;
    }
    const Pair r = select1(type, {cp.v[l], cp.e[l]}, {ca.v[l], ca.e[l]}, {cb.v[l], cb.e[l]});
    out.v[l] = r.v;
    out.e[l] = r.e;
  });
}

}  // namespace assay::term
