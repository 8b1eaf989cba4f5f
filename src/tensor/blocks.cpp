#include "tensor/blocks.h"

#include <algorithm>

namespace assay::tensor {

namespace {

std::vector<V> load_all(NestBuilder& b, const std::vector<MapIn>& ins, const Shape& shape,
                        const std::vector<Index>& index) {
  std::vector<V> values;
  for (const MapIn& in : ins) {
    if (in.operand.ref) {
      values.push_back(b.load(expand(*in.operand.ref, shape), index, in.type));
    } else {
      Ty ty = in.type == Ty::None ? value_type(scalar_dtype(in.operand.scalar)) : in.type;
      values.push_back(b.body().scalar(in.operand.scalar, ty));
    }
  }
  return values;
}

// Callers check shapes and say what is wrong; this keeps a missing check from reading past a shape.
bool all_broadcast(Context& c, const std::vector<MapIn>& ins, const Shape& shape) {
  for (const MapIn& in : ins) {
    Shape s = shape;
    if (in.operand.ref && (!broadcast_shape(in.operand.ref->shape, &s) || s != shape)) {
      c.invalid("an operand does not broadcast to the result");
      return false;
    }
  }
  return true;
}

bool is_reduced(const std::vector<int>& dims, int k) {
  return std::find(dims.begin(), dims.end(), k) != dims.end();
}

}  // namespace

void map(Context& c, const Ref& out, const std::vector<MapIn>& ins, const MapFn& f) {
  if (c.failed() || !all_broadcast(c, ins, out.shape)) return;
  NestBuilder b(out.shape, {});
  std::vector<Index> index = b.space_index();
  std::vector<V> values = load_all(b, ins, out.shape, index);
  b.store(out, index, f(b.body(), values));
  c.push(b);
}

void fill(Context& c, const Ref& out, const Scalar& value) {
  if (c.failed()) return;
  NestBuilder b(out.shape, {});
  // PyTorch rounds the scalar to the dtype itself.
  b.store(out, b.space_index(), b.body().scalar(value, compute_type(out.dtype)));
  c.push(b);
}

void copy(Context& c, const Ref& out, const Ref& a) {
  map(c, out, {{a, Ty::None}}, [](Expr&, const std::vector<V>& v) { return v[0]; });
}

Shape reduced_shape(const Shape& shape, const std::vector<int>& dims, bool keepdim) {
  Shape s;
  for (int k = 0; k < static_cast<int>(shape.size()); ++k) {
    if (!is_reduced(dims, k)) {
      s.push_back(shape[k]);
    } else if (keepdim) {
      s.push_back(1);
    }
  }
  return s;
}

Ref drop_dims(const Ref& out, const std::vector<int>& dims, bool keepdim) {
  Ref r = out;
  if (!keepdim) return r;
  for (auto d = dims.rbegin(); d != dims.rend(); ++d) r = squeeze(r, *d);
  return r;
}

Ref spread_dims(const Ref& reduced, const Shape& shape, const std::vector<int>& dims) {
  Ref r = reduced;
  for (int d : dims) {
    r = unsqueeze(r, d);
    r.shape[d] = shape[d];
  }
  return r;
}

int64_t Reduction::count() const {
  int64_t n = 1;
  for (int d : dims) n *= shape[d];
  return n;
}

std::vector<Index> box_index(const NestBuilder& b, const Reduction& over) {
  std::vector<Index> index;
  int s = 0, r = 0;
  for (int k = 0; k < static_cast<int>(over.shape.size()); ++k) {
    index.emplace_back(is_reduced(over.dims, k) ? b.red(r++) : b.space(s++));
  }
  return index;
}

namespace {
Shape reduction_extents(const Reduction& over) {
  Shape s;
  for (int d : over.dims) s.push_back(over.shape[d]);
  return s;
}
}  // namespace

void reduce(Context& c, const Reduction& over, ReduceKind kind, const Ref& out,
            const std::vector<MapIn>& ins, const MapFn& f, const PostFn& post) {
  if (c.failed() || !all_broadcast(c, ins, over.shape)) return;
  NestBuilder b(reduced_shape(over.shape, over.dims, false), reduction_extents(over));
  std::vector<V> values = load_all(b, ins, over.shape, box_index(b, over));
  V total = b.reduce(kind, f(b.body(), values));
  b.store(out, b.space_index(), post ? post(b, total) : total);
  c.push(b);
}

void reduce_arg(Context& c, const Reduction& over, ReduceKind kind, const Ref& out,
                const MapIn& in) {
  if (c.failed()) return;
  NestBuilder b(reduced_shape(over.shape, over.dims, false), reduction_extents(over));
  std::vector<V> values = load_all(b, {in}, over.shape, box_index(b, over));
  Affine index = affine(0);
  int64_t stride = 1;
  for (int r = static_cast<int>(over.dims.size()) - 1; r >= 0; --r) {
    index = index + b.red(r) * stride;
    stride *= over.shape[over.dims[r]];
  }
  V best = b.reduce_arg(kind, values[0], index);
  b.store(out, b.space_index(), best);
  c.push(b);
}

void scan(Context& c, ReduceKind kind, const Ref& out, const Ref& in, int dim, Ty type) {
  if (c.failed()) return;
  Reduction over{in.shape, {dim}};
  NestBuilder b(reduced_shape(in.shape, over.dims, false), {in.shape[dim]});
  std::vector<Index> index = box_index(b, over);
  b.store(out, index, b.reduce(kind, b.load(in, index, type)));
  c.push(b);
}

Moments moments(Context& c, const Ref& x, const std::vector<int>& dims, DType type,
                double correction) {
  Ty ty = compute_type(type);
  Reduction over{x.shape, dims};
  Shape kept = reduced_shape(x.shape, dims, false);
  Moments m{c.temp(type, kept), c.temp(type, kept)};
  double n = static_cast<double>(over.count());
  reduce(
      c, over, ReduceKind::Sum, m.mean, {{x, ty}},
      [](Expr&, const std::vector<V>& v) { return v[0]; },
      [n](NestBuilder&, V sum) { return sum / n; });
  reduce(
      c, over, ReduceKind::Sum, m.var, {{x, ty}, {spread_dims(m.mean, x.shape, dims), ty}},
      [](Expr&, const std::vector<V>& v) {
        V d = v[0] - v[1];
        return d * d;
      },
      [n, correction](NestBuilder&, V sum) { return sum / std::max(n - correction, 0.0); });
  return m;
}

void reduce_loss(Context& c, const Ref& out, const Ref& elementwise, int64_t reduction) {
  if (reduction == 0) return copy(c, out, elementwise);
  std::vector<int> all;
  for (int k = 0; k < elementwise.rank(); ++k) all.push_back(k);
  Reduction over{elementwise.shape, all};
  double n = static_cast<double>(over.count());
  reduce(
      c, over, ReduceKind::Sum, out, {{elementwise, compute_type(elementwise.dtype)}},
      [](Expr&, const std::vector<V>& v) { return v[0]; },
      [&](NestBuilder&, V sum) { return reduction == 1 ? sum / n : sum; });
}

}  // namespace assay::tensor
