#pragma once
// Blocks that lowering functions are built from: elementwise maps, reductions, copies.
#include <functional>
#include <vector>

#include "tensor/context.h"
#include "tensor/promote.h"

namespace assay::tensor {

// A broadcast operand and the type it is computed in (None: value_type of its dtype).
struct MapIn {
  Operand operand;
  Ty type = Ty::None;
  MapIn(Operand o, Ty t) : operand(std::move(o)), type(t) {}
  MapIn(const Ref& r, Ty t) : type(t) { operand.ref = r; }
};

using MapFn = std::function<V(Expr&, const std::vector<V>&)>;

// out[i] = f(ins[i]...), operands broadcast to out's shape.
void map(Context& c, const Ref& out, const std::vector<MapIn>& ins, const MapFn& f);

// out[i] = value (cast).
void fill(Context& c, const Ref& out, const Scalar& value);
// out[i] = a[i], cast; a broadcasts.
void copy(Context& c, const Ref& out, const Ref& a);

// The shape without `dims` (sorted), or with size 1 in their place.
Shape reduced_shape(const Shape& shape, const std::vector<int>& dims, bool keepdim);
// The kept view of a result: `out` has reduced_shape(keepdim), the result drops its 1s.
Ref drop_dims(const Ref& out, const std::vector<int>& dims, bool keepdim);
// A reduced tensor seen with shape `shape`: stride 0 along dims.
Ref spread_dims(const Ref& reduced, const Shape& shape, const std::vector<int>& dims);

struct Reduction {
  Shape shape;            // iterated box
  std::vector<int> dims;  // sorted: which of its dimensions are reduced
  int64_t count() const;  // elements reduced for each output
};

using PostFn = std::function<V(NestBuilder&, V)>;

// out (shape without dims) [i] = post(reduce over dims of f(ins broadcast to shape)).
void reduce(Context& c, const Reduction& over, ReduceKind kind, const Ref& out,
            const std::vector<MapIn>& ins, const MapFn& f, const PostFn& post = nullptr);
// ArgMax or ArgMin: the row-major index over the reduced dimensions.
void reduce_arg(Context& c, const Reduction& over, ReduceKind kind, const Ref& out,
                const MapIn& in);
// Cumulative sum or product along dim.
void scan(Context& c, ReduceKind kind, const Ref& out, const Ref& in, int dim, Ty type);

// Index of dimension k of the box: space or reduction iterator.
std::vector<Index> box_index(const NestBuilder& b, const Reduction& over);

// mean[i] = sum(x)/n and var[i] = sum((x-mean)^2)/(n - correction) over dims, both F-typed temps
// without the reduced dims; two passes.
struct Moments {
  Ref mean, var;
};
Moments moments(Context& c, const Ref& x, const std::vector<int>& dims, DType type,
                double correction);

// exp(x - m) / sum(exp(x - m)) along dim, m the maximum; logarithmic: x - m - log(sum).
void softmax(Context& c, const Ref& out, const Ref& x, int dim, bool logarithmic);

// Loss reductions: 0 none, 1 mean, 2 sum. `elementwise` is already computed.
void reduce_loss(Context& c, const Ref& out, const Ref& elementwise, int64_t reduction);

}  // namespace assay::tensor
