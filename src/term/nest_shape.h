#pragma once
// A loop nest prepared for evaluation: which elements results need (demand), and where its accesses
// read, for 32 lanes at a time.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/result.h"
#include "tensor/elem_set.h"
#include "tensor/nest.h"
#include "term/field.h"

namespace assay::term {

inline constexpr size_t kMaxRank = 16;

// A nest with its accesses prepared: space and reduction iterators in one list.
class NestShape {
 public:
  explicit NestShape(const tensor::Nest& nest);

  const tensor::Nest& nest;
  size_t space_rank, total_rank;
  std::vector<int64_t> extents;  // space, then reduction
  bool scan;                     // written for every reduction index
  int64_t reduction_count;

  // Iterators (space; for scans also the scan index) of a written element. False: not written here.
  bool invert(int64_t element, int64_t* iters) const;
  // The elements that are written, where they lie side by side: first and count.
  std::optional<std::pair<int64_t, int64_t>> dense() const;
  // Results from `iters` on that lie one element apart along one iterator, and that iterator.
  int64_t line(const int64_t* iters, size_t* along) const;

 private:
  struct Digit {
    size_t iter;
    int64_t stride, extent;
  };
  std::vector<Digit> digits_;  // by descending |stride|
  int64_t base_;
};

// Sums and products alone: what is known of the order, the roots or the cases of values that lie
// deeper than the operands does not matter to it.
bool is_ring(const tensor::Nest& nest);

int64_t eval_affine(const tensor::Affine& a, const int64_t* iters, size_t rank);

// The elements of each operand buffer that results `wanted` (elements of the written buffer) read.
// Indirect reads want their whole index range. reads: one set a read, then one a post_read.
void nest_demand(const NestShape& shape, const tensor::ElemSet& wanted,
                 std::vector<tensor::ElemSet>& reads);

// Iterators of 32 lanes, one array an iterator.
struct LaneIters {
  int64_t at[kMaxRank][kRow];
};
// out[l] = sum of a's terms over iterators [from, to) of lane l, without the constant.
void lane_affine(const tensor::Affine& a, const LaneIters& iters, size_t from, size_t to,
                 int64_t* out);

// Up to 32 consecutive iterations of the flattened reduction; `first` is advanced.
class ReductionBlock {
 public:
  explicit ReductionBlock(const NestShape& shape) : shape_(shape) {}
  void restart();
  // The next n iterations into lanes [0, n) of `out`, reduction iterators only.
  void next(int n, LaneIters& out);

 private:
  const NestShape& shape_;
  int64_t index_[kMaxRank] = {};
};

// The terms of an access in 32 lanes: its offset, then the expression of each guard; kRow numbers
// each. A read in lane l of iteration j is at the sum of the results' terms and the iteration's.
using Terms = std::vector<int64_t>;
// Over space iterators, with the constants.
void space_terms(const tensor::Access& a, const LaneIters& iters, size_t space_rank, Terms& out);
// Over reduction iterators, without the constants.
void reduction_terms(const tensor::Access& a, const LaneIters& iters, size_t from, size_t to,
                     Terms& out);
bool all_equal(const Terms& terms);  // every lane reads the same
bool depends_on(const tensor::Access& a, size_t from, size_t to);

// Elements read in the lanes of `space` in iteration j of `reduction`, and the lanes whose guards
// hold.
uint32_t place_results(const tensor::Access& a, const Terms& space, const Terms& reduction, int j,
                       int64_t* elements);
// Elements read for the result in lane 0 of `space` in 32 iterations, and the iterations whose
// guards hold.
uint32_t place_iterations(const tensor::Access& a, const Terms& space, const Terms& reduction,
                          int64_t* elements);

}  // namespace assay::term
