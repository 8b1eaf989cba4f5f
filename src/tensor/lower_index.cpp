// Indexing: gather, index_select, embedding, index, scatter, triangles, and data movement.
#include <fmt/format.h>

#include <functional>

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

// diag: a vector to a matrix, a matrix to its diagonal; diag_embed is the former.
void lower_diag(Context& c) {
  Ref x = c.tensor("self");
  int64_t d = c.integer("diagonal");
  if (x.rank() == 2) {
    int64_t row = std::max<int64_t>(-d, 0), col = std::max<int64_t>(d, 0);
    int64_t n = std::max<int64_t>(std::min(x.shape[0] - row, x.shape[1] - col), 0);
    Ref v = x;
    v.shape = {n};
    v.strides = {x.strides[0] + x.strides[1]};
    if (n > 0) v.offset += row * x.strides[0] + col * x.strides[1];
    return copy(c, c.out(0, x.dtype, {n}), v);
  }
  if (x.rank() != 1) return c.invalid("needs rank 1 or 2");
  int64_t n = x.shape[0] + std::abs(d);
  Ref out = c.out(0, x.dtype, {n, n});
  fill(c, out, int64_t{0});
  Ref v = out;
  v.shape = {x.shape[0]};
  v.strides = {out.strides[0] + out.strides[1]};
  v.offset += std::max<int64_t>(-d, 0) * out.strides[0] + std::max<int64_t>(d, 0) * out.strides[1];
  copy(c, v, x);
}

void lower_flip(Context& c) {
  Ref x = c.tensor("self"), r = x;
  for (int d : c.wrap_dims(c.ints("dims"), x.rank(), false)) {
    r = slice(r, d, x.shape[d] - 1, x.shape[d], -1);
  }
  copy(c, c.out(0, x.dtype, x.shape), r);
}

namespace {

// Copies x to out in pieces: along each listed dimension a list of (out start, x start, length,
// x step); untouched dimensions are whole.
struct Piece {
  int64_t to = 0, from = 0, length = 0, step = 1;
};
using Pieces = std::vector<std::pair<int, std::vector<Piece>>>;

void copy_pieces(Context& c, const Ref& out, const Ref& x, const Pieces& pieces, size_t k = 0) {
  if (k == pieces.size()) return copy(c, out, x);
  auto [dim, list] = pieces[k];
  for (const Piece& p : list) {
    if (p.length <= 0) continue;
    copy_pieces(c, slice(out, dim, p.to, p.length), slice(x, dim, p.from, p.length, p.step), pieces,
                k + 1);
  }
}

}  // namespace

void lower_roll(Context& c) {
  Ref x = c.tensor("self");
  Shape shifts = c.ints("shifts"), dims = c.ints("dims");
  Ref out = c.out(0, x.dtype, x.shape);
  if (shape_numel(x.shape) == 0) return;
  Ref source = x;
  if (dims.empty()) {
    if (shifts.size() != 1) return c.invalid("one shift for a flattened roll");
    if (source.strides != contiguous_strides(x.shape)) {
      source = c.temp(x.dtype, x.shape);
      copy(c, source, x);
    }
    Ref flat_out = c.temp(x.dtype, x.shape);
    int64_t n = shape_numel(x.shape), s = ((shifts[0] % n) + n) % n;
    Ref f = source, o = flat_out;
    f.shape = o.shape = {n};
    f.strides = o.strides = {1};
    copy_pieces(c, o, f, {{0, {{0, n - s, s, 1}, {s, 0, n - s, 1}}}});
    return copy(c, out, flat_out);
  }
  if (shifts.size() != dims.size()) return c.invalid("shifts and dims must have equal lengths");
  Pieces pieces;
  if (x.rank() == 0) return copy(c, out, x);
  std::vector<int64_t> total(x.rank(), 0);
  for (size_t k = 0; k < dims.size(); ++k) total[c.wrap_dim(dims[k], x.rank())] += shifts[k];
  for (int d = 0; d < x.rank(); ++d) {
    int64_t n = x.shape[d], s = ((total[d] % n) + n) % n;
    if (s != 0) pieces.push_back({d, {{0, n - s, s, 1}, {s, 0, n - s, 1}}});
  }
  copy_pieces(c, out, x, pieces);
}

