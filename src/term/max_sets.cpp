#include "term/max_sets.h"

#include <algorithm>

namespace assay::term {

// A step of a chain: two ascending lists are merged, and hashes that stand in both are counted
// once.
double MaxSets::join(double a, double b) {
  const uint32_t *ha = handles_.find(a), *hb = handles_.find(b);
  if (ha == nullptr && hb == nullptr) return join_all({a, b});
  const Set* sa = ha != nullptr ? &sets_[*ha] : nullptr;
  const Set* sb = hb != nullptr ? &sets_[*hb] : nullptr;
  if ((sa != nullptr && sa->leaves.empty()) || (sb != nullptr && sb->leaves.empty()))
    return join_all({a, b});
  const double *la = sa != nullptr ? sa->leaves.data() : &a,
               *lb = sb != nullptr ? sb->leaves.data() : &b;
  const size_t na = sa != nullptr ? sa->leaves.size() : 1,
               nb = sb != nullptr ? sb->leaves.size() : 1;
  Set out;
  out.leaves.resize(na + nb);
  out.leaves.erase(std::set_union(la, la + na, lb, lb + nb, out.leaves.begin()), out.leaves.end());
  if (sa != nullptr && out.leaves.size() == na) return canonical(a);
  if (sb != nullptr && out.leaves.size() == nb) return canonical(b);
  if (out.leaves.size() == na + nb) {
    out.sum = (sa != nullptr ? sa->sum : hash(a)) + (sb != nullptr ? sb->sum : hash(b));
  } else {
    for (double leaf : out.leaves) out.sum += hash(leaf);
  }
  return add(std::move(out));
}

double MaxSets::join_all(const std::vector<double>& images) {
  Set out;
  for (double image : images) {
    const uint32_t* known = handles_.find(image);
    if (known == nullptr) {
      out.leaves.push_back(image);
    } else if (const Set& s = sets_[*known]; s.leaves.empty()) {
      out.sum += s.sum;
      out.count += s.count;
    } else {
      out.leaves.insert(out.leaves.end(), s.leaves.begin(), s.leaves.end());
    }
  }
  std::sort(out.leaves.begin(), out.leaves.end());
  out.leaves.erase(std::unique(out.leaves.begin(), out.leaves.end()), out.leaves.end());
  for (double leaf : out.leaves) out.sum += hash(leaf);
  if (out.count == 0 && out.leaves.size() == 1) return out.leaves[0];
  return add(std::move(out));
}

// The image of a set whose sum is known; `count` counts the leaves that are not listed.
double MaxSets::add(Set out) {
  const bool keep = out.count == 0 && out.leaves.size() <= kKept;
  out.count += static_cast<uint32_t>(out.leaves.size());
  const double image = to_element(mix64(out.sum ^ (salt_ * 3)));
  if (handles_.find(image) == nullptr) {
    if (!keep) out.leaves = {};
    handles_[image] = static_cast<uint32_t>(sets_.size());
    sets_.push_back(std::move(out));
  }
  return canonical(image);
}

std::vector<double> MaxSets::leaves(double image) {
  const uint32_t* known = handles_.find(image);
  if (known == nullptr || sets_[*known].leaves.empty()) return {image};
  return sets_[*known].leaves;
}

void MaxSets::alias(double image, double other) {
  const uint32_t* known = handles_.find(image);
  if (known == nullptr) return;
  const uint32_t set = *known;
  handles_[other] = set;
  aliases_[image] = other;
}

double MaxSets::canonical(double image) {
  const double* other = aliases_.find(image);
  return other != nullptr ? *other : image;
}

}  // namespace assay::term
