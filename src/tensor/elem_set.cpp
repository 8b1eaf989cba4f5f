#include "tensor/elem_set.h"

#include <algorithm>
#include <cstring>

namespace assay::tensor {

namespace {
constexpr int64_t number_of(int64_t element) { return element >> ElemSet::kPageBits; }
constexpr int bit_of(int64_t element) { return static_cast<int>(element & (ElemSet::kPage - 1)); }
}  // namespace

ElemSet::Page& ElemSet::page(int64_t number) {
  if (last_ != nullptr && last_number_ == number) return *last_;
  auto [it, added] = pages_.try_emplace(number);
  if (added) it->second.words = std::make_unique<uint64_t[]>(kWords);
  last_ = &it->second;
  last_number_ = number;
  return *last_;
}

const ElemSet::Page* ElemSet::find(int64_t number) const {
  if (last_ != nullptr && last_number_ == number) return last_;
  auto it = pages_.find(number);
  return it == pages_.end() ? nullptr : &it->second;
}

void ElemSet::make_words(Page* p) {
  if (p->words) return;
  p->words = std::make_unique<uint64_t[]>(kWords);
  std::memset(p->words.get(), 0xff, kWords * sizeof(uint64_t));
}

bool ElemSet::insert(int64_t element) {
  Page& p = page(number_of(element));
  if (p.full()) return false;
  int bit = bit_of(element);
  uint64_t mask = uint64_t{1} << (bit & 63);
  uint64_t& w = p.words[bit >> 6];
  if (w & mask) return false;
  w |= mask;
  ++count_;
  if (++p.count == kPage) make_full(&p);
  return true;
}

// Bits [from, to) of one page.
void ElemSet::insert_bits(Page* p, int from, int to) {
  if (p->full()) return;
  int before = p->count;
  if (to - from == kPage) {
    make_full(p);
  } else {
    for (int k = from >> 6; k <= (to - 1) >> 6; ++k) {
      int lo = std::max(from - k * 64, 0), hi = std::min(to - k * 64, 64);
      uint64_t mask = hi - lo == 64 ? ~uint64_t{0} : ((uint64_t{1} << (hi - lo)) - 1) << lo;
      uint64_t& w = p->words[k];
      p->count += std::popcount(mask & ~w);
      w |= mask;
    }
    if (p->full()) p->words.reset();
  }
  count_ += p->count - before;
}

void ElemSet::insert_range(int64_t first, int64_t count, int64_t stride) {
  if (count <= 0) return;
  if (stride == 0) count = 1;
  if (stride < 0) {
    first += stride * (count - 1);
    stride = -stride;
  }
  if (stride == 1 || count == 1) {
    int64_t end = first + count;
    while (first < end) {
      int64_t stop = std::min(end, (number_of(first) + 1) * kPage);
      int from = bit_of(first);
      insert_bits(&page(number_of(first)), from, from + static_cast<int>(stop - first));
      first = stop;
    }
    return;
  }
  for (int64_t k = 0; k < count; ++k) insert(first + k * stride);
}

bool ElemSet::contains(int64_t element) const {
  const Page* p = find(number_of(element));
  if (p == nullptr) return false;
  int bit = bit_of(element);
  return (word(*p, bit >> 6) >> (bit & 63)) & 1;
}

void ElemSet::clear() {
  pages_.clear();
  count_ = 0;
  last_ = nullptr;
}

void ElemSet::recount(Page* p) {
  if (!p->words) return;
  int n = 0;
  for (int k = 0; k < kWords; ++k) n += std::popcount(p->words[k]);
  p->count = n;
  if (p->full()) p->words.reset();
}

void ElemSet::unite(const ElemSet& other) {
  if (&other == this) return;
  for (const auto& [number, theirs] : other.pages_) {
    Page& p = page(number);
    int before = p.count;
    if (theirs.full()) {
      make_full(&p);
    } else if (!p.full()) {
      for (int k = 0; k < kWords; ++k) p.words[k] |= theirs.words[k];
      recount(&p);
    }
    count_ += p.count - before;
  }
}

void ElemSet::intersect(const ElemSet& other) {
  last_ = nullptr;
  for (auto it = pages_.begin(); it != pages_.end();) {
    Page& p = it->second;
    const Page* theirs = &other == this ? &p : other.find(it->first);
    int before = p.count;
    if (theirs == nullptr) {
      p.count = 0;
    } else if (!theirs->full()) {
      make_words(&p);
      for (int k = 0; k < kWords; ++k) p.words[k] &= theirs->words[k];
      recount(&p);
    }
    count_ += p.count - before;
    it = p.count == 0 ? pages_.erase(it) : std::next(it);
  }
}

void ElemSet::subtract(const ElemSet& other) {
  if (&other == this) return clear();
  last_ = nullptr;
  for (auto it = pages_.begin(); it != pages_.end();) {
    Page& p = it->second;
    const Page* theirs = other.find(it->first);
    int before = p.count;
    if (theirs != nullptr) {
      make_words(&p);
      for (int k = 0; k < kWords; ++k) p.words[k] &= ~word(*theirs, k);
      recount(&p);
    }
    count_ += p.count - before;
    it = p.count == 0 ? pages_.erase(it) : std::next(it);
  }
}

ElemSet ElemSet::within(int64_t first, int64_t count) const {
  ElemSet out;
  if (count <= 0) return out;
  const int64_t end = first + count;
  for (auto it = pages_.lower_bound(number_of(first));
       it != pages_.end() && it->first * kPage < end; ++it) {
    const int64_t base = it->first * kPage;
    const int from = static_cast<int>(std::max<int64_t>(first - base, 0));
    const int to = static_cast<int>(std::min(end - base, kPage));
    out.insert_bits(&out.page(it->first), from, to);
    if (!it->second.full()) {
      Page& p = out.page(it->first);
      make_words(&p);
      const int before = p.count;
      for (int k = 0; k < kWords; ++k) p.words[k] &= it->second.words[k];
      out.recount(&p);
      out.count_ += p.count - before;
    }
    if (out.page(it->first).count == 0) {
      out.last_ = nullptr;
      out.pages_.erase(it->first);
    }
  }
  return out;
}

bool ElemSet::is_subset_of(const ElemSet& other) const {
  for (const auto& [number, p] : pages_) {
    const Page* theirs = other.find(number);
    if (theirs == nullptr) return false;
    if (theirs->full()) continue;
    if (p.count > theirs->count) return false;
    for (int k = 0; k < kWords; ++k) {
      if (word(p, k) & ~theirs->words[k]) return false;
    }
  }
  return true;
}

bool ElemSet::operator==(const ElemSet& other) const {
  return count_ == other.count_ && is_subset_of(other);
}

int64_t ElemSet::front() const {
  const auto& [number, p] = *pages_.begin();
  for (int k = 0; k < kWords; ++k) {
    if (uint64_t w = word(p, k)) return number * kPage + k * 64 + std::countr_zero(w);
  }
  return number * kPage;
}

int64_t ElemSet::back() const {
  const auto& [number, p] = *pages_.rbegin();
  for (int k = kWords - 1; k >= 0; --k) {
    if (uint64_t w = word(p, k)) return number * kPage + k * 64 + 63 - std::countl_zero(w);
  }
  return number * kPage;
}

}  // namespace assay::tensor