// repeat and tile.
void lower_repeat(Context& c) {
  Ref x = c.tensor("self");
  Shape times = c.ints(c.base() == "tile" ? "dims" : "repeats");
  if (c.base() == "tile") {
    while (times.size() < static_cast<size_t>(x.rank())) times.insert(times.begin(), 1);
  }
  if (times.size() < static_cast<size_t>(x.rank())) return c.invalid("too few repeats");
  while (static_cast<size_t>(x.rank()) < times.size()) x = unsqueeze(x, 0);
  Shape shape = x.shape;
  for (size_t k = 0; k < times.size(); ++k) {
    if (times[k] < 0) return c.invalid("negative repeats");
    if (times[k] > 0 && shape[k] > (int64_t{1} << 40) / times[k]) return c.invalid("too large");
    shape[k] *= times[k];
  }
  Ref out = c.out(0, x.dtype, shape);
  if (shape_numel(shape) == 0) return;
  for (int k = static_cast<int>(times.size()) - 1; k >= 0; --k) {
    out = unflatten(out, k, times[k], x.shape[k]);
    x = unsqueeze(x, k);
  }
  copy(c, out, expand(x, out.shape));
}

void lower_repeat_interleave(Context& c) {
  Ref x = c.tensor("self");
  int64_t times = c.integer("repeats");
  if (times < 0) return c.invalid("negative repeats");
  if (!c.given("dim")) return c.unsupported("without dim");
  int dim = c.wrap_dim(c.integer("dim"), x.rank());
  if (x.rank() == 0) return c.unsupported("rank 0");
  Shape shape = x.shape;
  if (times > 0 && shape[dim] > (int64_t{1} << 40) / times) return c.invalid("too large");
  shape[dim] *= times;
  Ref out = c.out(0, x.dtype, shape);
  if (times == 0 || shape_numel(shape) == 0) return;
  out = unflatten(out, dim, x.shape[dim], times);
  copy(c, out, expand(unsqueeze(x, dim + 1), out.shape));
}

// cat and stack. 1-d empty tensors are skipped, as PyTorch does.
void lower_cat(Context& c) {
  std::vector<Ref> list = c.tensors("tensors");
  if (list.empty()) return c.invalid("needs at least one tensor");
  DType dtype = result_type(list);
  bool stack = c.base() == "stack";
  if (!stack) {
    auto empty = [](const Ref& r) { return r.rank() == 1 && r.shape[0] == 0; };
    std::vector<Ref> kept;
    for (const Ref& r : list) {
      if (!empty(r)) kept.push_back(r);
    }
    if (kept.empty()) kept.push_back(list[0]);
    list = kept;
  }
  int dim = c.wrap_dim(c.integer("dim"), list[0].rank() + (stack ? 1 : 0));
  if (!stack && list[0].rank() == 0) return c.invalid("0-d tensors cannot be concatenated");
  for (const Ref& r : list) {
    if (r.rank() != list[0].rank()) return c.invalid("ranks differ");
  }
  Shape shape = list[0].shape;
  if (stack) shape.insert(shape.begin() + dim, 0);
  shape[dim] = 0;
  for (Ref& r : list) {
    if (stack) r = unsqueeze(r, dim);
    Shape other = r.shape;
    shape[dim] += other[dim];
    other[dim] = shape[dim];
    if (other != shape) return c.invalid("shapes differ");
  }
  Ref out = c.out(0, dtype, shape);
  int64_t at = 0;
  for (const Ref& r : list) {
    copy(c, slice(out, dim, at, r.shape[dim]), r);
    at += r.shape[dim];
  }
}

