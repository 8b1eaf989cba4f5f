#pragma once
// Which CTA writes which element, over the whole grid of a launch.
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "base/types.h"
#include "machine/run.h"
#include "tensor/elem_set.h"

namespace assay::check {

// Element -> the first CTA that writes it. A page with one writer holds no words.
class WriterMap {
 public:
  void write(int64_t first, int64_t count, uint32_t cta);
  // 1 + the first CTA that writes the element; 0: none.
  uint32_t writer(int64_t element) const;
  // Further CTAs that write it, or null.
  const std::vector<uint32_t>* more(int64_t element) const;
  int64_t written() const { return written_; }  // elements
  uint64_t bytes() const { return dense_ * kPage * sizeof(uint32_t); }
  // f(first, count, cta) for runs of elements with one first writer, ascending.
  template <class F>
  void for_each_run(F&& f) const;

 private:
  static constexpr int kPageBits = 12;
  static constexpr int64_t kPage = int64_t{1} << kPageBits;
  struct Page {
    std::unique_ptr<uint32_t[]> words;  // null: all of the page has writer `one`
    uint32_t one = 0;
    int32_t count = 0;
  };
  void write_page(Page& page, int64_t base, int64_t from, int64_t to, uint32_t cta);
  void make_words(Page& page);
  void shared(int64_t element, uint32_t cta);

  std::vector<Page> pages_;
  std::unordered_map<int64_t, std::vector<uint32_t>> more_;
  int64_t written_ = 0;
  uint64_t dense_ = 0;
};

template <class F>
void WriterMap::for_each_run(F&& f) const {
  int64_t first = 0, count = 0;
  uint32_t one = 0;
  auto add = [&](int64_t at, int64_t n, uint32_t writer) {
    if (writer == one && first + count == at) {
      count += n;
      return;
    }
    if (one != 0) f(first, count, one - 1);
    first = at, count = n, one = writer;
  };
  for (size_t p = 0; p < pages_.size(); ++p) {
    const auto base = static_cast<int64_t>(p) << kPageBits;
    const Page& page = pages_[p];
    if (page.words == nullptr) {
      add(base, kPage, page.one);
      continue;
    }
    for (int64_t k = 0; k < kPage; ++k) add(base + k, 1, page.words[static_cast<size_t>(k)]);
  }
  if (one != 0) f(first, count, one - 1);
}

struct Coverage {
  struct BufferWriters {
    int64_t elements = 0;
    Ty type = Ty::None;
    WriterMap map;
    bool atomic = false;
  };
  std::unordered_map<int, BufferWriters> buffers;
  bool complete = true;  // false: some store depends on data
  std::string incomplete_why;
  // Too many CTAs to run them all: these were run, of the others the writer of an element is found
  // by prediction and then run (Writers::find).
  bool sampled = false;
  uint64_t sampled_ctas = 0;
  uint64_t out_of_bounds = 0;  // threads
  uint32_t out_of_bounds_pc = 0;
  uint64_t warp_instructions = 0;
};

// Runs the store slice of a launch: of all CTAs, or, beyond the limits, of samples and on demand.
class Writers {
 public:
  // `sliced`: only what stores to global memory need. All references must outlive this.
  Writers(const machine::Kernel& sliced, const machine::Launch& launch,
          const std::vector<machine::BufferEnv>& env);
  Status run();  // errors: those of the machine, but Limit
  const Coverage& coverage() const { return cover_; }
  // 1 + the first CTA that writes the element, 0: none known. Errors: Limit (sampled, and the
  // prediction fails).
  Result<uint32_t> find(int buffer, int64_t element);
  // What one CTA stores to.
  Result<tensor::ElemSet> written_by(int buffer, uint64_t cta);
  // Does any CTA write one of these elements? Runs the whole grid; Limit if that is too long.
  Result<bool> any_writes(int buffer, const std::vector<int64_t>& elements);

 private:
  struct Extent {  // of what one CTA writes to one buffer
    int64_t lo = 0, hi = -1;
    std::vector<std::pair<int64_t, int64_t>> runs;  // (first, count), in the order of execution
  };
  friend class StoreObserver;
  Status run_list(std::vector<uint64_t> ctas, uint64_t limit);
  uint64_t linear(const std::array<uint64_t, 3>& at) const;
  std::vector<uint64_t> samples() const;
  const Extent* extent(uint64_t cta, int buffer);  // runs the CTA if it has not run
  uint32_t predict_affine(int buffer, int64_t element);
  uint32_t predict_from(const std::array<uint64_t, 3>& base, int buffer, int64_t element);
  uint32_t predict_monotone(int buffer, int64_t element);
  bool writes(uint64_t cta, int buffer, int64_t element);

  const machine::Kernel& sliced_;
  const machine::Launch& launch_;
  const std::vector<machine::BufferEnv>& env_;
  std::array<uint64_t, 3> grid_;
  uint64_t num_ctas_;
  Coverage cover_;
  std::unordered_map<uint64_t, std::unordered_map<int, Extent>> extents_;  // of CTAs run (sampled)
};

}  // namespace assay::check
