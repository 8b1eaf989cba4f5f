#pragma once
// A set of element indices of a buffer: a bitset in pages of 4096, ordered by a map.
#include <array>
#include <bit>
#include <cstdint>
#include <map>

namespace assay::tensor {

class ElemSet {
 public:
  static constexpr int kShift = 12;
  static constexpr int64_t kPage = int64_t{1} << kShift;

  // Returns true if the element is new.
  bool insert(int64_t element) {
    uint64_t& word = page(element >> kShift)[static_cast<size_t>((element & (kPage - 1)) >> 6)];
    const uint64_t bit = uint64_t{1} << (element & 63);
    const bool fresh = (word & bit) == 0;
    word |= bit;
    return fresh;
  }
  // first, first + stride, ... (count elements).
  void insert_range(int64_t first, int64_t count, int64_t stride = 1) {
    if (stride != 1) {
      for (int64_t k = 0; k < count; ++k) insert(first + k * stride);
      return;
    }
    for (int64_t e = first, end = first + count; e < end;) {
      const int64_t stop = std::min(end, ((e >> 6) + 1) << 6);
      const auto n = static_cast<int>(stop - e);
      const uint64_t bits = (n == 64 ? ~uint64_t{0} : ((uint64_t{1} << n) - 1)) << (e & 63);
      page(e >> kShift)[static_cast<size_t>((e & (kPage - 1)) >> 6)] |= bits;
      e = stop;
    }
  }
  bool contains(int64_t element) const {
    auto it = pages_.find(element >> kShift);
    if (it == pages_.end()) return false;
    return (it->second[static_cast<size_t>((element & (kPage - 1)) >> 6)] >> (element & 63)) & 1;
  }
  int64_t count() const {
    int64_t n = 0;
    for (const auto& [key, words] : pages_)
      for (uint64_t w : words) n += std::popcount(w);
    return n;
  }
  bool empty() const { return count() == 0; }
  void clear() {
    pages_.clear();
    last_ = nullptr;
  }
  // Ascending.
  template <class F>
  void for_each(F&& f) const {
    for (const auto& [key, words] : pages_)
      for (size_t w = 0; w < words.size(); ++w)
        for (uint64_t bits = words[w]; bits != 0; bits &= bits - 1)
          f((key << kShift) + static_cast<int64_t>(w * 64) + std::countr_zero(bits));
  }
  void unite(const ElemSet& other) {
    for (const auto& [key, words] : other.pages_) {
      Page& mine = page(key);
      for (size_t w = 0; w < words.size(); ++w) mine[w] |= words[w];
    }
  }
  void intersect(const ElemSet& other) {
    for (auto& [key, words] : pages_) {
      auto it = other.pages_.find(key);
      for (size_t w = 0; w < words.size(); ++w)
        words[w] &= it == other.pages_.end() ? 0 : it->second[w];
    }
  }
  void subtract(const ElemSet& other) {
    for (const auto& [key, words] : other.pages_) {
      auto it = pages_.find(key);
      if (it == pages_.end()) continue;
      for (size_t w = 0; w < words.size(); ++w) it->second[w] &= ~words[w];
    }
  }

 private:
  using Page = std::array<uint64_t, kPage / 64>;
  Page& page(int64_t key) {
    if (last_ != nullptr && key == last_key_) return *last_;
    last_ = &pages_[key];
    last_key_ = key;
    return *last_;
  }
  std::map<int64_t, Page> pages_;
  Page* last_ = nullptr;  // std::map nodes do not move
  int64_t last_key_ = 0;

 public:
  ElemSet() = default;
  ElemSet(const ElemSet& o) : pages_(o.pages_) {}
  ElemSet(ElemSet&& o) noexcept : pages_(std::move(o.pages_)) { o.last_ = nullptr; }
  ElemSet& operator=(ElemSet o) noexcept {
    pages_ = std::move(o.pages_);
    last_ = nullptr;
    return *this;
  }
};

}  // namespace assay::tensor
