#include "term/max_sets.h"

#include <algorithm>

namespace assay::term {

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
