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

// Distances of each row of x1 from each row of x2.
void lower_cdist(Context& c) {
  Ref a = c.tensor("x1"), b = c.tensor("x2");
  double p = c.number("p", 2);
  if (a.rank() < 2 || b.rank() < 2 || a.shape.back() != b.shape.back()) {
    return c.invalid("needs matrices with rows of equal length");
  }
  if (!(p > 0) || std::isinf(p)) return c.unsupported("p that is not positive and finite");
  DType dtype = result_type(std::vector<Ref>{a, b});
  Ref d = pairwise_distance(c, unsqueeze(a, a.rank() - 1), unsqueeze(b, b.rank() - 2), p, 0, dtype);
  if (!c.failed()) copy(c, c.out(0, dtype, d.shape), d);
}

}  // namespace assay::tensor
