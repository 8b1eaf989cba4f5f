#pragma once
// ElemSet: a set of element numbers (int64, of one buffer), in pages of 4096 bits. Pages that are
// full hold no words, so whole tensors of 10^8 elements cost a few megabytes.
#include <bit>
#include <cstdint>
#include <map>
#include <memory>

namespace assay::tensor {

class ElemSet {
 public:
  static constexpr int kPageBits = 12;
  static constexpr int64_t kPage = int64_t{1} << kPageBits;
  static constexpr int kWords = kPage / 64;

  ElemSet() = default;
  ElemSet(const ElemSet& other) { unite(other); }
  ElemSet(ElemSet&& other) noexcept { swap(other); }
  ElemSet& operator=(ElemSet other) noexcept {
    swap(other);
    return *this;
  }
  void swap(ElemSet& other) noexcept {
    pages_.swap(other.pages_);
    std::swap(count_, other.count_);
    last_ = other.last_ = nullptr;
  }

  // True if the element is new.
  bool insert(int64_t element);
  // first, first + stride, ...: `count` elements; stride may be 0 or negative.
  void insert_range(int64_t first, int64_t count, int64_t stride = 1);
  bool contains(int64_t element) const;
  // contains() of many elements that lie near one another, while the set does not change.
  class Cursor;
  int64_t count() const { return count_; }
  bool empty() const { return count_ == 0; }
  void clear();

  void unite(const ElemSet& other);
  void intersect(const ElemSet& other);
  void subtract(const ElemSet& other);
  // Its elements in [first, first + count); the cost is that of this set's pages there.
  ElemSet within(int64_t first, int64_t count) const;
  bool operator==(const ElemSet& other) const;
  bool is_subset_of(const ElemSet& other) const;

  // Smallest and largest element; the set must not be empty.
  int64_t front() const;
  int64_t back() const;

  // f(element) in ascending order.
  template <class F>
  void for_each(F&& f) const {
    for_each_run([&](int64_t first, int64_t n) {
      for (int64_t k = 0; k < n; ++k) f(first + k);
    });
  }
  // f(first, count) for the maximal runs of consecutive elements, ascending.
  template <class F>
  void for_each_run(F&& f) const;

 private:
  struct Page {
    std::unique_ptr<uint64_t[]> words;  // null: full
    int count = 0;
    bool full() const { return count == kPage; }
  };
  Page& page(int64_t number);
  const Page* find(int64_t number) const;
  static void make_full(Page* p) {
    p->words.reset();
    p->count = static_cast<int>(kPage);
  }
  static void make_words(Page* p);  // a full page gets its words back
  static uint64_t word(const Page& p, int k) { return p.words ? p.words[k] : ~uint64_t{0}; }
  void insert_bits(Page* p, int from, int to);
  void recount(Page* p);

  std::map<int64_t, Page> pages_;  // pages without elements do not stand here
  int64_t count_ = 0;
  Page* last_ = nullptr;  // cache of page()
  int64_t last_number_ = 0;
};

class ElemSet::Cursor {
 public:
  explicit Cursor(const ElemSet& set) : set_(&set) {}
  bool contains(int64_t element) {
    const int64_t number = element >> kPageBits;
    if (number != number_) {
      number_ = number;
      page_ = set_->find(number);
    }
    if (page_ == nullptr) return false;
    const auto bit = static_cast<int>(element & (kPage - 1));
    return ((word(*page_, bit >> 6) >> (bit & 63)) & 1) != 0;
  }

 private:
  const ElemSet* set_;
  int64_t number_ = INT64_MIN;  // of no element
  const Page* page_ = nullptr;
};

template <class F>
void ElemSet::for_each_run(F&& f) const {
  int64_t start = 0, length = 0;
  auto emit = [&](int64_t first, int64_t n) {
    if (length > 0 && start + length == first) {
      length += n;
      return;
    }
    if (length > 0) f(start, length);
    start = first;
    length = n;
  };
  for (const auto& [number, p] : pages_) {
    int64_t base = number * kPage;
    if (p.full()) {
      emit(base, kPage);
      continue;
    }
    for (int k = 0; k < kWords; ++k) {
      uint64_t w = p.words[k];
      int shift = 0;
      while (w != 0) {
        int zeros = std::countr_zero(w);
        shift += zeros;
        w >>= zeros;
        int ones = std::countr_one(w);
        emit(base + k * 64 + shift, ones);
        if (ones == 64) break;
        shift += ones;
        w >>= ones;
      }
    }
  }
  if (length > 0) f(start, length);
}

}  // namespace assay::tensor
