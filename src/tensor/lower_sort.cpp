// Sorting by ranks: rank_j = how many elements come before element j, ties by position; then
// out[t] is the element whose rank is t. Quadratic, but a fixed graph without data-dependent
// control. Where PyTorch leaves the order of ties open this takes the first.
#include <fmt/format.h>

#include "tensor/blocks.h"
#include "tensor/ops.h"

namespace assay::tensor {
namespace {

// ranks[..., j, ...] along dim.
Ref ranks_of(Context& c, const Ref& x, int dim, bool descending) {
  Ref ranks = c.temp(DType::I64, x.shape);
  if (c.failed()) return ranks;
  Ty ty = program::dtype_ty(x.dtype);
  NestBuilder b(x.shape, {x.shape[dim]});
  std::vector<Index> mine = b.space_index(), theirs = mine;
  theirs[dim] = Index(b.red(0));
  V own = cast(b.load(x, mine, Ty::None), ty), other = cast(b.load(x, theirs, Ty::None), ty);
  V ahead = compare(descending ? Fn::Gt : Fn::Lt, other, own);
  V earlier = compare(Fn::Gt, b.body().iter(b.space(dim) + b.red(0) * -1), 0.0);
  V before = either(ahead, both(compare(Fn::Eq, other, own), earlier));
  b.store(ranks, mine, b.reduce(ReduceKind::Sum, cast(before, Ty::S64)));
  c.push(b);
  return ranks;
}

// out[..., t, ...] = the element (or its position) whose rank is t + first.
void pick_rank(Context& c, const Ref& out, const Ref& x, const Ref& ranks, int dim, int64_t first,
               bool positions) {
  if (c.failed()) return;
  NestBuilder b(out.shape, {x.shape[dim]});
  std::vector<Index> index = b.space_index(), from = index;
  from[dim] = Index(b.red(0));
  Expr& e = b.body();
  V hit = eq(b.load(ranks, from, Ty::S64), e.iter(b.space(dim) + first));
  V value = positions ? e.iter(b.red(0)) : b.load(x, from, Ty::None);
  if (value.ty == Ty::Pred) value = cast(value, Ty::U8);
  // Exactly one hit: the sum is that element.
  V sum = b.reduce(ReduceKind::Sum, select(hit, value, e.constant(0, value.ty)));
  b.store(out, index, sum);
  c.push(b);
}

void one_element(Context& c, const Ref& x, size_t values, size_t indices) {
  copy(c, c.out(values, x.dtype, {}), x);
  fill(c, c.out(indices, DType::I64, {}), int64_t{0});
}

}  // namespace

// topk (values, indices), sorted whatever the flag says.
void lower_topk(Context& c) {
  Ref x = c.tensor("self");
  int64_t k = c.integer("k");
  bool largest = c.flag("largest", true);
  int dim = c.wrap_dim(c.integer("dim", -1), x.rank());
  if (k < 0 || (x.rank() > 0 && k > x.shape[dim]) || (x.rank() == 0 && k > 1)) {
    return c.invalid("k is out of range");
  }
  if (x.rank() == 0) return one_element(c, x, 0, 1);
  Shape shape = x.shape;
  shape[dim] = k;
  Ref values = c.out(0, x.dtype, shape), indices = c.out(1, DType::I64, shape);
  if (c.failed() || shape_numel(shape) == 0) return;
  if (k == 1) {
    Reduction over{x.shape, {dim}};
    Ty ty = program::dtype_ty(x.dtype);
    reduce(c, over, largest ? ReduceKind::Max : ReduceKind::Min, squeeze(values, dim), {{x, ty}},
           [](Expr&, const std::vector<V>& v) { return v[0]; });
    return reduce_arg(c, over, largest ? ReduceKind::ArgMax : ReduceKind::ArgMin,
                      squeeze(indices, dim), {x, ty});
  }
  Ref ranks = ranks_of(c, x, dim, largest);
  pick_rank(c, values, x, ranks, dim, 0, false);
  pick_rank(c, indices, x, ranks, dim, 0, true);
}

// sort (values, indices), argsort (indices): stable.
void lower_sort(Context& c) {
  Ref x = c.tensor("self");
  int dim = c.wrap_dim(c.integer("dim", -1), x.rank());
  bool descending = c.flag("descending"), arg = c.base() == "argsort";
  if (x.rank() == 0) {
    if (arg) return fill(c, c.out(0, DType::I64, {}), int64_t{0});
    return one_element(c, x, 0, 1);
  }
  std::optional<Ref> values;
  if (!arg) values = c.out(0, x.dtype, x.shape);
  Ref indices = c.out(arg ? 0 : 1, DType::I64, x.shape);
  Ref ranks = ranks_of(c, x, dim, descending);
  if (values) pick_rank(c, *values, x, ranks, dim, 0, false);
  pick_rank(c, indices, x, ranks, dim, 0, true);
}

// kthvalue, median.dim (values, indices) and median: the element of one rank.
void lower_kthvalue(Context& c) {
  Ref x = c.tensor("self");
  bool median = c.base() == "median", whole = median && !c.given("dim");
  if (whole) {
    Ref flat = c.temp(x.dtype, x.shape);
    copy(c, flat, x);
    flat.shape = {shape_numel(x.shape)};
    flat.strides = {1};
    x = flat;
  }
  int dim = whole ? 0 : c.wrap_dim(c.integer("dim", -1), x.rank());
  if (x.rank() == 0) return one_element(c, x, 0, 1);
  int64_t n = x.shape[dim], k = median ? (n + 1) / 2 : c.integer("k");
  if (k < 1 || k > n) return c.invalid("k is out of range");
  bool keepdim = c.flag("keepdim");
  auto out = [&](size_t index, DType dtype) {
    Ref r = c.out(index, dtype, whole ? Shape{} : reduced_shape(x.shape, {dim}, keepdim));
    return keepdim && !whole ? r : unsqueeze(r, dim);
  };
  Ref values = out(0, x.dtype);
  Ref ranks = ranks_of(c, x, dim, false);
  pick_rank(c, values, x, ranks, dim, k - 1, false);
  if (!whole) pick_rank(c, out(1, DType::I64), x, ranks, dim, k - 1, true);
}

// bucketize, searchsorted with one row of boundaries: how many of them are below the value; right:
// below or equal.
void lower_bucketize(Context& c) {
  Ref x = c.tensor("self"), sorted = c.tensor("boundaries");
  if (sorted.rank() != 1) return c.invalid("boundaries must have rank 1");
  if (x.dtype != sorted.dtype) return c.unsupported("boundaries of another dtype");
  Ref out = c.out(0, c.flag("out_int32") ? DType::I32 : DType::I64, x.shape);
  if (c.failed()) return;
  Ty ty = program::dtype_ty(x.dtype);
  NestBuilder b(x.shape, sorted.shape);
  V value = cast(b.load(x, b.space_index(), Ty::None), ty);
  V bound = cast(b.load(sorted, {Index(b.red(0))}, Ty::None), ty);
  V below = compare(c.flag("right") ? Fn::Le : Fn::Lt, bound, value);
  b.store(out, b.space_index(), b.reduce(ReduceKind::Sum, cast(below, Ty::S64)));
  c.push(b);
}

}  // namespace assay::tensor
