// Field semantics of order: maxima, minima, comparisons, selection.
#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>

#include "term/field_domain.h"
#include "term/real_domain.h"

namespace assay::term {
namespace {

template <class F>
void for_lanes(uint32_t mask, F&& f) {
  for (; mask != 0; mask &= mask - 1) f(__builtin_ctz(mask));
}

}  // namespace

// max(d, 0), with max(-d, 0) = max(d, 0) - d: one hash for {d, -d}.
FieldDomain::Pair FieldDomain::relu1(Pair d) const {
  if (d.v == 0) return {0, 0};
  const double n = primes_.p.p - d.v;
  const bool flip = n < d.v;
  Pair r;
  r.v = to_element(mix64(std::bit_cast<uint64_t>(flip ? n : d.v) ^ salt(Fn::Max)));
  r.e = e_hash(r.v);
  return flip ? add1(r, d) : r;
}

FieldDomain::Pair FieldDomain::pair_of(double image) {
  const double* e = facts_.exponents.find(image);
  return {image, e != nullptr ? *e : e_hash(image)};
}

// No value of the type at hand is below this constant.
bool FieldDomain::is_lowest(double image) const {
  const uint32_t width = is_float(op_type_) ? bits(op_type_) : 64;
  return image == neg_max_f64_ || (width <= 32 && image == neg_max_f32_) ||
         (op_type_ == Ty::F16 && image == neg_max_f16_);
}

void FieldDomain::note_nonnegative(const Row& row, uint32_t mask) {
  constexpr size_t kFew = 512, kMost = size_t{1} << 20;
  for_lanes(mask & ~row.marked(), [&](int l) {
    const double v = row.v[l];
    if (v == 0 || nonnegative_.size() >= kMost || !nonnegative_.insert(v).second) return;
    if (nonnegative_inverses_.size() < kFew) nonnegative_inverses_.push_back(f_inv(primes_.p, v));
  });
}

bool FieldDomain::is_nonnegative(double image) {
  constexpr uint64_t kMostRatios = 1 << 18;
  if (nonnegative_.empty()) return false;
  if (nonnegative_.count(image) != 0) return true;
  if (const auto known = multiples_.find(image); known != multiples_.end()) return known->second;
  bool found = false;
  for (const double inverse : nonnegative_inverses_) {
    if (found || ++ratios_tried > kMostRatios) break;
    int64_t num = 0, den = 1;
    found = rational(f_mul(primes_.p, image, inverse), 7, &num, &den) && num > 0 && den > 0;
  }
  if (ratios_tried <= kMostRatios) multiples_[image] = found;
  return found;
}

// One lane of max (min). Two values: b + relu(a - b), which is symmetric and moves with a shift;
// more: a set. Constants in a set are reduced to one; clamps are brought to min(max(x, lo), hi).
FieldDomain::Pair FieldDomain::extremum1(bool is_max, Pair a, Pair b) {
  if (a.v == b.v) return a;
  double ka = 0, kb = 0;
  const bool ca = is_const(a.v, &ka), cb = is_const(b.v, &kb);
  if (ca && cb) return (is_max ? ka >= kb : ka <= kb) ? a : b;
  if (f_add(primes_.p, a.v, b.v) == 0) {  // max(x, -x) = |x|
    const Pair x = abs1(a);
    return is_max ? x : sub1({0, 0}, x);
  }
  if (ca) {
    std::swap(a, b);
    std::swap(ka, kb);
  }
  MaxSets& sets = is_max ? facts_.maxes : facts_.mins;
  MaxSets& duals = is_max ? facts_.mins : facts_.maxes;
  if (ca || cb) {
    // b is the constant.
    if (is_lowest(is_max ? b.v : f_neg(primes_.p, b.v))) return a;
    if (kb == 0 && is_nonnegative(a.v)) return is_max ? a : b;
    for (bool dual : {false, true}) {
      MaxSets& s = dual ? duals : sets;
      if (!s.is_set(a.v)) continue;
      std::vector<double> leaves = s.leaves(a.v);
      if (leaves.size() > 64) continue;
      for (size_t k = 0; k < leaves.size(); ++k) {
        double other = 0;
        if (!is_const(leaves[k], &other)) continue;
        if (!dual) {
          if (is_max ? other >= kb : other <= kb) return a;
          leaves[k] = leaves.back();
          leaves.pop_back();
          Pair rest = pair_of(leaves[0]);
          for (size_t j = 1; j < leaves.size(); ++j)
            rest = extremum1(is_max, rest, pair_of(leaves[j]));
          return extremum1(is_max, rest, b);
        }
        // max(min(x, hi), lo): lo if hi <= lo. The canonical order keeps min outermost.
        const double hi = other;
        if (is_max ? hi <= kb : hi >= kb) return b;
        if (is_max) {
          const double hi_image = leaves[k];
          leaves[k] = leaves.back();
          leaves.pop_back();
          Pair rest = pair_of(leaves[0]);
          for (size_t j = 1; j < leaves.size(); ++j)
            rest = extremum1(false, rest, pair_of(leaves[j]));
          return extremum1(false, extremum1(true, rest, b), pair_of(hi_image));
        }
      }
    }
  }
  if (with_exp_) {
    if (!facts_.exponents.find(a.v)) facts_.exponents[a.v] = a.e;
    if (!facts_.exponents.find(b.v)) facts_.exponents[b.v] = b.e;
  }
  const auto [joined, of_leaves] = sets.join(a.v, b.v);
  if (joined == a.v) return a;
  if (joined == b.v) return b;
  if (of_leaves) {
    const Pair d = is_max ? sub1(a, b) : sub1(b, a);
    const Pair r = relu1(d);
    const Pair two = is_max ? add1(b, r) : sub1(b, r);
    sets.alias(joined, two.v);
    facts_.exponents[two.v] = two.e;
    return two;
  }
  return set_pair(sets, joined);
}

// The e image of a small set moves with its leaves as its v image does.
FieldDomain::Pair FieldDomain::set_pair(MaxSets& sets, double image) {
  if (!with_exp_ || facts_.exponents.find(image) != nullptr) return pair_of(image);
  const std::vector<double> leaves = sets.leaves(image);
  if (leaves.size() < 3) return pair_of(image);
  std::vector<double> exponents;
  for (const double leaf : leaves) exponents.push_back(pair_of(leaf).e);
  const double hash = f_sub(primes_.p, image, MaxSets::mean(primes_.p, leaves));
  const double e = f_add(primes_.q, MaxSets::mean(primes_.q, exponents), e_hash(hash));
  facts_.exponents[image] = e;
  return {image, e};
}

// A selection of values and one of their indices ask for the same extremum, a row apart.
FieldDomain::Pair FieldDomain::extremum_again(bool is_max, Pair a, Pair b) {
  const uint64_t key = mix64(std::bit_cast<uint64_t>(a.v) ^ (std::bit_cast<uint64_t>(b.v) << 1)) +
                       static_cast<uint64_t>(is_max) + static_cast<uint64_t>(op_type_) * 2;
  Recent& r = recent_[key % recent_.size()];
  if (r.a != a.v || r.b != b.v || r.is_max != is_max || r.type != op_type_)
    r = {a.v, b.v, is_max, op_type_, extremum1(is_max, a, b)};
  return r.result;
}

uint32_t FieldDomain::lazy_node(const LazyNode& node) {
  lazy_.push_back(node);
  return static_cast<uint32_t>(lazy_.size()) - 1;
}

uint32_t FieldDomain::lazy_leaf(bool is_max, Pair p) {
  return lazy_node({leaf_hash(p), p, 0, 1, is_max, LazyNode::Leaf});
}

// The image of a lazy extremum: its leaves are collected at once, down to nodes that have an image.
FieldDomain::Pair FieldDomain::force(uint32_t node) {
  if (lazy_[node].kind == LazyNode::Leaf) return lazy_[node].value;
  const bool is_max = lazy_[node].is_max;
  auto done = [&](Pair image) {
    lazy_[node].kind = LazyNode::Leaf;
    return lazy_[node].value = image;
  };
  // The lanes of a butterfly reach one set by as many trees.
  const uint64_t key =
      mix64(lazy_[node].sum ^ (uint64_t{lazy_[node].count} << 1) ^ static_cast<uint64_t>(is_max));
  if (auto known = facts_.extrema.find(key); known != facts_.extrema.end())
    return done(known->second);
  std::vector<Pair> leaves;
  std::vector<uint32_t> stack = {node};
  while (!stack.empty()) {
    const LazyNode* n = &lazy_[stack.back()];
    stack.pop_back();
    for (; n->kind == LazyNode::Append; n = &lazy_[n->left]) leaves.push_back(n->value);
    if (n->kind == LazyNode::Leaf) {
      leaves.push_back(n->value);
    } else {
      stack.push_back(n->left);
      stack.push_back(n->right());
    }
  }
  Pair r = leaves[0];
  if (leaves.size() <= 2) {
    for (size_t k = 1; k < leaves.size(); ++k) r = extremum1(is_max, r, leaves[k]);
  } else {
    r = join_leaves(is_max, leaves);
  }
  facts_.extrema[key] = r;
  return done(r);
}

// Exponents are kept for leaves that a set can be asked for again.
FieldDomain::Pair FieldDomain::join_leaves(bool is_max, const std::vector<Pair>& leaves) {
  std::vector<double> images;
  images.reserve(leaves.size());
  for (const Pair& p : leaves) images.push_back(p.v);
  MaxSets::make_unique(images);
  if (with_exp_ && images.size() <= MaxSets::kKept) {
    for (const Pair& p : leaves)
      if (facts_.exponents.find(p.v) == nullptr) facts_.exponents[p.v] = p.e;
  }
  MaxSets& sets = is_max ? facts_.maxes : facts_.mins;
  return set_pair(sets, sets.join_all(images));
}

void FieldDomain::release_lazy() { lazy_.resize(1); }

void FieldDomain::extremum(bool is_max, const Row& a, const Row& b, Row& out, uint32_t mask) {
  const uint32_t top_a = is_max ? a.pinf : a.ninf, top_b = is_max ? b.pinf : b.ninf;
  const uint32_t low_a = is_max ? a.ninf : a.pinf, low_b = is_max ? b.ninf : b.pinf;
  const uint32_t taint = a.taint | b.taint, undef = (a.undef | b.undef) & mask;
  const uint32_t lazy_a = a.lazy, lazy_b = b.lazy;
  uint32_t top = 0, low = 0, lazy = 0;
  for_lanes(mask, [&](int l) {
    const uint32_t bit = 1u << l;
    const bool la = (lazy_a & bit) != 0, lb = (lazy_b & bit) != 0;
    Pair r;
    if ((top_a | top_b) & bit) {
      top |= bit;
    } else if (low_a & low_b & bit) {
      low |= bit;
    } else if ((low_a | low_b) & bit) {
      const bool second = (low_a & bit) != 0;
      r = second ? Pair{b.v[l], b.e[l]} : Pair{a.v[l], a.e[l]};
      if (second ? lb : la) lazy |= bit;
    } else {
      auto is_node = [&](bool is_lazy, const Row& row) {  // of this kind
        return is_lazy && lazy_[static_cast<uint32_t>(row.v[l])].is_max == is_max;
      };
      double k = 0;
      const bool na = is_node(la, a), nb = is_node(lb, b);
      if ((la || !is_const(a.v[l], &k)) && (lb || !is_const(b.v[l], &k))) {
        if (na && nb) {
          const auto i = static_cast<uint32_t>(a.v[l]), j = static_cast<uint32_t>(b.v[l]);
          r.v = i == j ? i : lazy_node(LazyNode::join(i, lazy_[i], j, lazy_[j]));
        } else {
          auto leaf = [&](bool is_lazy, const Row& row) {
            return is_lazy ? force(static_cast<uint32_t>(row.v[l])) : Pair{row.v[l], row.e[l]};
          };
          const Pair x = na ? leaf(lb, b) : leaf(la, a);
          const uint32_t i = na   ? static_cast<uint32_t>(a.v[l])
                             : nb ? static_cast<uint32_t>(b.v[l])
                                  : lazy_leaf(is_max, leaf(lb, b));
          const LazyNode to = lazy_[i];
          r.v = lazy_node({to.sum + leaf_hash(x), x, i, to.count + 1u, is_max, LazyNode::Append});
        }
        lazy |= bit;
      } else {
        const Pair x = la ? force(static_cast<uint32_t>(a.v[l])) : Pair{a.v[l], a.e[l]};
        const Pair y = lb ? force(static_cast<uint32_t>(b.v[l])) : Pair{b.v[l], b.e[l]};
        r = extremum1(is_max, x, y);
      }
    }
    out.v[l] = r.v;
    out.e[l] = r.e;
  });
  out.raw = 0;
  out.undef = undef;
  out.taint = taint;
  out.lazy = lazy;
  out.pinf = is_max ? top : low;
  out.ninf = is_max ? low : top;
}

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

// [symbol = k]: a free value for every k but the largest, whose indicator is 1 minus the others.
FieldDomain::Pair FieldDomain::indicator1(const IntForm& f, int64_t k) {
  if (k < f.lo || k >= f.hi) return {0, 0};
  auto free = [&](int64_t j) {
    Pair r;
    r.v = to_element(mix64(std::bit_cast<uint64_t>(f.symbol.v) ^
                           mix64(static_cast<uint64_t>(j) ^ salt(Fn::Eq))));
    r.e = e_hash(r.v);
    return r;
  };
  if (k != f.hi - 1) return free(k);
  if (const Pair* known = facts_.last_indicator.find(f.symbol.v)) return *known;
  Pair last{1, 1};
  for (int64_t j = f.lo; j < f.hi - 1; ++j) last = sub1(last, free(j));
  facts_.last_indicator[f.symbol.v] = last;
  return last;
}

void FieldDomain::int_laws(Fn fn, const Row& a, const Row& b, const Row& out, uint32_t mask) {
  for_lanes(mask, [&](int l) {
    const IntForm* fa = facts_.ints.find(a.v[l]);
    const IntForm* fb = facts_.ints.find(b.v[l]);
    double k = 0;
    if ((fa == nullptr) == (fb == nullptr)) return;
    const Row& other = fa != nullptr ? b : a;
    IntForm f = fa != nullptr ? *fa : *fb;
    if (!is_const(other.v[l], &k) || k != std::rint(k) || std::fabs(k) > 9e15) return;
    const auto n = static_cast<int64_t>(k);
    switch (fn) {
      case Fn::IAdd:
        f.shift += n;
        break;
      case Fn::ISub:
        if (fa == nullptr)
          f.scale = -f.scale, f.shift = n - f.shift;
        else
          f.shift -= n;
        break;
      case Fn::Shl:
        if (fa == nullptr || n < 0 || n > 40) return;
        f.scale <<= n, f.shift <<= n;
        break;
      default:
        f.scale *= n, f.shift *= n;
        break;
    }
    if (out.v[l] != f.symbol.v) facts_.ints[out.v[l]] = f;
  });
}

void FieldDomain::lookup(Store<FieldDomain>& store, int buffer, Ty type, const Row& index,
                         const int64_t* base, int64_t lo, int64_t hi, uint32_t mask, Row& out) {
  (void)type;
  Row scratch;
  const Row i = typed(index, Ty::S64, scratch, mask);
  clear(out);
  out.undef = i.undef & mask;
  const Source& source = store.source(buffer);
  for_lanes(mask & ~i.undef, [&](int l) {
    const IntForm* known = facts_.ints.find(i.v[l]);
    double k = 0;
    if (is_const(i.v[l], &k)) {
      const int64_t e = base[l] + static_cast<int64_t>(k);
      if (e >= lo && e < hi) return set_lane(out, l, store.load1(buffer, e));
      out.undef |= 1u << l;
    }
    if (known != nullptr && known->hi - known->lo <= 4096) {
      const IntForm f = *known;
      Pair sum{0, 0}, plain{0, 0};
      LogForm common;  // of every candidate, if all are c ln(core) plus something
      bool undef = false, taint = false, logs = have_logs_;
      for (int64_t s = f.lo; s < f.hi; ++s) {
        const int64_t e = base[l] + f.scale * s + f.shift;
        if (e < lo || e >= hi) {
          undef = true;
          break;
        }
        Row one;
        clear(one);
        set_lane(one, 0, store.load1(buffer, e));
        if (one.special()) undef = true;
        taint = taint || one.taint != 0;
        const Pair c = indicator1(f, s);
        LogForm alone;
        const LogForm* log = logs ? find_log(one.v[0], alone) : nullptr;
        if (log == nullptr ||
            (common.set && (common.c_p != log->c_p || common.core != log->core))) {
          logs = false;
        } else {
          if (!common.set) common = *log;
          plain = add1(plain,
                       {f_mul(primes_.p, c.v, log->plain.v), f_mul(primes_.q, c.e, log->plain.e)});
        }
        sum = add1(sum, {f_mul(primes_.p, c.v, one.v[0]), f_mul(primes_.q, c.e, one.e[0])});
      }
      if (logs &&
          common.set) {  // sum_k [k] (plain_k + c ln core) = (sum_k [k] plain_k) + c ln core
        const Modulus &p = primes_.p, &q = primes_.q;
        common.plain = plain;
        common.arg = f_mul(p, common.core, primes_.exp(f_mul(q, plain.e, f_inv(q, common.c_q))));
        sum = log_image(common);
        facts_.logs[sum.v] = common;
      }
      out.v[l] = sum.v;
      out.e[l] = sum.e;
      if (undef) out.undef |= 1u << l;
      if (taint) out.taint |= 1u << l;
      return;
    }
    // Congruence: the same element expression of the same tensor, as it was before the first step.
    const double element = f_add(primes_.p, f_from_int(primes_.p, base[l]), i.v[l]);
    out.v[l] = to_element(
        mix64(std::bit_cast<uint64_t>(element) ^ mix64(source.symbol ^ salt_v_ ^ 0x100c)));
    out.e[l] = e_hash(out.v[l]);
    if (source.kind != Source::Kind::Symbol || store.written(buffer)) out.undef |= 1u << l;
  });
}

void FieldDomain::scatter(Store<FieldDomain>& store, const machine::IndexedOut& x, const Row& index,
                          const Row& value, const Row* pred) {
  Row s1, s2, s3;
  const Row i = typed(index, Ty::S64, s1, x.mask);
  const Row v = typed(value, x.type, s2, x.mask);
  Row p;
  if (pred != nullptr) p = typed(*pred, Ty::Pred, s3, x.mask);
  for_lanes(x.mask, [&](int l) {
    const IntForm* known = facts_.ints.find(i.v[l]);
    double k = 0;
    IntForm f;
    if (known != nullptr) {
      f = *known;
    } else if (is_const(i.v[l], &k)) {
      f = {{0, 0}, 0, static_cast<int64_t>(k), 0, 1};
    } else {
      ++unknown_scatters;
      return;
    }
    for (int64_t s = f.lo; s < f.hi; ++s) {
      const int64_t e = x.base[static_cast<size_t>(l)] + f.scale * s + f.shift;
      Row c, a, b, r;
      const Pair hit = f.scale == 0 ? Pair{1, 1} : indicator1(f, s);
      clear(c), clear(a), clear(b);
      c.v[0] = hit.v, c.e[0] = hit.e;
      if (pred != nullptr) {
        c.v[0] = f_mul(primes_.p, c.v[0], p.v[l]);
        c.e[0] = f_mul(primes_.q, c.e[0], p.e[l]);
      }
      set_lane(b, 0, store.load1(x.buffer, e));
      copy_lane(v, l, a, 0);
      if (x.atomic) {
        Row sum;
        apply(is_float(x.type) ? Fn::Add : Fn::IAdd, x.type, {}, &a, &b, nullptr, nullptr, sum, 1);
        a = sum;
      }
      select(x.type, c, a, b, r, 1);
      store.store(x.buffer, e, cell(r, 0, x.type));
    }
  });
}

}  // namespace assay::term
