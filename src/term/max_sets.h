#pragma once
// Sets of images behind maxima and minima. The extremum over a chain or tree is the set of its
// leaves; its image is a sum of hashes of the leaves, so a running maximum costs O(1) a step.
// Leaves that occur twice are merged while a set is small (kKept leaves); beyond that a repetition
// only costs a proof: equal sums still mean equal multisets. The image of a small set moves with
// its leaves: it is their mean plus a hash of their distances from it.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "term/image_map.h"

namespace assay::term {

class MaxSets {
 public:
  static constexpr size_t kKept = 64;
  // modulus: of the images; none: images of sets do not move with their leaves.
  explicit MaxSets(uint64_t salt, std::optional<Modulus> modulus = {})
      : salt_(salt), modulus_(modulus) {}

  // The image of the extremum of the sets or leaves behind images a and b.
  struct Joined {
    double image = 0;
    bool of_leaves = false;  // neither was a set
  };
  Joined join(double a, double b);
  double join_all(const std::vector<double>& images);
  // Drops repetitions; a list that stays longer than kKept keeps no order.
  static void make_unique(std::vector<double>& images);
  // The leaves of a set image ({image} itself if it is no set, or too large to know).
  std::vector<double> leaves(double image);
  bool is_set(double image) { return sets_.find(image) != nullptr; }
  // The mean of some leaves.
  static double mean(const Modulus& modulus, const std::vector<double>& leaves);
  // The set behind `image` is known as `other` from now on (the closed form of a pair).
  void alias(double image, double other);
  // The set behind `image` in other sets of the same salt.
  void copy_set(MaxSets& from, double image);
  struct Size {
    size_t sets = 0, leaves = 0;
  };
  Size size() const { return {sets_.size(), leaves_.size()}; }
  void truncate(const Size& size) {
    sets_.truncate(size.sets);
    leaves_.resize(std::min(leaves_.size(), size.leaves));
  }

 private:
  struct Set {
    uint64_t sum = 0;
    double image = 0;  // the name that it goes by
    uint32_t count = 0, first = 0;
    bool kept() const { return count <= kKept; }  // leaves_[first, first + count), ascending
  };
  double add(uint64_t sum, size_t count, const double* leaves);
  double name(uint64_t sum, size_t count, const double* leaves) const;
  uint64_t hash(double leaf) const { return mix64(std::bit_cast<uint64_t>(leaf) ^ salt_); }

  uint64_t salt_;
  std::optional<Modulus> modulus_;
  ImageMap<Set> sets_;  // by image, of a pair also by its closed form
  std::vector<double> leaves_;
};

}  // namespace assay::term
