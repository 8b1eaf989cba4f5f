#pragma once
// Builds one nest: declare the iterators, load operands, write the body as a formula, store.
#include <vector>

#include "tensor/affine.h"
#include "tensor/expr.h"
#include "tensor/ref.h"

namespace assay::tensor {

// An index into one dimension of a Ref: affine in the iterators; guarded: see GuardedDim.
struct Index {
  Affine expr;
  bool guarded = false;
  int64_t div = 1;
  int64_t lo = 0, hi = -1;  // hi == -1: the dimension's size

  Index(Affine e) : expr(std::move(e)) {}  // NOLINT: an affine expression is an index
  static Index guard(Affine e, int64_t div = 1) {
    Index i(std::move(e));
    i.guarded = true;
    i.div = div;
    return i;
  }
};

class NestBuilder {
 public:
  NestBuilder(Shape space, Shape reduction);
  NestBuilder(const NestBuilder&) = delete;
  NestBuilder& operator=(const NestBuilder&) = delete;

  Affine space(int k) const { return affine_iter(k); }
  Affine red(int k) const { return affine_iter(static_cast<int>(nest_.space.size()) + k); }
  std::vector<Index> space_index() const;  // one index for each space iterator

  Expr& body() { return body_; }
  Expr& post() { return post_; }

  // Reads an element and casts it to `ty` (None: value_type of the dtype).
  V load(const Ref& a, const std::vector<Index>& index, Ty ty);
  V load_post(const Ref& a, const std::vector<Index>& index, Ty ty);
  // A read whose dimension `dim` is indexed by the value `by` (a V that is itself a plain read of
  // an integer tensor); index[dim] is ignored. Negative indices wrap if `wraps`.
  V load_indirect(const Ref& a, std::vector<Index> index, int dim, V by, bool wraps, Ty ty);
  // The raw integer read that load_indirect needs.
  V load_index(const Ref& a, const std::vector<Index>& index);

  void guards(OnGuard on, double value);
  // Reduces `value` in its own type; returns the reduced value, for use in post.
  V reduce(ReduceKind kind, V value);
  V reduce_arg(ReduceKind kind, V value, Affine index);
  // Writes `value` (of the body, or of post after reduce), cast to the dtype of `out`.
  void store(const Ref& out, const std::vector<Index>& index, V value);

  // The finished nest: dead nodes and reads removed, iterators merged where every access allows.
  Nest finish();

 private:
  Access access(const Ref& a, const std::vector<Index>& index) const;
  V add_read(std::vector<Access>* reads, Expr* expr, Access access, DType dtype, Ty ty, int bias);

  Nest nest_;
  Expr body_, post_;
};

// Drops size-1 iterators and merges neighbours (row-major order of space and of reduction kept).
void simplify(Nest* nest);

}  // namespace assay::tensor
