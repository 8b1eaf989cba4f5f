// Field semantics of maxima and minima: of two values, of sets; lazy ones, whose image is computed
// when something else than their like asks for it.
#include <algorithm>

#include "term/field_detail.h"

namespace assay::term {

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

}  // namespace assay::term
