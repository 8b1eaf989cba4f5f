#pragma once
// Shadow memory of the hazard tracker: for each cell (4 bytes, or 2 or 1 once narrower accesses
// occur) the last writer, the readers since and the atomics since. Pages of 4 KiB of data are made
// when first touched; arrays, not records, so that runs of cells are checked with vector compares.
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "machine/hazard_packed.h"
#include "machine/hazard_runs.h"

namespace assay::machine {

inline constexpr uint32_t kPageShift = 12;
inline constexpr uint32_t kPageBytes = 1u << kPageShift;
inline constexpr int32_t kNoAccess = -1;       // no access; for writes: uninitialised
inline constexpr int32_t kBeforeLaunch = 0;    // written before every launch
inline constexpr uint32_t kStrong = 1u << 16;  // flag beside a thread number

// A set of accesses of one kind to each cell. Threads are warp * 32 + lane, with kStrong. `warps`
// and `lanes`: who took part since the last order point of the CTA `cta`; `lanes` is exact if one
// warp did. thread and pc belong to the latest access.
struct AccessSet {
  explicit AccessSet(uint32_t cells);
  void copy_cell(const AccessSet& from, uint32_t cell);
  void swap_cell(AccessSet* with, uint32_t cell);
  std::vector<int32_t> when;
  std::vector<uint32_t> cta, warps, lanes, thread, pc;
  static uint64_t bytes(uint32_t cells) { return 24ull * cells; }
};

struct WriterSet {
  WriterSet(uint32_t cells, int32_t initial);
  std::vector<int32_t> when;
  std::vector<uint32_t> cta, thread, pc;
  static uint64_t bytes(uint32_t cells) { return 16ull * cells; }
};

struct ShadowPage {
  explicit ShadowPage(bool initialised);
  uint32_t shift = 2;  // log2 of the bytes of a cell
  uint32_t cells() const { return kPageBytes >> shift; }
  void split(uint32_t new_shift);  // to smaller cells, each inheriting its cell's state
  uint64_t bytes() const;
  // Fields of a cell and those behind it; readers only if they exist.
  RunCells run(uint32_t cell);
  AccessSet& make_reads();
  AccessSet& make_atomics();
  // f(cta) for the CTAs that accesses since `launch_start` are noted of, some of them repeatedly.
  template <class F>
  void for_each_cta(int32_t launch_start, F&& f) const;
  // Only while all these CTAs have ended and no other thread knows anything of them: the times of
  // their accesses become the latest one's, those of earlier launches one time before this one.
  void pack(int32_t launch_start, TablePool* pool);
  void unpack();

  WriterSet writes;
  std::unique_ptr<AccessSet> reads, atomics;  // made at the first one
  // The same of one more CTA: what two CTAs did is kept apart, so that a CTA that writes later
  // finds another one's access beside its own.
  std::unique_ptr<AccessSet> other_reads, other_atomics;
  std::vector<PackedField> packed;  // not empty: all fields of these sets, which are empty arrays

 private:
  template <class F>
  void for_each_field(F&& f);
};

template <class F>
void ShadowPage::for_each_cta(int32_t launch_start, F&& f) const {
  const auto look = [&](const std::vector<int32_t>& when, const std::vector<uint32_t>& cta) {
    for (size_t i = 0; i < when.size(); ++i) {
      if (when[i] >= launch_start && (i == 0 || cta[i] != cta[i - 1] || when[i - 1] < launch_start))
        f(cta[i]);
    }
  };
  look(writes.when, writes.cta);
  for (const auto* set : {&reads, &atomics, &other_reads, &other_atomics}) {
    if (*set != nullptr) look((*set)->when, (*set)->cta);
  }
}

class Shadow {
 public:
  Shadow(uint64_t bytes, bool initialised) : initialised_(initialised), size_(bytes) {
    pages_.resize((bytes + kPageBytes - 1) >> kPageShift);
  }
  // The page of a byte offset (in range); made if needed.
  ShadowPage& page(uint64_t offset) {
    std::unique_ptr<ShadowPage>& p = pages_[offset >> kPageShift];
    if (p == nullptr) p = std::make_unique<ShadowPage>(initialised_);
    if (!p->packed.empty()) p->unpack();
    return *p;
  }
  // f(page) for the pages there are.
  template <class F>
  void for_each_page(F&& f) {
    for (std::unique_ptr<ShadowPage>& p : pages_) {
      if (p != nullptr) f(*p);
    }
  }
  bool has_page(uint64_t offset) const { return pages_[offset >> kPageShift] != nullptr; }
  // Whether there is a page that is not packed.
  bool has_open_page(uint64_t offset) const {
    const std::unique_ptr<ShadowPage>& p = pages_[offset >> kPageShift];
    return p != nullptr && p->packed.empty();
  }
  uint64_t page_bytes(uint64_t offset) const {
    const std::unique_ptr<ShadowPage>& p = pages_[offset >> kPageShift];
    return p == nullptr ? 0 : p->bytes();
  }
  void mark_initialised(uint64_t offset, uint64_t bytes);
  uint64_t size() const { return size_; }

 private:
  std::vector<std::unique_ptr<ShadowPage>> pages_;
  bool initialised_;
  uint64_t size_;
};

// lane_table(k)[i] == i >> k and lane_bit_table(k)[i] == 1 << (i >> k), for i < 32 << k, k < 6:
// lanes of a run in which each lane covers 2^k cells.
const uint32_t* lane_table(uint32_t log2_cells);
const uint32_t* lane_bit_table(uint32_t log2_cells);

}  // namespace assay::machine
