// Data movement: diagonals, flips, rolls, repeats, concatenation, padding, pixel shuffles.
#include <fmt/format.h>

#include <algorithm>

#include "tensor/blocks.h"
#include "tensor/ops.h"

namespace assay::tensor {

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

void lower_channel_shuffle(Context& c) {
  Ref x = c.tensor("self");
  int64_t groups = c.integer("groups");
  if (x.rank() < 3 || groups < 1 || x.shape[1] % groups != 0) {
    return c.invalid("groups must divide the channels");
  }
  Ref out = c.out(0, x.dtype, x.shape);
  copy(c, unflatten(out, 1, x.shape[1] / groups, groups),
       transpose(unflatten(x, 1, groups, x.shape[1] / groups), 1, 2));
}

}  // namespace assay::tensor
