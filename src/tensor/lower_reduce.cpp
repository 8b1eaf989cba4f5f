// Reductions over dimensions: sums, products, extrema, arg-extrema, variances, norms.
#include <fmt/format.h>

#include <cmath>

#include "tensor/blocks.h"
#include "tensor/ops.h"

namespace assay::tensor {
namespace {

V first(Expr&, const std::vector<V>& v) { return v[0]; }

// The reduced dimensions: argument `dim` (int, list or None), all dimensions if it is absent.
std::vector<int> dims_argument(Context& c, const Ref& x) {
  return c.wrap_dims(c.ints("dim"), x.rank(), true);
}

// Output 0 with the reduced shape, seen without the reduced dimensions.
Ref reduced_out(Context& c, size_t k, DType dtype, const Ref& x, const std::vector<int>& dims) {
  bool keepdim = c.flag("keepdim");
  return drop_dims(c.out(k, dtype, reduced_shape(x.shape, dims, keepdim)), dims,
                   keepdim && x.rank() > 0);
}

DType sum_dtype(Context& c, const Ref& x) {
  if (auto d = c.dtype("dtype")) return *d;
  return program::dtype_is_float(x.dtype) ? x.dtype : DType::I64;
}

}  // namespace

// sum, mean, prod. The accumulator is float32 for half types.
void lower_sum(Context& c) {
  Ref x = c.tensor("self");
  std::vector<int> dims = dims_argument(c, x);
  bool mean = c.base() == "mean";
  DType dtype = mean ? c.dtype("dtype").value_or(x.dtype) : sum_dtype(c, x);
  if (mean && !program::dtype_is_float(dtype)) return c.invalid("needs a floating-point tensor");
  Ref out = reduced_out(c, 0, dtype, x, dims);
  Reduction over{x.shape, dims};
  double n = static_cast<double>(over.count());
  Ty ty = compute_type(dtype);
  if (ty == Ty::Pred) ty = Ty::S64;
  bool nan_as_zero = c.base() == "nansum";
  reduce(
      c, over, c.base() == "prod" ? ReduceKind::Prod : ReduceKind::Sum, out, {{x, ty}},
      [&](Expr& e, const std::vector<V>& v) {
        return nan_as_zero ? select(is_nan(v[0]), e.constant(0, ty), v[0]) : v[0];
      },
      [&](NestBuilder&, V total) { return mean ? total / n : total; });
}

namespace {
bool empty_reduction(Context& c, const Reduction& over) {
  if (over.count() != 0) return false;
  c.invalid("an extremum over no elements");
  return true;
}
}  // namespace

// amax, amin, and max, min without a dimension.
void lower_extremum(Context& c) {
  Ref x = c.tensor("self");
  std::vector<int> dims = dims_argument(c, x);
  Ref out = reduced_out(c, 0, x.dtype, x, dims);
  Reduction over{x.shape, dims};
  if (empty_reduction(c, over)) return;
  bool largest = c.base() == "amax" || c.base() == "max";
  reduce(c, over, largest ? ReduceKind::Max : ReduceKind::Min, out,
         {{x, program::dtype_ty(x.dtype)}}, first);
}

void lower_aminmax(Context& c) {
  Ref x = c.tensor("self");
  std::vector<int> dims = dims_argument(c, x);
  Reduction over{x.shape, dims};
  if (empty_reduction(c, over)) return;
  Ty ty = program::dtype_ty(x.dtype);
  reduce(c, over, ReduceKind::Min, reduced_out(c, 0, x.dtype, x, dims), {{x, ty}}, first);
  reduce(c, over, ReduceKind::Max, reduced_out(c, 1, x.dtype, x, dims), {{x, ty}}, first);
}

// max.dim, min.dim: (values, indices), the first index on ties.
void lower_extremum_dim(Context& c) {
  Ref x = c.tensor("self");
  std::vector<int> dims = c.wrap_dims({c.integer("dim")}, x.rank(), false);
  Ref values = reduced_out(c, 0, x.dtype, x, dims);
  Ref indices = reduced_out(c, 1, DType::I64, x, dims);
  Reduction over{x.shape, dims};
  if (empty_reduction(c, over)) return;
  bool largest = c.base() == "max";
  Ty ty = program::dtype_ty(x.dtype);
  reduce(c, over, largest ? ReduceKind::Max : ReduceKind::Min, values, {{x, ty}}, first);
  reduce_arg(c, over, largest ? ReduceKind::ArgMax : ReduceKind::ArgMin, indices, {x, ty});
}

// argmax, argmin: the first index on ties, of the flattened tensor if dim is None.
void lower_arg_extremum(Context& c) {
  Ref x = c.tensor("self");
  std::vector<int> dims = dims_argument(c, x);
  Ref out = reduced_out(c, 0, DType::I64, x, dims);
  Reduction over{x.shape, dims};
  if (empty_reduction(c, over)) return;
  reduce_arg(c, over, c.base() == "argmax" ? ReduceKind::ArgMax : ReduceKind::ArgMin, out,
             {x, program::dtype_ty(x.dtype)});
}

void lower_any(Context& c) {
  Ref x = c.tensor("self");
  std::vector<int> dims = dims_argument(c, x);
  DType dtype = x.dtype == DType::U8 ? DType::U8 : DType::Bool;
  Ref out = reduced_out(c, 0, dtype, x, dims);
  reduce(c, {x.shape, dims}, c.base() == "any" ? ReduceKind::Any : ReduceKind::All, out,
         {{x, Ty::None}}, [](Expr&, const std::vector<V>& v) { return cast(v[0], Ty::Pred); });
}

void lower_count_nonzero(Context& c) {
  Ref x = c.tensor("self");
  std::vector<int> dims = dims_argument(c, x);
  Ref out = reduced_out(c, 0, DType::I64, x, dims);
  reduce(c, {x.shape, dims}, ReduceKind::Sum, out, {{x, Ty::None}},
         [](Expr&, const std::vector<V>& v) { return cast(cast(v[0], Ty::Pred), Ty::S64); });
}

// log(sum(exp(x - m))) + m with m = max(x), 0 where it is infinite.
void lower_logsumexp(Context& c) {
  Ref x = c.tensor("self");
  std::vector<int> dims = dims_argument(c, x);
  DType dtype = float_result(x.dtype);
  Ref out = reduced_out(c, 0, dtype, x, dims);
  Reduction over{x.shape, dims};
  if (empty_reduction(c, over)) return;
  Ty ty = compute_type(dtype);
  DType wide = dtype == DType::F64 ? DType::F64 : DType::F32;
  Ref m = c.temp(wide, reduced_shape(x.shape, dims, false));
  reduce(c, over, ReduceKind::Max, m, {{x, ty}}, first, [&](NestBuilder& b, V best) {
    V infinite = compare(Fn::Eq, call(Fn::Abs, best), INFINITY);
    return select(infinite, b.post().constant(0, ty), best);
  });
  reduce(
      c, over, ReduceKind::Sum, out, {{x, ty}, {spread_dims(m, x.shape, dims), ty}},
      [](Expr&, const std::vector<V>& v) { return call(Fn::Exp, v[0] - v[1]); },
      [&](NestBuilder& b, V sum) {
        return call(Fn::Log, sum) + b.load_post(m, b.space_index(), ty);
      });
}

// var, std, var_mean, std_mean: two passes, divided by max(0, n - correction).
void lower_var(Context& c) {
  Ref x = c.tensor("self");
  if (!program::dtype_is_float(x.dtype)) return c.invalid("needs a floating-point tensor");
  std::vector<int> dims = dims_argument(c, x);
  double correction = c.number("correction", c.flag("unbiased", true) ? 1 : 0);
  bool root = c.base().starts_with("std");
  Ref out = reduced_out(c, 0, x.dtype, x, dims);
  DType wide = x.dtype == DType::F64 ? DType::F64 : DType::F32;
  Moments m = moments(c, x, dims, wide, correction);
  map(c, out, {{m.var, Ty::None}},
      [root](Expr&, const std::vector<V>& v) { return root ? call(Fn::Sqrt, v[0]) : v[0]; });
  if (c.base().ends_with("_mean")) copy(c, reduced_out(c, 1, x.dtype, x, dims), m.mean);
}

namespace {

// out = (sum |x|^p)^(1/p) over dims, with its limits for p = 0 and +-inf.
void vector_norm(Context& c, const Ref& out, const Ref& x, const std::vector<int>& dims, double p,
                 Ty ty) {
  Reduction over{x.shape, dims};
  if (std::isinf(p)) {
    if (empty_reduction(c, over)) return;
    return reduce(c, over, p > 0 ? ReduceKind::Max : ReduceKind::Min, out, {{x, ty}},
                  [](Expr&, const std::vector<V>& v) { return call(Fn::Abs, v[0]); });
  }
  reduce(
      c, over, ReduceKind::Sum, out, {{x, ty}},
      [&](Expr& e, const std::vector<V>& v) {
        if (p == 0) return cast(ne(v[0], e.constant(0, ty)), ty);
        if (p == 2) return v[0] * v[0];
        V a = call(Fn::Abs, v[0]);
        return p == 1 ? a : call(Fn::Pow, a, e.scalar(p, ty));
      },
      [&](NestBuilder&, V sum) {
        if (p == 0 || p == 1) return sum;
        if (p == 2) return call(Fn::Sqrt, sum);
        return call(Fn::Pow, sum, 1.0 / sum.expr->scalar(p, ty));
      });
}

}  // namespace

// linalg_vector_norm (ord) and norm (p, 2 if None).
void lower_vector_norm(Context& c) {
  Ref x = c.tensor("self");
  std::vector<int> dims = dims_argument(c, x);
  DType dtype = c.dtype("dtype").value_or(x.dtype);
  if (!program::dtype_is_float(dtype)) return c.invalid("needs a floating-point tensor");
  double p = c.given("ord") ? c.number("ord") : c.number("p", 2);
  vector_norm(c, reduced_out(c, 0, dtype, x, dims), x, dims, p, compute_type(dtype));
}

void lower_cumulative(Context& c) {
  Ref x = c.tensor("self");
  DType dtype = sum_dtype(c, x);
  if (c.in_place()) dtype = x.dtype;
  Ref out = c.out(0, dtype, x.shape);
  int dim = c.wrap_dim(c.integer("dim"), x.rank());
  if (x.rank() == 0) return copy(c, out, x);
  Ty ty = compute_type(dtype);
  scan(c, c.base() == "cumsum" ? ReduceKind::ScanSum : ReduceKind::ScanProd, out, x, dim,
       ty == Ty::Pred ? Ty::S64 : ty);
}

// cummax, cummin, logcumsumexp: for each position a reduction over the elements up to it (a guard
// of stride 0 drops the later ones).
void lower_prefix(Context& c) {
  Ref x = c.tensor("self");
  Ref out = c.out(0, x.dtype, x.shape);
  int dim = c.wrap_dim(c.integer("dim"), x.rank());
  if (x.rank() == 0) return c.unsupported("rank 0");
  if (!program::dtype_is_float(x.dtype)) return c.unsupported("integer tensors");
  Ty ty = compute_type(x.dtype);
  NestBuilder b(x.shape, {x.shape[dim]});
  auto prefix = [&](NestBuilder& nb) {
    std::vector<Index> index = nb.space_index();
    index[dim] = Index(nb.red(0));
    Ref y = unsqueeze(x, 0);
    index.insert(index.begin(), Index::guard(nb.space(dim) + nb.red(0) * -1));
    index[0].hi = x.shape[dim];
    nb.guards(OnGuard::Skip, 0);
    return nb.load(y, index, ty);
  };
  if (c.base() != "logcumsumexp") return c.unsupported("operator");
  Ref m = c.temp(x.dtype == DType::F64 ? DType::F64 : DType::F32, x.shape);
  V best = b.reduce(ReduceKind::Max, prefix(b));
  b.store(m, b.space_index(), best);
  c.push(b);
  NestBuilder s(x.shape, {x.shape[dim]});
  V value = prefix(s);
  V shift = s.load(m, s.space_index(), ty);
  V sum = s.reduce(ReduceKind::Sum, call(Fn::Exp, value - shift));
  s.store(out, s.space_index(), call(Fn::Log, sum) + s.load_post(m, s.space_index(), ty));
  c.push(s);
}

}  // namespace assay::tensor
