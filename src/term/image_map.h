#pragma once
// Open-addressing map from a field image (the bits of a double) to a value. The table holds eight
// bytes an entry and the entries lie in the order of insertion: most look-ups find nothing, and the
// maps of a long evaluation are larger than the caches.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "term/field.h"

namespace assay::term {

using std::size_t;

template <class V>
class ImageMap {
 public:
  V* find(double image) {
    if (entries_.empty()) return nullptr;
    const uint64_t key = std::bit_cast<uint64_t>(image), hash = mix64(key);
    for (size_t i = hash & mask_;; i = (i + 1) & mask_) {
      const Slot& s = slots_[i];
      if (s.number == 0) return nullptr;
      if (s.check == check(hash) && entries_[s.number - 1].key == key)
        return &entries_[s.number - 1].value;
    }
  }
  // The value at the key, default-constructed if new; the reference dies with the next insertion.
  V& operator[](double image) {
    if (entries_.size() * 2 >= slots_.size()) grow();
    const uint64_t key = std::bit_cast<uint64_t>(image), hash = mix64(key);
    for (size_t i = hash & mask_;; i = (i + 1) & mask_) {
      Slot& s = slots_[i];
      if (s.number == 0) {
        entries_.push_back({key, V{}});
        s = {check(hash), static_cast<uint32_t>(entries_.size())};
        return entries_.back().value;
      }
      if (s.check == check(hash) && entries_[s.number - 1].key == key)
        return entries_[s.number - 1].value;
    }
  }
  // Fetches what a look-up of the image will touch first.
  void prefetch(double image) const {
    if (!slots_.empty()) __builtin_prefetch(&slots_[mix64(std::bit_cast<uint64_t>(image)) & mask_]);
  }
  size_t size() const { return entries_.size(); }
  // Drops all but the first `count` entries. Backwards: no older entry was placed behind a newer.
  void truncate(size_t count) {
    for (; entries_.size() > count; entries_.pop_back()) {
      const auto number = static_cast<uint32_t>(entries_.size());
      size_t i = mix64(entries_.back().key) & mask_;
      while (slots_[i].number != number) i = (i + 1) & mask_;
      slots_[i] = {};
    }
  }

 private:
  struct Slot {
    uint32_t check = 0, number = 0;  // number: of the entry, from 1; 0: free
  };
  struct Entry {
    uint64_t key;
    V value;
  };
  static uint32_t check(uint64_t hash) { return static_cast<uint32_t>(hash >> 32); }
  void grow() {
    const size_t factor = slots_.size() < (1 << 18) ? 4 : 2;
    slots_.assign(slots_.empty() ? 64 : slots_.size() * factor, {});
    mask_ = slots_.size() - 1;
    for (size_t k = 0; k < entries_.size(); ++k) {
      const uint64_t hash = mix64(entries_[k].key);
      size_t i = hash & mask_;
      while (slots_[i].number != 0) i = (i + 1) & mask_;
      slots_[i] = {check(hash), static_cast<uint32_t>(k + 1)};
    }
  }
  std::vector<Slot> slots_;
  std::vector<Entry> entries_;
  size_t mask_ = 0;
};

}  // namespace assay::term
