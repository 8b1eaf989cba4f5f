#include "term/max_sets.h"

#include <algorithm>
#include <array>

namespace assay::term {

// A step of a chain: two ascending lists are merged, and hashes that stand in both are counted
// once.
MaxSets::Joined MaxSets::join(double a, double b) {
  const uint32_t *ha = handles_.find(a), *hb = handles_.find(b);
  auto as_set = [&](const uint32_t* handle, double image) {
    return handle != nullptr ? sets_[*handle] : Set{hash(image), image, 1, 0};
  };
  const Set sa = as_set(ha, a), sb = as_set(hb, b);
  const bool of_leaves = ha == nullptr && hb == nullptr;
  if (!sa.kept() || !sb.kept())
    return {add(sa.sum + sb.sum, size_t{sa.count} + sb.count, nullptr), of_leaves};
  const double* la = ha != nullptr ? &leaves_[sa.first] : &a;
  const double* lb = hb != nullptr ? &leaves_[sb.first] : &b;
  std::array<double, 2 * kKept> merged;
  const auto count = static_cast<size_t>(
      std::set_union(la, la + sa.count, lb, lb + sb.count, merged.begin()) - merged.begin());
  if (count == sa.count) return {sa.image, of_leaves};
  if (count == sb.count) return {sb.image, of_leaves};
  uint64_t sum = sa.sum + sb.sum;
  if (count != size_t{sa.count} + sb.count) {
    sum = 0;
    for (size_t k = 0; k < count; ++k) sum += hash(merged[k]);
  }
  return {add(sum, count, merged.data()), of_leaves};
}

double MaxSets::join_all(const std::vector<double>& images) {
  uint64_t sum = 0;
  size_t unlisted = 0;
  std::vector<double> leaves;
  leaves.reserve(images.size());
  for (double image : images) {
    const uint32_t* known = handles_.find(image);
    if (known == nullptr) {
      leaves.push_back(image);
      continue;
    }
    const Set& s = sets_[*known];
    if (s.kept()) {
      const auto from = leaves_.begin() + s.first;
      leaves.insert(leaves.end(), from, from + s.count);
    } else {
      sum += s.sum;
      unlisted += s.count;
    }
  }
  if (!std::is_sorted(leaves.begin(), leaves.end())) std::sort(leaves.begin(), leaves.end());
  leaves.erase(std::unique(leaves.begin(), leaves.end()), leaves.end());
  if (unlisted == 0 && leaves.size() == 1) return leaves[0];
  for (double leaf : leaves) sum += hash(leaf);
  return add(sum, unlisted + leaves.size(), unlisted == 0 ? leaves.data() : nullptr);
}

// The image of a set whose sum is known. Sets with leaves that are not listed have more than kKept.
double MaxSets::add(uint64_t sum, size_t count, const double* leaves) {
  const double image = to_element(mix64(sum ^ (salt_ * 3)));
  uint32_t& handle = handles_[image];  // new: 0, which may also be the number of a set
  if (handle < sets_.size() && sets_[handle].sum == sum) return sets_[handle].image;
  handle = static_cast<uint32_t>(sets_.size());
  Set set{sum, image, static_cast<uint32_t>(std::min<size_t>(count, 0xffffffffu)),
          static_cast<uint32_t>(leaves_.size())};
  if (set.kept()) leaves_.insert(leaves_.end(), leaves, leaves + count);
  sets_.push_back(set);
  return image;
}

std::vector<double> MaxSets::leaves(double image) {
  const uint32_t* known = handles_.find(image);
  if (known == nullptr || !sets_[*known].kept()) return {image};
  const auto from = leaves_.begin() + sets_[*known].first;
  return {from, from + sets_[*known].count};
}

void MaxSets::alias(double image, double other) {
  const uint32_t* known = handles_.find(image);
  if (known == nullptr) return;
  const uint32_t set = *known;
  handles_[other] = set;
  sets_[set].image = other;
}

}  // namespace assay::term
