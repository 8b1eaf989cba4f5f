// Tensors made from nothing, copies and conversions.
#include <fmt/format.h>

#include <cmath>

#include "tensor/blocks.h"
#include "tensor/ops.h"

namespace assay::tensor {
namespace {

bool valid_size(Context& c, const Shape& size) {
  for (int64_t d : size) {
    if (d < 0) {
      c.invalid("negative size");
      return false;
    }
  }
  return true;
}

bool integral(const Scalar& s) { return !std::holds_alternative<double>(s); }

}  // namespace

// zeros, ones, full, new_zeros, zeros_like, scalar_tensor, fill, zero, ...
void lower_full(Context& c) {
  std::string_view op = c.base();
  std::optional<Ref> self = c.maybe("self");
  bool like = op.ends_with("_like") || op == "fill" || op == "zero";
  Shape size = like && self ? self->shape : c.ints("size");
  Scalar value = 0.0;
  if (op.find("ones") != std::string_view::npos) value = 1.0;
  if (c.given("fill_value")) value = c.scalar("fill_value");
  if (op == "scalar_tensor") value = c.scalar("s");
  DType dtype = DType::F32;
  if (self) {
    dtype = self->dtype;
  } else if (op == "full") {
    dtype = scalar_dtype(value);
  }
  dtype = c.dtype("dtype").value_or(dtype);
  if (!valid_size(c, size)) return;
  Ref out = c.out(0, dtype, size);
  Operand v;
  v.scalar = value;
  if (op == "fill") v = c.operand("value");
  if (v.ref && v.ref->rank() != 0) return c.invalid("value must be a number or a 0-d tensor");
  if (v.ref) return copy(c, out, *v.ref);
  fill(c, out, v.scalar);
}

// arange: start + i * step, computed in int64 for integer dtypes, else in the accumulation type.
void lower_arange(Context& c) {
  Scalar start = c.scalar("start"), end = c.scalar("end"), step = c.scalar("step", int64_t{1});
  bool ints = integral(start) && integral(end) && integral(step);
  DType dtype = c.dtype("dtype").value_or(ints ? DType::I64 : DType::F32);
  auto real = [](const Scalar& s) {
    return std::visit([](auto v) { return static_cast<double>(v); }, s);
  };
  // As PyTorch counts: int64 results from bounds that are integers already.
  const auto bound = [&](const Scalar& v) {
    return dtype == DType::I64 ? std::trunc(real(v)) : real(v);
  };
  double s = bound(start), e = bound(end), d = bound(step);
  if (d == 0 || !std::isfinite(s) || !std::isfinite(e)) return c.invalid("bounds");
  if ((d > 0 && s > e) || (d < 0 && s < e)) return c.invalid("step has the wrong sign");
  double count = std::ceil((e - s) / d);
  if (count > 1e12) return c.invalid("too many elements");
  Ref out = c.out(0, dtype, {static_cast<int64_t>(count)});
  if (c.failed()) return;
  NestBuilder b(out.shape, {});
  Expr& x = b.body();
  Ty ty = program::dtype_is_float(dtype) ? compute_type(dtype) : Ty::S64;
  V i = cast(x.iter(b.space(0)), ty);
  b.store(out, b.space_index(), x.scalar(start, ty) + x.scalar(step, ty) * i);
  c.push(b);
}

// linspace: from both ends, as PyTorch does.
void lower_linspace(Context& c) {
  int64_t steps = c.integer("steps");
  DType dtype = c.dtype("dtype").value_or(DType::F32);
  if (steps < 0) return c.invalid("negative steps");
  if (!program::dtype_is_float(dtype)) return c.unsupported("integer dtypes");
  Ref out = c.out(0, dtype, {steps});
  if (c.failed()) return;
  NestBuilder b(out.shape, {});
  Expr& e = b.body();
  Ty ty = compute_type(dtype);
  V start = e.scalar(c.scalar("start"), ty), end = e.scalar(c.scalar("end"), ty);
  if (steps <= 1) {
    b.store(out, b.space_index(), start);
    return c.push(b);
  }
  V step = (end - start) / static_cast<double>(steps - 1);
  V i = e.iter(b.space(0)), back = e.iter(b.space(0) * -1 + (steps - 1));
  const int64_t half = steps / 2;  // of the whole steps: PyTorch's own rule
  V low = compare(Fn::Lt, i, static_cast<double>(half));
  b.store(out, b.space_index(),
          select(low, start + step * cast(i, ty), end - step * cast(back, ty)));
  c.push(b);
}

void lower_eye(Context& c) {
  int64_t n = c.integer("n"), m = c.given("m") ? c.integer("m") : n;
  if (!valid_size(c, {n, m})) return;
  Ref out = c.out(0, c.dtype("dtype").value_or(DType::F32), {n, m});
  if (c.failed()) return;
  NestBuilder b(out.shape, {});
  Expr& e = b.body();
  b.store(out, b.space_index(), compare(Fn::Eq, e.iter(b.space(0) + b.space(1) * -1), 0.0));
  c.push(b);
}

// clone, contiguous, _to_copy, to, copy, lift_fresh_copy, type_as: a copy with conversion.
void lower_copy(Context& c) {
  std::string_view op = c.base();
  if (op == "copy") {
    Ref self = c.tensor("self"), src = c.tensor("src");
    Shape shape = self.shape;
    if (!broadcast_shape(src.shape, &shape) || shape != self.shape) {
      return c.invalid("src does not broadcast to self");
    }
    return copy(c, c.out(0, self.dtype, self.shape), src);
  }
  Ref x = c.tensor("self");
  DType dtype = c.dtype("dtype").value_or(x.dtype);
  if (auto other = c.maybe("other")) dtype = other->dtype;
  copy(c, c.out(0, dtype, x.shape), x);
}

}  // namespace assay::tensor
