// Negative log likelihood and cross entropy.
#include <fmt/format.h>

#include "tensor/blocks.h"
#include "tensor/ops.h"

namespace assay::tensor {
namespace {

// Negative log likelihood of log-probabilities x [N, C, d...] (or [C]) and class indices t
// [N, d...].
struct Nll {
  Ref x, t;
  std::optional<Ref> weight;
  int64_t ignore = -100, reduction = 1;
  double smoothing = 0;
};

bool check_nll(Context& c, const Nll& n) {
  int cdim = n.x.rank() == 1 ? 0 : 1;
  if (n.x.rank() < 1) {
    c.invalid("input must have rank 1 or more");
    return false;
  }
  Shape want = n.x.shape;
  want.erase(want.begin() + cdim);
  if (n.t.shape != want) {
    c.invalid(fmt::format("target must have shape {}", shape_text(want)));
    return false;
  }
  if (n.t.dtype != DType::I64 && n.t.dtype != DType::U8) {
    c.invalid("class indices must be int64 or uint8");
    return false;
  }
  if (n.weight && n.weight->shape != Shape{n.x.shape[cdim]}) {
    c.invalid("weight must have one element for each class");
    return false;
  }
  return true;
}

// Temporaries over t's shape: safe index (0 where ignored), -w[t] x[t], w[t] (0 where ignored).
struct NllParts {
  Ref value, weight;
};

NllParts nll_parts(Context& c, const Nll& n, DType wide) {
  Ty ty = compute_type(wide);
  int cdim = n.x.rank() == 1 ? 0 : 1;
  Ref safe = c.temp(DType::I64, n.t.shape);
  map(c, safe, {{n.t, Ty::S64}}, [&](Expr& e, const std::vector<V>& v) {
    V zero = e.integer(0, Ty::S64);
    return select(eq(v[0], e.integer(n.ignore, Ty::S64)), zero, v[0]);
  });
  NllParts parts{c.temp(wide, n.t.shape), c.temp(wide, n.t.shape)};
  for (bool values : {false, true}) {
    if (c.failed()) break;
    NestBuilder b(n.t.shape, {});
    std::vector<Index> at = b.space_index();
    V index = b.load_index(safe, at);
    Expr& e = b.body();
    V w = e.constant(1, ty);
    if (n.weight) w = b.load_indirect(*n.weight, {affine(0)}, 0, index, false, ty);
    V result = w;
    if (values) {
      std::vector<Index> xi = at;
      xi.insert(xi.begin() + cdim, affine(0));
      V picked = b.load_indirect(n.x, xi, cdim, index, false, ty);
      result = n.weight ? -(w * picked) : -picked;
    }
    V ignored = eq(b.load(n.t, at, Ty::S64), e.integer(n.ignore, Ty::S64));
    b.store(values ? parts.value : parts.weight, at, select(ignored, e.constant(0, ty), result));
    c.push(b);
  }
  return parts;
}

void sum_all(Context& c, const Ref& out, const Ref& x, Ty ty, const PostFn& post = nullptr) {
  Reduction over{x.shape, {}};
  for (int k = 0; k < x.rank(); ++k) over.dims.push_back(k);
  reduce(
      c, over, ReduceKind::Sum, out, {{x, ty}}, [](Expr&, const std::vector<V>& v) { return v[0]; },
      post);
}

void nll(Context& c, const Nll& n, const Ref& out, std::optional<Ref> total_weight) {
  if (c.failed()) return;
  DType wide = n.x.dtype == DType::F64 ? DType::F64 : DType::F32;
  Ty ty = compute_type(wide);
  NllParts parts = nll_parts(c, n, wide);
  if (n.reduction == 0) {
    copy(c, out, parts.value);
    if (total_weight) fill(c, *total_weight, 0.0);
    return;
  }
  Ref total = c.temp(wide, {});
  sum_all(c, total, parts.weight, ty);
  sum_all(c, out, parts.value, ty, [&](NestBuilder& b, V s) {
    return n.reduction == 1 ? s / b.load_post(total, {}, ty) : s;
  });
  if (total_weight) copy(c, *total_weight, total);
}

// Label smoothing: (1 - s) * nll + s / C * sum over classes of -w_c x_c, ignored targets dropped.
void smooth_nll(Context& c, const Nll& n, const Ref& out) {
  if (c.failed()) return;
  DType wide = n.x.dtype == DType::F64 ? DType::F64 : DType::F32;
  Ty ty = compute_type(wide);
  int cdim = n.x.rank() == 1 ? 0 : 1;
  double classes = static_cast<double>(n.x.shape[cdim]);
  NllParts parts = nll_parts(c, n, wide);
  Ref smooth = c.temp(wide, n.t.shape);
  Reduction over{n.x.shape, {cdim}};
  std::vector<MapIn> ins{{n.x, ty}};
  if (n.weight) {
    Ref w = *n.weight;
    for (int k = cdim + 1; k < n.x.rank(); ++k) w = unsqueeze(w, w.rank());
    ins.emplace_back(w, ty);
  }
  reduce(
      c, over, ReduceKind::Sum, smooth, ins,
      [&](Expr&, const std::vector<V>& v) { return n.weight ? -(v[0] * v[1]) : -v[0]; },
      [&](NestBuilder& b, V s) {
        V t = b.load_post(n.t, b.space_index(), Ty::S64);
        V ignored = eq(t, b.post().integer(n.ignore, Ty::S64));
        return select(ignored, b.post().constant(0, ty), s);
      });
  Ref each = n.reduction == 0 ? out : c.temp(wide, n.t.shape);
  map(c, each, {{parts.value, ty}, {smooth, ty}}, [&](Expr& e, const std::vector<V>& v) {
    V s = e.scalar(n.smoothing, ty);
    return (1.0 - s) * v[0] + s / classes * v[1];
  });
  if (n.reduction == 0) return;
  Ref total = c.temp(wide, {});
  sum_all(c, total, parts.weight, ty);
  sum_all(c, out, each, ty, [&](NestBuilder& b, V s) {
    return n.reduction == 1 ? s / b.load_post(total, {}, ty) : s;
  });
}

// Class probabilities: sum over classes of -w_c p'_c x_c; the mean is over N * d...
void soft_cross_entropy(Context& c, const Nll& n, const Ref& out) {
  if (c.failed()) return;
  if (n.t.shape != n.x.shape) return c.invalid("class probabilities must have the input's shape");
  int cdim = n.x.rank() == 1 ? 0 : 1;
  if (n.weight && n.weight->shape != Shape{n.x.shape[cdim]}) {
    return c.invalid("weight must have one element for each class");
  }
  double classes = static_cast<double>(n.x.shape[cdim]);
  DType wide = n.x.dtype == DType::F64 ? DType::F64 : DType::F32;
  Ty ty = compute_type(wide);
  std::vector<MapIn> ins{{n.x, ty}, {n.t, ty}};
  if (n.weight) {
    Ref w = *n.weight;
    for (int k = cdim + 1; k < n.x.rank(); ++k) w = unsqueeze(w, w.rank());
    ins.emplace_back(w, ty);
  }
  Reduction over{n.x.shape, {cdim}};
  if (n.reduction != 0) {
    over.dims.clear();
    for (int k = 0; k < n.x.rank(); ++k) over.dims.push_back(k);
  }
  double count = static_cast<double>(shape_numel(n.x.shape)) / classes;
  reduce(
      c, over, ReduceKind::Sum, out, ins,
      [&](Expr& e, const std::vector<V>& v) {
        V p = v[1];
        if (n.smoothing > 0) {
          V s = e.scalar(n.smoothing, ty);
          p = p * (1.0 - s) + s / classes;
        }
        V r = -(v[0] * p);
        return n.weight ? r * v[2] : r;
      },
      [&](NestBuilder&, V s) { return n.reduction == 1 ? s / count : s; });
}

Nll nll_args(Context& c) {
  Nll n;
  n.x = c.tensor("self");
  n.t = c.tensor("target");
  n.weight = c.maybe("weight");
  n.ignore = c.integer("ignore_index", -100);
  n.reduction = c.integer("reduction", 1);
  n.smoothing = c.number("label_smoothing", 0);
  if (n.reduction < 0 || n.reduction > 2) c.invalid("reduction must be 0, 1 or 2");
  return n;
}

}  // namespace

// nll_loss, nll_loss2d, nll_loss_nd; nll_loss_forward, nll_loss2d_forward (output, total_weight).
void lower_nll(Context& c) {
  Nll n = nll_args(c);
  if (c.failed() || !check_nll(c, n)) return;
  Ref out = c.out(0, n.x.dtype, n.reduction == 0 ? n.t.shape : Shape{});
  std::optional<Ref> total;
  if (c.base().ends_with("forward")) total = c.out(1, n.x.dtype, {});
  nll(c, n, out, total);
}

void lower_cross_entropy(Context& c) {
  Nll n = nll_args(c);
  bool soft = n.t.shape == n.x.shape && program::dtype_is_float(n.t.dtype);
  if (c.failed() || (!soft && !check_nll(c, n))) return;
  if (n.x.rank() == 0) return c.invalid("input must have rank 1 or more");
  int cdim = n.x.rank() == 1 ? 0 : 1;
  Shape each = reduced_shape(n.x.shape, {cdim}, false);
  Ref out = c.out(0, n.x.dtype, n.reduction == 0 ? each : Shape{});
  if (c.failed()) return;
  Ref logp = c.temp(n.x.dtype, n.x.shape);
  softmax(c, logp, n.x, cdim, true);
  n.x = logp;
  if (soft) return soft_cross_entropy(c, n, out);
  if (n.smoothing > 0) return smooth_nll(c, n, out);
  nll(c, n, out, std::nullopt);
}

}  // namespace assay::tensor
