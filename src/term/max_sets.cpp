#include "term/max_sets.h"

#include <algorithm>
#include <array>
#include <bit>

namespace assay::term {

// A step of a chain: two ascending lists are merged, and hashes that stand in both are counted
// once.
MaxSets::Joined MaxSets::join(double a, double b) {
  const Set *ha = sets_.find(a), *hb = sets_.find(b);
  const bool is_a = ha != nullptr, is_b = hb != nullptr, of_leaves = !is_a && !is_b;
  const Set sa = is_a ? *ha : Set{hash(a), a, 1, 0}, sb = is_b ? *hb : Set{hash(b), b, 1, 0};
  if (!sa.kept() || !sb.kept())
    return {add(sa.sum + sb.sum, size_t{sa.count} + sb.count, nullptr), of_leaves};
  const double* la = is_a ? &leaves_[sa.first] : &a;
  const double* lb = is_b ? &leaves_[sb.first] : &b;
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

void MaxSets::make_unique(std::vector<double>& images) {
  if (images.size() <= 4 * kKept) {
    std::sort(images.begin(), images.end());
    images.erase(std::unique(images.begin(), images.end()), images.end());
    return;
  }
  // By a table: sorting hundreds of thousands of images takes five times as long.
  const size_t mask = std::bit_ceil(images.size() * 2) - 1;
  std::vector<uint64_t> seen(mask + 1, ~uint64_t{0});  // no image has these bits
  size_t kept = 0;
  for (double image : images) {
    const auto bits = std::bit_cast<uint64_t>(image);
    size_t i = mix64(bits) & mask;
    while (seen[i] != bits && seen[i] != ~uint64_t{0}) i = (i + 1) & mask;
    if (seen[i] == bits) continue;
    seen[i] = bits;
    images[kept++] = image;
  }
  images.resize(kept);
  if (kept <= kKept) std::sort(images.begin(), images.end());
}

double MaxSets::join_all(const std::vector<double>& images) {
  uint64_t sum = 0;
  size_t unlisted = 0;
  std::vector<double> leaves;
  leaves.reserve(images.size());
  for (double image : images) {
    const Set* known = sets_.find(image);
    if (known == nullptr) {
      leaves.push_back(image);
    } else if (known->kept()) {
      const auto from = leaves_.begin() + known->first;
      leaves.insert(leaves.end(), from, from + known->count);
    } else {
      sum += known->sum;
      unlisted += known->count;
    }
  }
  make_unique(leaves);
  if (unlisted == 0 && leaves.size() == 1) return leaves[0];
  for (double leaf : leaves) sum += hash(leaf);
  return add(sum, unlisted + leaves.size(), unlisted == 0 ? leaves.data() : nullptr);
}

double MaxSets::mean(const Modulus& modulus, const std::vector<double>& leaves) {
  double sum = 0;
  for (double leaf : leaves) sum = f_add(modulus, sum, leaf);
  return f_mul(modulus, sum,
               f_inv(modulus, f_from_int(modulus, static_cast<int64_t>(leaves.size()))));
}

// A pair has a closed form that moves, see FieldDomain::extremum1.
double MaxSets::name(uint64_t sum, size_t count, const double* leaves) const {
  if (!modulus_ || leaves == nullptr || count < 3 || count > kKept)
    return to_element(mix64(sum ^ (salt_ * 3)));
  const double centre = mean(*modulus_, {leaves, leaves + count});
  uint64_t moved = 0;
  for (size_t k = 0; k < count; ++k) moved += hash(f_sub(*modulus_, leaves[k], centre));
  return f_add(*modulus_, centre, to_element(mix64(moved ^ (salt_ * 3))));
}

// The image of a set whose sum is known. Sets with leaves that are not listed have more than kKept.
double MaxSets::add(uint64_t sum, size_t count, const double* leaves) {
  const double image = name(sum, count, leaves);
  Set& set = sets_[image];
  if (set.count != 0) return set.image;
  set = {sum, image, static_cast<uint32_t>(std::min<size_t>(count, 0xffffffffu)),
         static_cast<uint32_t>(leaves_.size())};
  if (set.kept()) leaves_.insert(leaves_.end(), leaves, leaves + count);
  return image;
}

std::vector<double> MaxSets::leaves(double image) {
  const Set* known = sets_.find(image);
  if (known == nullptr || !known->kept()) return {image};
  const auto from = leaves_.begin() + known->first;
  return {from, from + known->count};
}

void MaxSets::alias(double image, double other) {
  Set* known = sets_.find(image);
  if (known == nullptr) return;
  known->image = other;
  const Set set = *known;
  sets_[other] = set;
}

void MaxSets::copy_set(MaxSets& from, double image) {
  const Set* known = from.sets_.find(image);
  if (known == nullptr || sets_.find(image) != nullptr) return;
  Set set = *known;
  if (set.kept()) {
    const auto first = from.leaves_.begin() + set.first;
    set.first = static_cast<uint32_t>(leaves_.size());
    leaves_.insert(leaves_.end(), first, first + set.count);
  }
  sets_[image] = set;
  sets_[set.image] = set;
  sets_[to_element(mix64(set.sum ^ (salt_ * 3)))] = set;  // the name before it had a closed form
}

}  // namespace assay::term