namespace {

// The padding list starts with the last dimension: (left, right) pairs.
struct Pad {
  int dim;
  int64_t left, right;
};

std::vector<Pad> pad_args(Context& c, const Ref& x, Shape* shape) {
  Shape list = c.ints(c.given("pad") ? "pad" : "padding");
  std::vector<Pad> pads;
  if (list.size() % 2 != 0 || list.size() > 2 * static_cast<size_t>(x.rank())) {
    c.invalid("padding needs pairs, at most one for each dimension");
    return pads;
  }
  *shape = x.shape;
  for (size_t k = 0; k < list.size() / 2; ++k) {
    int d = x.rank() - 1 - static_cast<int>(k);
    pads.push_back({d, list[2 * k], list[2 * k + 1]});
    (*shape)[d] += list[2 * k] + list[2 * k + 1];
    if ((*shape)[d] < 0) c.invalid("padding leaves a negative extent");
  }
  return pads;
}

void constant_pad(Context& c, const Ref& out, const Ref& x, const std::vector<Pad>& pads,
                  const Scalar& value) {
  if (c.failed()) return;
  NestBuilder b(out.shape, {});
  std::vector<Index> at = b.space_index();
  for (const Pad& p : pads) at[p.dim] = Index::guard(b.space(p.dim) + -p.left);
  double v = std::visit([](auto s) { return static_cast<double>(s); }, value);
  b.guards(OnGuard::Value, v);
  b.store(out, b.space_index(), b.load(x, at, Ty::None));
  c.push(b);
}

// Pieces of reflection (edge not repeated), replication and circular padding in one dimension.
std::vector<Piece> pad_pieces(std::string_view mode, int64_t n, int64_t left, int64_t right) {
  std::vector<Piece> list;
  int64_t cut = std::max<int64_t>(-left, 0);  // negative padding crops
  int64_t keep = n - cut - std::max<int64_t>(-right, 0);
  int64_t l = std::max<int64_t>(left, 0), r = std::max<int64_t>(right, 0);
  if (mode == "reflect") {
    list = {{0, l, l, -1}, {l, cut, keep, 1}, {l + keep, n - 2, r, -1}};
  } else if (mode == "replicate") {
    list = {{0, 0, l, 0}, {l, cut, keep, 1}, {l + keep, n - 1, r, 0}};
  } else {
    list = {{0, n - l, l, 1}, {l, cut, keep, 1}, {l + keep, 0, r, 1}};
  }
  return list;
}

}  // namespace

// constant_pad_nd, pad (mode), reflection_pad*, replication_pad*.
void lower_pad(Context& c) {
  Ref x = c.tensor("self");
  Shape shape;
  std::vector<Pad> pads = pad_args(c, x, &shape);
  std::string mode = c.str("mode", "constant");
  if (c.base().starts_with("reflection")) mode = "reflect";
  if (c.base().starts_with("replication")) mode = "replicate";
  if (c.failed()) return;
  if (mode == "constant") {
    constant_pad(c, c.out(0, x.dtype, shape), x, pads, c.scalar("value", int64_t{0}));
    return;
  }
  if (mode != "reflect" && mode != "replicate" && mode != "circular") return c.invalid("mode");
  Pieces pieces;
  for (const Pad& p : pads) {
    int64_t n = x.shape[p.dim], most = mode == "reflect" ? n - 1 : n;
    if (n == 0 || (mode != "replicate" && std::max(p.left, p.right) > most)) {
      return c.invalid("padding exceeds the input");
    }
    pieces.push_back({p.dim, pad_pieces(mode, n, p.left, p.right)});
  }
  copy_pieces(c, c.out(0, x.dtype, shape), x, pieces);
}

// pixel_shuffle, pixel_unshuffle: data movement.
void lower_pixel_shuffle(Context& c) {
  Ref x = c.tensor("self");
  bool up = c.base() == "pixel_shuffle";
  int64_t f = c.integer(up ? "upscale_factor" : "downscale_factor");
  int r = x.rank();
  if (r < 3 || f < 1 || f > (1 << 16))
    return c.invalid("needs rank 3 or more and a positive factor");
  Shape shape = x.shape;
  if (up) {
    if (x.shape[r - 3] % (f * f) != 0) return c.invalid("channels must be divisible by factor^2");
    shape[r - 3] /= f * f;
    shape[r - 2] *= f;
    shape[r - 1] *= f;
  } else {
    if (x.shape[r - 2] % f != 0 || x.shape[r - 1] % f != 0) return c.invalid("extents");
    shape[r - 3] *= f * f;
    shape[r - 2] /= f;
    shape[r - 1] /= f;
  }
  Ref out = c.out(0, x.dtype, shape);
  // small: [c, f, f, h, w] (channels split), large: [c, h, f, w, f]
  Ref small = up ? x : out, large = up ? out : x;
  int64_t channels = large.shape[r - 3], h = small.shape[r - 2], w = small.shape[r - 1];
  small = unflatten(unflatten(small, r - 3, channels, f * f), r - 2, f, f);
  large = unflatten(unflatten(large, r - 1, w, f), r - 2, h, f);
  std::vector<int> order;
  for (int k = 0; k < r - 2; ++k) order.push_back(k);
  for (int k : {1, 3, 0, 2}) order.push_back(r - 2 + k);  // [c, f, f, h, w] of large
  large = permute(large, order);
  copy(c, up ? large : small, up ? small : large);
}

}  // namespace assay::tensor
