// Indexing: gather, index_select, embedding, index, scatter, one_hot, triangles.
#include <fmt/format.h>

#include <algorithm>

#include "tensor/blocks.h"
#include "tensor/ops.h"

namespace assay::tensor {
namespace {

bool index_dtype(Context& c, const Ref& index) {
  if (index.dtype == DType::I64 || index.dtype == DType::I32) return true;
  c.invalid("indices must be int32 or int64");
  return false;
}

// out[i] = x[i with dim replaced by index[position]]; `at(nest)` gives index's position.
void indirect_copy(Context& c, const Ref& out, const Ref& x, const std::vector<Index>& x_index,
                   int dim, const Ref& index, const std::vector<Index>& at, bool wraps,
                   NestBuilder& b) {
  V by = b.load_index(index, at);
  b.store(out, b.space_index(), b.load_indirect(x, x_index, dim, by, wraps, Ty::None));
  c.push(b);
}

}  // namespace

// out[i, j] = x[index[i, j], j] for dim 0. Negative indices are errors in PyTorch.
void lower_gather(Context& c) {
  bool along = c.base() == "take_along_dim";
  Ref x = c.tensor("self"), index = c.tensor(along ? "indices" : "index");
  if (!index_dtype(c, index)) return;
  int dim = c.wrap_dim(c.integer("dim"), x.rank());
  if (x.rank() == 0 || index.rank() != x.rank()) return c.unsupported("ranks differ");
  for (int k = 0; k < x.rank(); ++k) {
    if (k != dim && index.shape[k] > x.shape[k]) return c.invalid("index exceeds self");
  }
  Ref out = c.out(0, x.dtype, index.shape);
  if (c.failed()) return;
  NestBuilder b(index.shape, {});
  std::vector<Index> at = b.space_index();
  indirect_copy(c, out, x, at, dim, index, at, false, b);
}

void lower_index_select(Context& c) {
  Ref x = c.tensor("self"), index = c.tensor("index");
  if (!index_dtype(c, index)) return;
  if (x.rank() == 0 || index.rank() > 1) return c.invalid("index must be a vector");
  int dim = c.wrap_dim(c.integer("dim"), x.rank());
  if (index.rank() == 0) index = unsqueeze(index, 0);
  Shape shape = x.shape;
  shape[dim] = index.shape[0];
  Ref out = c.out(0, x.dtype, shape);
  if (c.failed()) return;
  NestBuilder b(shape, {});
  indirect_copy(c, out, x, b.space_index(), dim, index, {b.space(dim)}, false, b);
}

// out[i..., j] = weight[indices[i...], j]
void lower_embedding(Context& c) {
  Ref w = c.tensor("weight"), index = c.tensor("indices");
  if (!index_dtype(c, index)) return;
  if (w.rank() != 2) return c.invalid("weight must have rank 2");
  Shape shape = index.shape;
  shape.push_back(w.shape[1]);
  Ref out = c.out(0, w.dtype, shape);
  if (c.failed()) return;
  NestBuilder b(shape, {});
  std::vector<Index> at = b.space_index();
  Index last = at.back();
  at.pop_back();
  indirect_copy(c, out, w, {affine(0), last}, 0, index, at, false, b);
}

namespace {

// The dimensions of an index.Tensor result: the broadcast index shape stands where the indexed
// dimensions were if they are adjacent, else in front.
struct Advanced {
  std::vector<int> dims;  // indexed dimensions
  std::vector<Ref> indices;
  Shape broadcast;
  int position = 0;  // where the broadcast dimensions stand in the result
};

std::optional<Advanced> advanced_args(Context& c, const Ref& x) {
  Advanced a;
  auto list = c.optional_tensors("indices");
  if (list.size() > static_cast<size_t>(x.rank())) {
    c.invalid("too many indices");
    return std::nullopt;
  }
  for (size_t k = 0; k < list.size(); ++k) {
    if (!list[k]) continue;
    if (list[k]->dtype == DType::Bool || list[k]->dtype == DType::U8) {
      c.unsupported("boolean masks as indices: the result's shape depends on data");
      return std::nullopt;
    }
    if (!index_dtype(c, *list[k])) return std::nullopt;
    a.dims.push_back(static_cast<int>(k));
    a.indices.push_back(*list[k]);
    if (!broadcast_shape(list[k]->shape, &a.broadcast)) {
      c.invalid("indices do not broadcast");
      return std::nullopt;
    }
  }
  if (a.dims.empty()) {
    c.invalid("no index given");
    return std::nullopt;
  }
  bool adjacent = a.dims.back() - a.dims.front() + 1 == static_cast<int>(a.dims.size());
  a.position = adjacent ? a.dims.front() : 0;
  return a;
}

// A temporary holding sum_k index_k * stride_k, negative indices wrapped; -1 (outside every range)
// where an index is out of bounds.
Ref linear_index(Context& c, const Ref& x, const Advanced& a, int64_t* extent) {
  Ref linear = c.temp(DType::I64, a.broadcast);
  std::vector<MapIn> ins;
  for (const Ref& r : a.indices) ins.emplace_back(r, Ty::S64);
  *extent = 1;
  for (int d : a.dims) *extent *= x.shape[d];
  map(c, linear, ins, [&](Expr& e, const std::vector<V>& v) {
    V total = e.integer(0, Ty::S64), zero = total;
    V ok = e.boolean(true);
    for (size_t k = 0; k < a.dims.size(); ++k) {
      V size = e.integer(x.shape[a.dims[k]], Ty::S64);
      V i = select(compare(Fn::Lt, v[k], zero), v[k] + size, v[k]);
      ok = both(ok, both(compare(Fn::Ge, i, zero), compare(Fn::Lt, i, size)));
      total = total * size + i;
    }
    return select(ok, total, e.integer(-1, Ty::S64));
  });
  return linear;
}

}  // namespace

// index.Tensor with integer tensors.
void lower_index(Context& c) {
  Ref x = c.tensor("self");
  auto a = advanced_args(c, x);
  if (!a) return;
  Shape shape;
  Ref rest = x;  // without the indexed dimensions
  for (auto d = a->dims.rbegin(); d != a->dims.rend(); ++d) rest = select(rest, *d, 0);
  shape = rest.shape;
  shape.insert(shape.begin() + a->position, a->broadcast.begin(), a->broadcast.end());
  Ref out = c.out(0, x.dtype, shape);
  if (c.failed()) return;
  // The indexed dimensions as one of linear stride: possible if they collapse; else a copy does.
  Ref source = x;
  std::vector<int> order = a->dims;
  for (int k = 0; k < x.rank(); ++k) {
    if (std::find(a->dims.begin(), a->dims.end(), k) == a->dims.end()) order.push_back(k);
  }
  source = permute(x, order);
  int n = static_cast<int>(a->dims.size());
  bool collapses = true;
  for (int k = 0; k + 1 < n; ++k) {
    collapses &= source.strides[k] == source.strides[k + 1] * source.shape[k + 1];
  }
  if (!collapses) {
    Ref dense = c.temp(x.dtype, source.shape);
    copy(c, dense, source);
    source = dense;
  }
  int64_t extent = 1;
  Ref index = n == 1 ? a->indices[0] : linear_index(c, x, *a, &extent);
  if (n == 1) extent = x.shape[a->dims[0]];
  Ref flat = source;
  for (int k = 0; k + 1 < n; ++k) flat = select(flat, 0, 0);
  flat.shape[0] = extent;
  NestBuilder b(shape, {});
  std::vector<Index> space = b.space_index(), at, xi{affine(0)};
  int nb = static_cast<int>(a->broadcast.size());
  for (int k = 0; k < static_cast<int>(space.size()); ++k) {
    (k >= a->position && k < a->position + nb ? at : xi).push_back(space[k]);
  }
  indirect_copy(c, out, flat, xi, 0, n == 1 ? expand(index, a->broadcast) : index, at, n == 1, b);
}

// scatter_add, scatter.reduce-free scatter with a value, index_add: every output element sums (or
// asks) over the positions whose index is its own.
void lower_scatter(Context& c) {
  Ref x = c.tensor("self"), index = c.tensor("index");
  bool adds = c.base() == "scatter_add";
  std::optional<Ref> src = c.maybe("src");
  if (c.given("reduce")) return c.unsupported("reduce");
  if (!index_dtype(c, index)) return;
  int dim = c.wrap_dim(c.integer("dim"), x.rank());
  if (x.rank() == 0 || index.rank() != x.rank() || (src && src->rank() != x.rank())) {
    return c.unsupported("ranks differ");
  }
  for (int k = 0; k < x.rank(); ++k) {
    if ((k != dim && index.shape[k] > x.shape[k]) || (src && index.shape[k] > src->shape[k])) {
      return c.invalid("index exceeds self or src");
    }
  }
  if (src && src->dtype != x.dtype) return c.invalid("self and src must have the same dtype");
  Ref out = c.out(0, x.dtype, x.shape);
  if (c.failed()) return;
  Ty ty = compute_type(x.dtype);
  // Part of self that index's other dimensions reach; the rest is copied.
  Shape reach = index.shape;
  reach[dim] = x.shape[dim];
  if (reach != x.shape) copy(c, out, x);
  NestBuilder b(reach, {index.shape[dim]});
  std::vector<Index> at = b.space_index();
  at[dim] = Index(b.red(0));
  Expr& e = b.body();
  V hit = eq(b.load(index, at, Ty::S64), e.iter(b.space(dim)));
  if (adds) {
    if (!src || ty == Ty::Pred) return c.unsupported("bool scatter_add");
    V sum = b.reduce(ReduceKind::Sum, select(hit, b.load(*src, at, ty), e.constant(0, ty)));
    b.store(out, b.space_index(), b.load_post(x, b.space_index(), ty) + sum);
  } else if (src) {
    return c.unsupported("scatter with a tensor source: duplicate indices leave the result open");
  } else {
    V any = b.reduce(ReduceKind::Any, hit);
    V old = b.load_post(x, b.space_index(), ty);
    b.store(out, b.space_index(), select(any, b.post().scalar(c.scalar("value"), ty), old));
  }
  c.push(b);
}

void lower_index_add(Context& c) {
  Ref x = c.tensor("self"), index = c.tensor("index"), src = c.tensor("source");
  if (!index_dtype(c, index)) return;
  int dim = c.wrap_dim(c.integer("dim"), x.rank());
  Shape want = x.shape;
  if (x.rank() == 0 || index.rank() != 1 || src.rank() != x.rank() || src.dtype != x.dtype) {
    return c.invalid("index must be a vector, source like self");
  }
  want[dim] = index.shape[0];
  if (src.shape != want) return c.invalid("source's shape");
  Ref out = c.out(0, x.dtype, x.shape);
  if (c.failed()) return;
  Ty ty = compute_type(x.dtype);
  NestBuilder b(x.shape, {index.shape[0]});
  std::vector<Index> at = b.space_index();
  at[dim] = Index(b.red(0));
  Expr& e = b.body();
  V hit = eq(b.load(index, {b.red(0)}, Ty::S64), e.iter(b.space(dim)));
  V value = b.load(src, at, ty);
  V sum = b.reduce(ReduceKind::Sum, select(hit, value, e.constant(0, ty)));
  sum = b.post().scalar(c.scalar("alpha", int64_t{1}), ty) * sum;
  b.store(out, b.space_index(), b.load_post(x, b.space_index(), ty) + sum);
  c.push(b);
}

// one_hot with an explicit number of classes.
void lower_one_hot(Context& c) {
  Ref x = c.tensor("self");
  int64_t classes = c.integer("num_classes", -1);
  if (classes < 1) return c.unsupported("num_classes taken from the data");
  if (x.dtype != DType::I64) return c.invalid("needs an int64 tensor");
  Shape shape = x.shape;
  shape.push_back(classes);
  Ref out = c.out(0, DType::I64, shape);
  if (c.failed()) return;
  NestBuilder b(shape, {});
  std::vector<Index> at = b.space_index();
  at.pop_back();
  V hit = eq(b.load(x, at, Ty::S64), b.body().iter(b.space(x.rank())));
  b.store(out, b.space_index(), hit);
  c.push(b);
}

// Each bin asks every element. Values at or above minlength would lengthen the result: the
// reference is recorded where the example has none.
void lower_bincount(Context& c) {
  Ref x = c.tensor("self");
  std::optional<Ref> weights = c.maybe("weights");
  const int64_t bins = c.integer("minlength", 0);
  if (x.rank() != 1 || program::dtype_is_float(x.dtype)) {
    return c.invalid("needs a vector of integers");
  }
  if (weights && weights->shape != x.shape) return c.invalid("weights' shape");
  if (bins < 1) return c.unsupported("minlength taken from the data");
  const DType dtype = !weights                       ? DType::I64
                      : weights->dtype == DType::F32 ? DType::F32
                                                     : DType::F64;
  Ref out = c.out(0, dtype, {bins});
  if (c.failed()) return;
  const Ty ty = compute_type(dtype);
  NestBuilder b({bins}, {x.shape[0]});
  Expr& e = b.body();
  V hit = eq(b.load(x, {b.red(0)}, Ty::S64), e.iter(b.space(0)));
  V one = weights ? b.load(*weights, {b.red(0)}, ty) : e.constant(1, ty);
  b.store(out, b.space_index(), b.reduce(ReduceKind::Sum, select(hit, one, e.constant(0, ty))));
  c.push(b);
}

// Bin j holds min + j w <= x < min + (j + 1) w, the last one max too.
void lower_histc(Context& c) {
  Ref x = c.tensor("self");
  const int64_t bins = c.integer("bins", 100);
  const double low = c.number("min", 0), high = c.number("max", 0);
  if (!program::dtype_is_float(x.dtype)) return c.unsupported("integers");
  if (!(low < high)) return c.unsupported("bounds taken from the data");
  if (bins < 1) return c.invalid("needs a bin");
  Ref out = c.out(0, x.dtype, {bins});
  if (c.failed()) return;
  const Ty ty = compute_type(x.dtype);
  NestBuilder b({bins}, Shape(x.shape.begin(), x.shape.end()));
  std::vector<Index> at;
  for (int k = 0; k < x.rank(); ++k) at.emplace_back(b.red(k));
  Expr& e = b.body();
  V v = b.load(x, at, ty);
  V place = call(Fn::Floor, (v - low) * static_cast<double>(bins) / (high - low));
  place = min(place, e.constant(static_cast<double>(bins - 1), ty));
  V inside = both(compare(Fn::Ge, v, low), compare(Fn::Le, v, high));
  V hit = both(inside, eq(place, cast(e.iter(b.space(0)), ty)));
  b.store(out, b.space_index(),
          b.reduce(ReduceKind::Sum, select(hit, e.constant(1, ty), e.constant(0, ty))));
  c.push(b);
}

void lower_triangle(Context& c) {
  Ref x = c.tensor("self");
  if (x.rank() < 2) return c.invalid("needs rank 2 or more");
  int64_t diagonal = c.integer("diagonal");
  Ref out = c.out(0, x.dtype, x.shape);
  if (c.failed()) return;
  NestBuilder b(x.shape, {});
  Expr& e = b.body();
  // column - row <= diagonal is the lower triangle
  V off = e.iter(b.space(x.rank() - 1) + b.space(x.rank() - 2) * -1);
  V d = e.integer(diagonal, Ty::S64);
  V keep = compare(c.base() == "tril" ? Fn::Le : Fn::Ge, off, d);
  V v = b.load(x, b.space_index(), Ty::None);
  b.store(out, b.space_index(), select(keep, v, e.constant(0, v.ty)));
  c.push(b);
}

}  // namespace assay::tensor
