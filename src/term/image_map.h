#pragma once
// Open-addressing map from a field image (the bits of a double, never all ones) to a value.
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
    if (size_ == 0) return nullptr;
    const uint64_t key = std::bit_cast<uint64_t>(image);
    for (size_t i = mix64(key) & mask_;; i = (i + 1) & mask_) {
      if (slots_[i].key == key) return &slots_[i].value;
      if (slots_[i].key == kEmpty) return nullptr;
    }
  }
  // The value at the key, default-constructed if new; the reference dies with the next insertion.
  V& operator[](double image) {
    if (slots_.empty() || size_ * 2 >= slots_.size()) grow();
    const uint64_t key = std::bit_cast<uint64_t>(image);
    for (size_t i = mix64(key) & mask_;; i = (i + 1) & mask_) {
      if (slots_[i].key == key) return slots_[i].value;
      if (slots_[i].key == kEmpty) {
        slots_[i].key = key;
        ++size_;
        return slots_[i].value;
      }
    }
  }
  size_t size() const { return size_; }
  template <class F>
  void for_each(F&& f) const {
    for (const Slot& s : slots_)
      if (s.key != kEmpty) f(std::bit_cast<double>(s.key), s.value);
  }

 private:
  static constexpr uint64_t kEmpty = ~0ULL;
  struct Slot {
    uint64_t key = kEmpty;
    V value{};
  };
  void grow() {
    std::vector<Slot> old(slots_.empty() ? 64 : slots_.size() * 2);
    old.swap(slots_);
    mask_ = slots_.size() - 1;
    for (Slot& s : old) {
      if (s.key == kEmpty) continue;
      size_t i = mix64(s.key) & mask_;
      while (slots_[i].key != kEmpty) i = (i + 1) & mask_;
      slots_[i] = std::move(s);
    }
  }
  std::vector<Slot> slots_;
  size_t mask_ = 0;
  size_t size_ = 0;
};

}  // namespace assay::term
