#pragma once
// Sets of images behind max and min values. A max over a chain or tree is the set of its leaves;
// its image is a hash of the set. A set value is a prefix of an append-only table, so a running
// maximum costs O(1) a step and every prefix (online softmax) stays usable; unions insert the
// smaller side.
#include <cstdint>
#include <memory>
#include <vector>

#include "term/image_map.h"

namespace assay::term {

class MaxSets {
 public:
  explicit MaxSets(uint64_t salt) : salt_(salt) {}

  // The image of the extremum of the sets or leaves behind images a and b.
  double join(double a, double b);
  bool is_set(double image) { return handles_.find(image) != nullptr; }
  // The set behind `image` is known as `other` from now on (the closed form of a pair).
  void alias(double image, double other);
  double canonical(double image);
  // The leaves of a set image ({image} itself if it is no set).
  std::vector<double> leaves(double image);

 private:
  struct Table {
    std::vector<double> elements;
    std::vector<uint64_t> sums;   // sums[k]: hash of the first k + 1 elements
    ImageMap<uint32_t> position;  // element -> index + 1
  };
  struct Handle {
    uint32_t table = 0;
    uint32_t count = 0;
  };
  Handle handle_of(double image);
  bool contains(const Handle& set, double leaf);
  Handle insert(Handle set, double leaf);
  double publish(const Handle& set);

  uint64_t salt_;
  std::vector<std::unique_ptr<Table>> tables_;
  ImageMap<Handle> handles_;
  ImageMap<double> aliases_;
};

}  // namespace assay::term
