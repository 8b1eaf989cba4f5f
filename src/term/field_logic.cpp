// Field semantics of predicates: and, or, not; which comparisons imply or exclude each other.
#include <algorithm>

#include "term/field_detail.h"

namespace assay::term {

// Of an order against a constant: z > t (lower) or z < t.
bool FieldDomain::bound_of(const Pred& p, Bound* out) {
  if (p.kind != 1 && p.kind != 2) return false;
  out->strict = p.kind == 1;
  out->lower = is_const(p.b, &out->t);
  out->z = out->lower ? p.a : p.b;
  return out->lower || is_const(p.a, &out->t);
}

// Two of [a > b], [a < b], [a == b] (and what follows from them) never hold together; nor do bounds
// of one value that do not meet.
bool FieldDomain::exclusive(const Pred& x, const Pred& y) {
  const bool straight = x.a == y.a && x.b == y.b, crossed = x.a == y.b && x.b == y.a;
  if (!straight && !crossed) {
    Bound bx, by;
    if (!bound_of(x, &bx) || !bound_of(y, &by) || bx.z != by.z || bx.lower == by.lower)
      return false;
    const double low = bx.lower ? bx.t : by.t, high = bx.lower ? by.t : bx.t;
    return high < low || (high == low && (bx.strict || by.strict));
  }
  auto equal = [](const Pred& p) { return p.kind == 3 || p.kind == 5; };
  if (x.kind == 1 && y.kind == 1) return crossed;
  return (x.kind == 1 && equal(y)) || (y.kind == 1 && equal(x));
}

// a > b or a == b gives a >= b; a bound gives a weaker one.
bool FieldDomain::implies(const Pred& x, const Pred& y) {
  const bool straight = x.a == y.a && x.b == y.b, crossed = x.a == y.b && x.b == y.a;
  Bound bx, by;
  if (!straight && !crossed && bound_of(x, &bx) && bound_of(y, &by) && bx.z == by.z &&
      bx.lower == by.lower)
    return bx.lower ? bx.t > by.t : bx.t < by.t;
  if (y.kind != 2) return false;
  if (x.kind == 1) return straight;
  return (x.kind == 3 || x.kind == 5) && (straight || crossed);
}

FieldDomain::Pred FieldDomain::negated(const Pred& p) {
  if (p.kind == 1 || p.kind == 2) return {p.b, p.a, static_cast<uint8_t>(3 - p.kind), p.j, p.i};
  if (p.kind == 3 || p.kind == 4) return {p.a, p.b, static_cast<uint8_t>(7 - p.kind)};
  return {};
}

// a == b and i < j; a > b or (a == b and i < j): the lexicographic order of (value, index) pairs.
void FieldDomain::combine_preds(Fn fn, Pred a, Pred b, double result) {
  if (fn == Fn::PAnd) {
    // Of two orders that of the indices is the one with a number, or of chosen indices.
    auto is_index = [&](const Pred& p) {
      double k = 0;
      return p.kind == 1 && (facts_.arg_forms.find(p.a) != nullptr || is_const(p.a, &k)) &&
             (facts_.arg_forms.find(p.b) != nullptr || is_const(p.b, &k));
    };
    if (a.kind != 3 && a.kind != 2) std::swap(a, b);
    if ((a.kind != 3 && a.kind != 2) || b.kind != 1 || (a.kind == 2 && !is_index(b))) return;
    // b.a > b.b: the index b.b is the smaller.
    facts_.preds[result] = {a.a, a.b, static_cast<uint8_t>(a.kind == 3 ? 5 : 7), b.b, b.a};
    return;
  }
  if (a.kind != 1) std::swap(a, b);
  if (a.kind == 1 && b.kind == 3 && ((a.a == b.a && a.b == b.b) || (a.a == b.b && a.b == b.a))) {
    facts_.preds[result] = {a.a, a.b, 2, a.i, a.j};
    return;
  }
  if (a.kind != 1 || (b.kind != 5 && b.kind != 7)) return;
  const bool straight = a.a == b.a && a.b == b.b;
  const bool crossed = b.kind == 5 && a.a == b.b && a.b == b.a;
  if (!straight && !crossed) return;
  facts_.preds[result] = {a.a, a.b, 6, b.i, b.j};
}

void FieldDomain::logic(Fn fn, const Row& a, const Row& b, Row& out, uint32_t mask) {
  const Modulus& p = primes_.p;
  const Row ca = a, cb = b;
  out.raw = out.pinf = out.ninf = out.taint = out.lazy = 0;
  out.undef = (ca.undef | (fn == Fn::PNot ? 0 : cb.undef)) & mask;
  const bool both = fn == Fn::PAnd || fn == Fn::POr;
  for_lanes(mask, [&](int l) {
    const double x = ca.v[l], y = cb.v[l];
    auto set = [&](double r) {
      out.v[l] = r;
      out.e[l] = r == 0 || r == 1 ? r : e_hash(r);
    };
    if (both && (x == 0 || x == 1 || y == 0 || y == 1)) {
      const double rest = x == 0 || x == 1 ? y : x, known = rest == y ? x : y;
      return set((known == 0) == (fn == Fn::PAnd) ? known : rest);
    }
    const Pred* px = fn == Fn::PNot || (both && x != y) ? facts_.preds.find(x) : nullptr;
    const Pred* py = px != nullptr && fn != Fn::PNot ? facts_.preds.find(y) : nullptr;
    Bound bound;
    auto unite = [&](double u, double v, const Pred& pu, const Pred& pv) {
      if (bound_of(pu, &bound) && bound_of(pv, &bound)) facts_.unions[f_add(p, u, v)] = {u, v};
    };
    double r = 0;
    switch (fn) {
      case Fn::PNot:
        r = f_sub(p, 1, x);
        break;
      case Fn::PAnd:
        if (x == y)
          r = x;
        else if (x == f_sub(p, 1, y))
          r = 0;
        else if (py != nullptr && (implies(*px, *py) || implies(*py, *px)))
          r = implies(*px, *py) ? x : y;
        else if (py != nullptr && exclusive(*px, *py))
          r = 0;
        else if (py != nullptr && exclusive(negated(*px), negated(*py))) {
          r = f_sub(p, f_add(p, x, y), 1);
          unite(f_sub(p, 1, x), f_sub(p, 1, y), *px, *py);
        } else {
          r = f_mul(p, x, y);
        }
        break;
      case Fn::POr:
        if (x == y)
          r = x;
        else if (x == f_sub(p, 1, y))
          r = 1;
        else if (py != nullptr && (implies(*px, *py) || implies(*py, *px)))
          r = implies(*px, *py) ? y : x;
        else if (py != nullptr && exclusive(*px, *py)) {
          r = f_add(p, x, y);
          unite(x, y, *px, *py);
        } else if (py != nullptr && exclusive(negated(*px), negated(*py))) {
          r = 1;
        } else {
          r = f_sub(p, f_add(p, x, y), f_mul(p, x, y));
        }
        break;
      default: {  // x + y - 2xy
        const double xy = f_mul(p, x, y);
        r = x == y ? 0 : f_sub(p, f_add(p, x, y), f_add(p, xy, xy));
      }
    }
    set(r);
    if (r == 0 || r == 1) return;
    if (both && py != nullptr) combine_preds(fn, *px, *py, r);
    if (fn == Fn::PNot && px != nullptr) {
      const Pred n = negated(*px);
      if (n.kind != 0) facts_.preds[r] = n;
    }
  });
}

}  // namespace assay::term
