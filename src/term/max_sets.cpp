#include "term/max_sets.h"

#include <utility>

namespace assay::term {

MaxSets::Handle MaxSets::handle_of(double image) {
  if (const Handle* h = handles_.find(image)) return *h;
  return {0, 0};
}

bool MaxSets::contains(const Handle& set, double leaf) {
  const uint32_t* pos = tables_[set.table]->position.find(leaf);
  return pos != nullptr && *pos != 0 && *pos <= set.count;
}

MaxSets::Handle MaxSets::insert(Handle set, double leaf) {
  if (set.count != 0 && contains(set, leaf)) return set;
  if (set.count == 0 || tables_[set.table]->elements.size() != set.count) {
    // Not the newest prefix of its table: copy it.
    auto copy = std::make_unique<Table>();
    if (set.count != 0) {
      const Table& old = *tables_[set.table];
      copy->elements.assign(old.elements.begin(), old.elements.begin() + set.count);
      copy->sums.assign(old.sums.begin(), old.sums.begin() + set.count);
      for (uint32_t k = 0; k < set.count; ++k) copy->position[copy->elements[k]] = k + 1;
    }
    set.table = static_cast<uint32_t>(tables_.size());
    tables_.push_back(std::move(copy));
  }
  Table& t = *tables_[set.table];
  const uint64_t before = t.sums.empty() ? 0 : t.sums.back();
  t.elements.push_back(leaf);
  t.sums.push_back(before + mix64(std::bit_cast<uint64_t>(leaf) ^ salt_));
  t.position[leaf] = static_cast<uint32_t>(t.elements.size());
  ++set.count;
  return set;
}

double MaxSets::publish(const Handle& set) {
  const Table& t = *tables_[set.table];
  if (set.count == 1) return t.elements[0];
  const double image = to_element(mix64(t.sums[set.count - 1] ^ (salt_ * 3)));
  Handle& known = handles_[image];
  if (known.count == 0) known = set;
  return image;
}

double MaxSets::join(double a, double b) {
  if (a == b) return a;
  Handle ha = handle_of(a), hb = handle_of(b);
  if (ha.count < hb.count) {
    std::swap(ha, hb);
    std::swap(a, b);
  }
  Handle set = ha.count != 0 ? ha : insert({0, 0}, a);
  if (hb.count == 0) {
    set = insert(set, b);
  } else {
    for (uint32_t k = 0; k < hb.count; ++k) set = insert(set, tables_[hb.table]->elements[k]);
  }
  return canonical(publish(set));
}

std::vector<double> MaxSets::leaves(double image) {
  const Handle h = handle_of(image);
  if (h.count == 0) return {image};
  const auto& e = tables_[h.table]->elements;
  return {e.begin(), e.begin() + h.count};
}

void MaxSets::alias(double image, double other) {
  const Handle h = handle_of(image);
  handles_[other] = h;
  aliases_[image] = other;
}

double MaxSets::canonical(double image) {
  const double* other = aliases_.find(image);
  return other != nullptr ? *other : image;
}

}  // namespace assay::term
