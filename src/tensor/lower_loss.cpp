// Losses and distances, in terms of maps and reductions.
#include <fmt/format.h>

#include <cmath>

#include "tensor/blocks.h"
#include "tensor/ops.h"

namespace assay::tensor {
namespace {

// Reduction 0 none, 1 mean, 2 sum over f(ins): a single nest.
void loss(Context& c, const Shape& shape, DType dtype, const std::vector<MapIn>& ins,
          const MapFn& f) {
  int64_t reduction = c.integer("reduction", 1);
  if (reduction == 0) return map(c, c.out(0, dtype, shape), ins, f);
  if (reduction != 1 && reduction != 2) return c.invalid("reduction must be 0, 1 or 2");
  Reduction over{shape, {}};
  for (int k = 0; k < static_cast<int>(shape.size()); ++k) over.dims.push_back(k);
  double n = static_cast<double>(over.count());
  reduce(c, over, ReduceKind::Sum, c.out(0, dtype, {}), ins, f,
         [&](NestBuilder&, V s) { return reduction == 1 ? s / n : s; });
}

bool broadcast_pair(Context& c, const Ref& a, const Ref& b, Shape* shape) {
  *shape = a.shape;
  if (broadcast_shape(b.shape, shape)) return true;
  c.invalid("shapes do not broadcast");
  return false;
}

}  // namespace

// mse_loss, l1_loss, smooth_l1_loss, huber_loss, soft_margin_loss.
void lower_pointwise_loss(Context& c) {
  Ref x = c.tensor("self"), t = c.tensor("target");
  Shape shape;
  if (!broadcast_pair(c, x, t, &shape)) return;
  DType dtype = result_type(std::vector<Ref>{x, t});
  if (!program::dtype_is_float(dtype)) return c.invalid("needs floating-point tensors");
  Ty ty = compute_type(dtype);
  std::string_view op = c.base();
  double beta = c.number("beta", 1), delta = c.number("delta", 1);
  loss(c, shape, dtype, {{x, ty}, {t, ty}}, [&](Expr& e, const std::vector<V>& v) {
    if (op == "soft_margin_loss") return call(Fn::Log1p, call(Fn::Exp, -(v[1] * v[0])));
    V d = v[0] - v[1];
    if (op == "mse_loss") return d * d;
    V a = call(Fn::Abs, d);
    if (op == "l1_loss" || (op == "smooth_l1_loss" && beta == 0)) return a;
    if (op == "smooth_l1_loss") {
      V b = e.scalar(beta, ty);
      return select(compare(Fn::Lt, a, b), 0.5 * a * a / b, a - 0.5 * b);
    }
    V b = e.scalar(delta, ty);
    return select(compare(Fn::Le, a, b), 0.5 * a * a, b * (a - 0.5 * b));
  });
}

// target * (log(target) - input); log_target: exp(target) * (target - input).
void lower_kl_div(Context& c) {
  Ref x = c.tensor("self"), t = c.tensor("target");
  Shape shape;
  if (!broadcast_pair(c, x, t, &shape)) return;
  DType dtype = result_type(std::vector<Ref>{x, t});
  Ty ty = compute_type(dtype);
  bool log_target = c.flag("log_target");
  loss(c, shape, dtype, {{x, ty}, {t, ty}}, [&](Expr& e, const std::vector<V>& v) {
    if (log_target) return call(Fn::Exp, v[1]) * (v[1] - v[0]);
    // xlogy(target, target) - target * input
    V zero = e.constant(0, ty);
    V tlogt = select(compare(Fn::Eq, v[1], 0.0), zero, v[1] * call(Fn::Log, v[1]));
    return select(is_nan(v[1]), v[1], tlogt) - v[1] * v[0];
  });
}

void lower_bce(Context& c) {
  Ref x = c.tensor("self"), t = c.tensor("target");
  std::optional<Ref> weight = c.maybe("weight"), pos = c.maybe("pos_weight");
  if (x.shape != t.shape) return c.invalid("input and target must have the same shape");
  Shape check = x.shape;
  for (const auto& r : {weight, pos}) {
    if (r && (!broadcast_shape(r->shape, &check) || check != x.shape)) {
      return c.invalid("weights do not broadcast to the input");
    }
  }
  bool logits = c.base().ends_with("with_logits");
  Ty ty = compute_type(x.dtype);
  std::vector<MapIn> ins{{x, ty}, {t, ty}};
  if (pos) ins.emplace_back(*pos, ty);
  if (weight) ins.emplace_back(*weight, ty);
  loss(c, x.shape, x.dtype, ins, [&](Expr& e, const std::vector<V>& v) {
    V r, one = e.constant(1, ty), zero = e.constant(0, ty);
    if (logits) {
      // (1 - t) x + w log(1 + exp(-x)), w = (p - 1) t + 1, in ATen's stable form.
      V soft = call(Fn::Log1p, call(Fn::Exp, -call(Fn::Abs, v[0]))) + max(-v[0], zero);
      V factor = pos ? (v[2] - one) * v[1] + one : one;
      r = (one - v[1]) * v[0] + (pos ? factor * soft : soft);
    } else {
      V lo = e.constant(-100, ty);
      V log_x = max(call(Fn::Log, v[0]), lo), log_1x = max(call(Fn::Log1p, -v[0]), lo);
      r = (v[1] - one) * log_1x - v[1] * log_x;
    }
    return weight ? r * v.back() : r;
  });
}

// max(0, -target * (a - b) + margin), hinge embedding.
void lower_margin_loss(Context& c) {
  bool ranking = c.base() == "margin_ranking_loss";
  Ref a = c.tensor(ranking ? "input1" : "self"), t = c.tensor("target");
  Ref b = ranking ? c.tensor("input2") : a;
  Shape shape;
  if (!broadcast_pair(c, a, b, &shape) || !broadcast_shape(t.shape, &shape)) {
    return c.invalid("shapes do not broadcast");
  }
  DType dtype = result_type(std::vector<Ref>{a, b, t});
  Ty ty = compute_type(dtype);
  double margin = c.number("margin", ranking ? 0 : 1);
  loss(c, shape, dtype, {{a, ty}, {b, ty}, {t, ty}}, [&](Expr& e, const std::vector<V>& v) {
    V zero = e.constant(0, ty), m = e.scalar(margin, ty);
    if (ranking) return max(-v[2] * (v[0] - v[1]) + m, zero);
    V minus_one = select(compare(Fn::Eq, v[2], -1.0), max(m - v[0], zero), zero);
    V plus_one = select(compare(Fn::Eq, v[2], 1.0), v[0], zero);
    return minus_one + plus_one;
  });
}

namespace {

// (sum_k |a - b + eps|^p)^(1/p) over the last dimension.
Ref pairwise_distance(Context& c, const Ref& a, const Ref& b, double p, double eps, DType dtype) {
  Shape shape;
  if (!broadcast_pair(c, a, b, &shape) || shape.empty()) {
    c.invalid("rank");
    return a;
  }
  Ty ty = compute_type(dtype);
  Reduction over{shape, {static_cast<int>(shape.size()) - 1}};
  Ref out = c.temp(dtype, reduced_shape(shape, over.dims, false));
  reduce(
      c, over, ReduceKind::Sum, out, {{a, ty}, {b, ty}},
      [&](Expr& e, const std::vector<V>& v) {
        V d = v[0] - v[1] + e.scalar(eps, ty);
        if (p == 2) return d * d;
        V m = call(Fn::Abs, d);
        return p == 1 ? m : call(Fn::Pow, m, e.scalar(p, ty));
      },
      [&](NestBuilder& nb, V s) {
        if (p == 1) return s;
        return p == 2 ? call(Fn::Sqrt, s) : call(Fn::Pow, s, 1.0 / nb.post().scalar(p, ty));
      });
  return out;
}

}  // namespace

void lower_pairwise_distance(Context& c) {
  Ref a = c.tensor("x1"), b = c.tensor("x2");
  DType dtype = result_type(std::vector<Ref>{a, b});
  double p = c.number("p", 2);
  if (!(p > 0) || std::isinf(p)) return c.unsupported("p that is not positive and finite");
  Ref d = pairwise_distance(c, a, b, p, c.number("eps", 1e-6), dtype);
  if (c.failed()) return;
  bool keepdim = c.flag("keepdim");
  Ref from = keepdim ? unsqueeze(d, d.rank()) : d;
  copy(c, c.out(0, dtype, from.shape), from);
}

// max(0, |a - p| - |a - n| + margin), distances with eps; swap takes min(|a - n|, |p - n|).
void lower_triplet(Context& c) {
  Ref a = c.tensor("anchor"), pos = c.tensor("positive"), neg = c.tensor("negative");
  DType dtype = result_type(std::vector<Ref>{a, pos, neg});
  double p = c.number("p", 2), eps = c.number("eps", 1e-6);
  if (!(p > 0) || std::isinf(p)) return c.unsupported("p that is not positive and finite");
  Ref dp = pairwise_distance(c, a, pos, p, eps, dtype);
  Ref dn = pairwise_distance(c, a, neg, p, eps, dtype);
  Ref ds = c.flag("swap") ? pairwise_distance(c, pos, neg, p, eps, dtype) : dn;
  if (c.failed() || dp.shape != dn.shape || ds.shape != dn.shape) return c.invalid("shapes");
  Ty ty = compute_type(dtype);
  double margin = c.number("margin", 1);
  loss(c, dp.shape, dtype, {{dp, ty}, {dn, ty}, {ds, ty}}, [&](Expr& e, const std::vector<V>& v) {
    V n = c.flag("swap") ? min(v[1], v[2]) : v[1];
    return max(e.scalar(margin, ty) + v[0] - n, e.constant(0, ty));
  });
}

// sum(a b) / (max(|a|, eps) max(|b|, eps)) over dim.
void lower_cosine_similarity(Context& c) {
  Ref a = c.tensor("x1"), b = c.tensor("x2");
  Shape shape;
  if (!broadcast_pair(c, a, b, &shape)) return;
  DType dtype = result_type(std::vector<Ref>{a, b});
  Ty ty = compute_type(dtype);
  std::vector<int> dims{c.wrap_dim(c.integer("dim", 1), static_cast<int>(shape.size()))};
  if (shape.empty()) return c.unsupported("rank 0");
  Reduction over{shape, dims};
  Shape kept = reduced_shape(shape, dims, false);
  Ref out = c.out(0, dtype, kept);
  if (c.failed()) return;
  DType wide = dtype == DType::F64 ? DType::F64 : DType::F32;
  double eps = c.number("eps", 1e-8);
  Ref na = c.temp(wide, kept), nb = c.temp(wide, kept);
  for (auto [norm, t] : {std::pair{na, a}, std::pair{nb, b}}) {
    reduce(
        c, over, ReduceKind::Sum, norm, {{t, ty}},
        [](Expr&, const std::vector<V>& v) { return v[0] * v[0]; },
        [&](NestBuilder& n, V s) { return max(call(Fn::Sqrt, s), n.post().scalar(eps, ty)); });
  }
  reduce(
      c, over, ReduceKind::Sum, out, {{a, ty}, {b, ty}},
      [](Expr&, const std::vector<V>& v) { return v[0] * v[1]; },
      [&](NestBuilder& n, V dot) {
        return dot / (n.load_post(na, n.space_index(), ty) * n.load_post(nb, n.space_index(), ty));
      });
}

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
