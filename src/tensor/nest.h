#pragma once
// Per-element semantics of tensor operators: every operator lowers to a sequence of loop nests.
//
//   out[w(i)] = reduce over r in R of body(in_0[a_0(i, r)], in_1[a_1(i, r)], ...)
//
// i runs over `space`, r over `reduction`. Accesses are affine in (i, r), with guards (padding,
// dilation, transposed convolution) and one indirection (gather, embedding). Evaluators (support,
// field, f64, IEEE) are written once for nests, in src/term, not once for each operator.
#include <cstdint>
#include <string>
#include <vector>

#include "base/fn.h"
#include "base/result.h"
#include "program/program.h"

namespace assay::tensor {

// constant + sum_k coeff[k] * iter[k]; iter = space iterators, then reduction iterators.
struct Affine {
  int64_t constant = 0;
  std::vector<int64_t> coeff;
};

// A dimension that is guarded and possibly strided: it holds iff expr % div == 0 and
// lo <= expr / div < hi; it then adds stride * (expr / div) to the offset.
struct GuardedDim {
  Affine expr;
  int64_t div = 1;
  int64_t lo = 0, hi = 0;
  int64_t stride = 0;
};

// Where an access reads: element `offset(i,r) + sum of guarded dims + sum of index * stride`.
struct Access {
  int operand = 0;  // index in Lowered::tensors
  Affine offset;    // in elements, relative to the operand's buffer (its view offset is included)
  std::vector<GuardedDim> guarded;
  // Indirect: the integer value of reads[index_read] (an earlier read of the same nest) times
  // stride is added; negative values wrap by `wrap` if it is > 0. Out of [lo, hi): outside the
  // domain.
  int index_read = -1;
  int64_t index_stride = 0, index_lo = 0, index_hi = 0, index_wrap = 0;
};

// Body: operands are read values, constants, iterators or earlier body nodes.
struct BodyNode {
  enum class Kind : uint8_t { Read, Const, Iter, Apply } kind = Kind::Apply;
  Fn fn = Fn::Add;
  Ty type = Ty::F32;  // compute type of the node
  Mods mods;
  int arg[3] = {-1, -1, -1};
  int read = -1;     // Read: index in reads
  double value = 0;  // Const (a Python scalar already rounded to the compute type, as PyTorch does)
  int64_t ivalue = 0;  // Const of integer type
  Affine iter;         // Iter: integer value, affine in the iterators
};

// If a guard of a read fails: Skip drops the whole term from the reduction (or, without reduction,
// leaves `guard_value`); Value uses guard_value for the read (zero padding: 0).
enum class OnGuard : uint8_t { Skip, Value };

enum class ReduceKind : uint8_t {
  None,
  Sum,
  Prod,
  Max,
  Min,
  ArgMax,
  ArgMin,  // result: `arg_index` of the first best element, int64
  Any,
  All,
  ScanSum,
  ScanProd  // inclusive along the single reduction iterator; out written for every r
};

struct Nest {
  std::vector<int64_t> space;
  std::vector<int64_t> reduction;
  std::vector<Access> reads;
  OnGuard on_guard = OnGuard::Value;
  double guard_value = 0;
  std::vector<BodyNode> body;  // topologically ordered; the last node is the value
  ReduceKind reduce = ReduceKind::None;
  Ty acc_type = Ty::F32;       // accumulator type (IEEE evaluation)
  Affine arg_index;            // ArgMax/ArgMin: the index that element (i, r) stands for
  bool nan_propagates = true;  // Max, Min, ArgMax, ArgMin: as PyTorch
  // Applied once to the reduced value (post node Read 0), e.g. division by the count; empty: none.
  // Further reads of post are post_reads[k] (Read k+1), functions of i alone.
  std::vector<Access> post_reads;
  std::vector<BodyNode> post;
  Access write;  // operand written; affine, no guards, injective over space
  Ty out_type = Ty::F32;
};

// A lowered operator: tensors[0..] are views (operands, then temporaries, then outputs).
struct Lowered {
  struct Tensor {
    program::TensorView view;  // buffer -1 and is_temp: a temporary of this lowering, contiguous
    bool is_temp = false;
  };
  std::vector<Tensor> tensors;
  std::vector<Nest> nests;  // in order
};

// One row of src/tensor/ops.def. Errors: Invalid (shapes, dtypes), Unsupported (operator,
// attribute).
Result<Lowered> lower(const program::OpStep& step);

// Shapes, dtypes (contiguous unless the operator returns views) of the outputs, from the arguments.
struct OutputSpec {
  program::DType dtype;
  std::vector<int64_t> shape;
};
Result<std::vector<OutputSpec>> infer(const std::string& op, const std::vector<program::Arg>& args);

}  // namespace assay::tensor
