// Normalizations: softmax, layer, group, instance and batch norm.
#include <fmt/format.h>

#include "tensor/blocks.h"
#include "tensor/ops.h"

namespace assay::tensor {

void softmax(Context& c, const Ref& out, const Ref& x, int dim, bool logarithmic) {
  DType wide = x.dtype == DType::F64 ? DType::F64 : DType::F32;
  if (out.dtype == DType::F64) wide = DType::F64;
  Ty ty = compute_type(wide);
  Reduction over{x.shape, {dim}};
  Shape kept = reduced_shape(x.shape, over.dims, false);
  Ref m = c.temp(wide, kept), s = c.temp(wide, kept);
  Ref ms = spread_dims(m, x.shape, over.dims), ss = spread_dims(s, x.shape, over.dims);
  reduce(c, over, ReduceKind::Max, m, {{x, ty}},
         [](Expr&, const std::vector<V>& v) { return v[0]; });
  reduce(c, over, ReduceKind::Sum, s, {{x, ty}, {ms, ty}},
         [](Expr&, const std::vector<V>& v) { return call(Fn::Exp, v[0] - v[1]); });
  map(c, out, {{x, ty}, {ms, ty}, {ss, ty}}, [&](Expr&, const std::vector<V>& v) {
    V shifted = v[0] - v[1];
    return logarithmic ? shifted - call(Fn::Log, v[2]) : call(Fn::Exp, shifted) / v[2];
  });
}

// softmax.int, log_softmax.int (dtype) and _softmax, _log_softmax (half_to_float).
void lower_softmax(Context& c) {
  Ref x = c.tensor("self");
  DType dtype = c.dtype("dtype").value_or(c.flag("half_to_float") ? DType::F32 : x.dtype);
  if (!program::dtype_is_float(dtype)) return c.invalid("needs a floating-point tensor");
  bool logarithmic = c.base().find("log") != std::string_view::npos;
  Ref out = c.out(0, dtype, x.shape);
  int dim = c.wrap_dim(c.integer("dim"), x.rank());
  if (c.failed()) return;
  if (x.rank() == 0) return fill(c, out, logarithmic ? 0.0 : 1.0);
  softmax(c, out, x, dim, logarithmic);
}

namespace {

DType wide_of(DType t) { return t == DType::F64 ? DType::F64 : DType::F32; }

// Saved statistics of half tensors are float32 on CUDA and half on the CPU; the step says which.
DType saved_dtype(const Context& c, size_t k, DType x) {
  const program::TensorView* out = c.declared(k);
  return out != nullptr && out->dtype == x ? x : wide_of(x);
}

// The statistics of a normalization and how its tensors index them: all Refs have x's rank (strides
// 0 where a tensor does not depend on a dimension).
struct Affine2 {
  Ref mean, rstd;
  std::optional<Ref> weight, bias;
};

// out = (x - mean) * rstd * weight + bias
void normalize(Context& c, const Ref& out, const Ref& x, const Affine2& a) {
  Ty ty = compute_type(wide_of(x.dtype));
  std::vector<MapIn> ins{{x, ty}, {a.mean, ty}, {a.rstd, ty}};
  if (a.weight) ins.emplace_back(*a.weight, ty);
  if (a.bias) ins.emplace_back(*a.bias, ty);
  map(c, out, ins, [&](Expr&, const std::vector<V>& v) {
    V y = (v[0] - v[1]) * v[2];
    if (a.weight) y = y * v[3];
    return a.bias ? y + v.back() : y;
  });
}

// 1 / sqrt(var + eps)
void reciprocal_root(Context& c, const Ref& out, const Ref& var, double eps) {
  Ty ty = compute_type(wide_of(var.dtype));
  map(c, out, {{var, ty}},
      [&](Expr& e, const std::vector<V>& v) { return call(Fn::Rsqrt, v[0] + e.scalar(eps, ty)); });
}

bool channel_vector(Context& c, const std::optional<Ref>& r, int64_t channels, const char* what) {
  if (!r || (r->rank() == 1 && r->shape[0] == channels)) return true;
  c.invalid(fmt::format("{} must have one element for each of {} channels", what, channels));
  return false;
}

// A [channels] vector seen with x's shape, channels along `dim`.
std::optional<Ref> along(const std::optional<Ref>& v, const Shape& shape, int dim) {
  if (!v) return std::nullopt;
  Ref r = *v;
  for (int k = dim + 1; k < static_cast<int>(shape.size()); ++k) r = unsqueeze(r, r.rank());
  return expand(r, shape);
}

}  // namespace

// layer_norm and native_layer_norm (out, mean, rstd): over the last dimensions.
void lower_layer_norm(Context& c) {
  bool native = c.base() == "native_layer_norm";
  Ref x = c.tensor("input");
  Shape norm = c.ints("normalized_shape");
  int outer = x.rank() - static_cast<int>(norm.size());
  if (norm.empty() || outer < 0 || !std::equal(norm.begin(), norm.end(), x.shape.begin() + outer)) {
    return c.invalid("normalized_shape must end the input's shape");
  }
  std::optional<Ref> weight = c.maybe("weight"), bias = c.maybe("bias");
  for (const auto& p : {weight, bias}) {
    if (p && p->shape != norm) return c.invalid("weight and bias must have normalized_shape");
  }
  std::vector<int> dims;
  for (int k = outer; k < x.rank(); ++k) dims.push_back(k);
  DType wide = wide_of(x.dtype);
  Ref out = c.out(0, x.dtype, x.shape);
  if (c.failed()) return;
  Moments m = moments(c, x, dims, wide, 0);
  Shape kept = reduced_shape(x.shape, dims, true);
  Ref rstd = c.temp(wide, m.var.shape);
  reciprocal_root(c, rstd, m.var, c.number("eps", 1e-5));
  Affine2 a{spread_dims(m.mean, x.shape, dims), spread_dims(rstd, x.shape, dims), {}, {}};
  if (weight) a.weight = expand(*weight, x.shape);
  if (bias) a.bias = expand(*bias, x.shape);
  normalize(c, out, x, a);
  if (!native) return;
  copy(c, drop_dims(c.out(1, saved_dtype(c, 1, x.dtype), kept), dims, true), m.mean);
  copy(c, drop_dims(c.out(2, saved_dtype(c, 2, x.dtype), kept), dims, true), rstd);
}

void lower_rms_norm(Context& c) {
  Ref x = c.tensor("input");
  Shape norm = c.ints("normalized_shape");
  int outer = x.rank() - static_cast<int>(norm.size());
  std::optional<Ref> weight = c.maybe("weight");
  if (norm.empty() || outer < 0 || !std::equal(norm.begin(), norm.end(), x.shape.begin() + outer) ||
      (weight && weight->shape != norm)) {
    return c.invalid("normalized_shape must end the input's shape");
  }
  std::vector<int> dims;
  for (int k = outer; k < x.rank(); ++k) dims.push_back(k);
  DType wide = wide_of(x.dtype);
  Ty ty = compute_type(wide);
  double eps = c.given("eps") ? c.number("eps") : (x.dtype == DType::F64 ? 0x1p-52 : 0x1p-23);
  Ref out = c.out(0, x.dtype, x.shape);
  if (c.failed()) return;
  Reduction over{x.shape, dims};
  double n = static_cast<double>(over.count());
  Ref rstd = c.temp(wide, reduced_shape(x.shape, dims, false));
  reduce(
      c, over, ReduceKind::Sum, rstd, {{x, ty}},
      [](Expr&, const std::vector<V>& v) { return v[0] * v[0]; },
      [&](NestBuilder& b, V s) { return call(Fn::Rsqrt, s / n + b.post().scalar(eps, ty)); });
  std::vector<MapIn> ins{{x, ty}, {spread_dims(rstd, x.shape, dims), ty}};
  if (weight) ins.emplace_back(*weight, ty);
  map(c, out, ins, [&](Expr&, const std::vector<V>& v) {
    V y = v[0] * v[1];
    return weight ? y * v[2] : y;
  });
}

// group_norm and native_group_norm (out, mean [N, G], rstd [N, G]).
void lower_group_norm(Context& c) {
  bool native = c.base() == "native_group_norm";
  Ref x = c.tensor("input");
  int64_t groups = c.integer(native ? "group" : "num_groups");
  if (x.rank() < 2 || groups < 1 || x.shape[1] % groups != 0) {
    return c.invalid("num_groups must divide the channels");
  }
  std::optional<Ref> weight = c.maybe("weight"), bias = c.maybe("bias");
  if (!channel_vector(c, weight, x.shape[1], "weight")) return;
  if (!channel_vector(c, bias, x.shape[1], "bias")) return;
  int64_t per_group = x.shape[1] / groups;
  DType wide = wide_of(x.dtype);
  Ref out = unflatten(c.out(0, x.dtype, x.shape), 1, groups, per_group);
  Ref g = unflatten(x, 1, groups, per_group);  // [N, G, C/G, ...]
  std::vector<int> dims;
  for (int k = 2; k < g.rank(); ++k) dims.push_back(k);
  if (c.failed()) return;
  Moments m = moments(c, g, dims, wide, 0);
  Ref rstd = c.temp(wide, m.var.shape);
  reciprocal_root(c, rstd, m.var, c.number("eps", 1e-5));
  Affine2 a{spread_dims(m.mean, g.shape, dims), spread_dims(rstd, g.shape, dims), {}, {}};
  auto grouped = [&](const std::optional<Ref>& v) -> std::optional<Ref> {
    if (!v) return std::nullopt;
    return unflatten(*along(v, x.shape, 1), 1, groups, per_group);
  };
  a.weight = grouped(weight);
  a.bias = grouped(bias);
  normalize(c, out, g, a);
  if (!native) return;
  // Half statistics stay half unless the weights are wider (ATen's param_scalar_type).
  bool mixed = (weight && weight->dtype != x.dtype) || (bias && bias->dtype != x.dtype);
  DType saved = mixed ? wide : x.dtype;
  copy(c, c.out(1, saved, m.mean.shape), m.mean);
  copy(c, c.out(2, saved, m.mean.shape), rstd);
}

namespace {

struct BatchNorm {
  Ref x;
  std::optional<Ref> weight, bias, mean, var;
  bool training = true;
  double momentum = 0.1, eps = 1e-5;
};

std::optional<BatchNorm> batch_norm_args(Context& c) {
  BatchNorm n;
  n.x = c.tensor("input");
  if (n.x.rank() < 2) {
    c.invalid("input must have rank 2 or more");
    return std::nullopt;
  }
  n.weight = c.maybe("weight");
  n.bias = c.maybe("bias");
  n.mean = c.maybe("running_mean");
  n.var = c.maybe("running_var");
  int64_t channels = n.x.shape[1];
  if (!channel_vector(c, n.weight, channels, "weight") ||
      !channel_vector(c, n.bias, channels, "bias") ||
      !channel_vector(c, n.mean, channels, "running_mean") ||
      !channel_vector(c, n.var, channels, "running_var")) {
    return std::nullopt;
  }
  n.training = c.flag("training", c.base() != "_native_batch_norm_legit_no_training");
  n.momentum = c.number("momentum", 0.1);
  n.eps = c.number("eps", 1e-5);
  if (!n.training && (!n.mean || !n.var)) {
    c.invalid("evaluation needs running statistics");
    return std::nullopt;
  }
  return n;
}

struct BatchStats {
  Ref mean, rstd;
  std::optional<Ref> biased_var;  // training only
};

BatchStats batch_norm(Context& c, const Ref& out, const BatchNorm& n) {
  DType wide = wide_of(n.x.dtype);
  std::vector<int> dims;
  for (int k = 0; k < n.x.rank(); ++k) {
    if (k != 1) dims.push_back(k);
  }
  BatchStats s;
  s.rstd = c.temp(wide, {n.x.shape[1]});
  if (n.training) {
    Moments m = moments(c, n.x, dims, wide, 0);
    s.mean = m.mean;
    s.biased_var = m.var;
    reciprocal_root(c, s.rstd, m.var, n.eps);
  } else {
    s.mean = *n.mean;
    reciprocal_root(c, s.rstd, *n.var, n.eps);
  }
  Affine2 a{*along(s.mean, n.x.shape, 1), *along(s.rstd, n.x.shape, 1),
            along(n.weight, n.x.shape, 1), along(n.bias, n.x.shape, 1)};
  normalize(c, out, n.x, a);
  return s;
}

// running' = (1 - momentum) * running + momentum * statistic; the variance is unbiased.
void update_running(Context& c, const Ref& out, const Ref& running, const Ref& statistic,
                    double momentum, double bessel_n) {
  Ty ty = compute_type(wide_of(running.dtype));
  map(c, out, {{running, ty}, {statistic, ty}}, [&](Expr& e, const std::vector<V>& v) {
    V s = bessel_n > 0 ? v[1] * bessel_n / (bessel_n - 1) : v[1];
    V m = e.scalar(momentum, ty);
    return (1.0 - m) * v[0] + m * s;
  });
}

}  // namespace

// batch_norm, _native_batch_norm_legit{,.no_stats,_functional,_no_training}, native_batch_norm,
// cudnn_batch_norm. Forms that update the running statistics do it as outputs 3 and 4; in-place
// forms leave that to their caller's outputs.
void lower_batch_norm(Context& c) {
  std::optional<BatchNorm> n = batch_norm_args(c);
  if (!n) return;
  Ref out = c.out(0, n->x.dtype, n->x.shape);
  Shape channels{n->x.shape[1]};
  if (c.failed()) return;
  BatchStats s = batch_norm(c, out, *n);
  bool plain = c.base() == "batch_norm";
  size_t next = 1;
  if (!plain) {
    // In evaluation CUDA saves what it normalized by; the CPU saves two empty tensors.
    for (size_t k : {1, 2}) {
      const program::TensorView* given = c.declared(k);
      bool none = !n->training && given != nullptr && given->shape == Shape{0};
      Ref saved = c.out(k, saved_dtype(c, k, n->x.dtype), none ? Shape{0} : channels);
      if (!none) copy(c, saved, k == 1 ? s.mean : s.rstd);
    }
    next = 3;
  }
  bool updates = c.base() != "_native_batch_norm_legit_no_training" && n->mean && n->var;
  if (!updates ||
      (next == 3 && c.base() != "_native_batch_norm_legit_functional" && !c.wants(next))) {
    return;
  }
  if (plain && !c.wants(next)) return;
  Ref mean_out = c.out(next, n->mean->dtype, channels);
  Ref var_out = c.out(next + 1, n->var->dtype, channels);
  if (!n->training) {
    copy(c, mean_out, *n->mean);
    copy(c, var_out, *n->var);
    return;
  }
  double count = static_cast<double>(shape_numel(n->x.shape)) / static_cast<double>(channels[0]);
  update_running(c, mean_out, *n->mean, s.mean, n->momentum, 0);
  update_running(c, var_out, *n->var, *s.biased_var, n->momentum, count);
}

// instance_norm: batch norm of each sample; running statistics are the mean over the batch.
void lower_instance_norm(Context& c) {
  Ref x = c.tensor("input");
  if (x.rank() < 3) return c.invalid("input must have rank 3 or more");
  std::optional<Ref> weight = c.maybe("weight"), bias = c.maybe("bias");
  std::optional<Ref> mean = c.maybe("running_mean"), var = c.maybe("running_var");
  int64_t channels = x.shape[1];
  if (!channel_vector(c, weight, channels, "weight") ||
      !channel_vector(c, bias, channels, "bias") ||
      !channel_vector(c, mean, channels, "running_mean") ||
      !channel_vector(c, var, channels, "running_var")) {
    return;
  }
  double eps = c.number("eps", 1e-5);
  DType wide = wide_of(x.dtype);
  Ref out = c.out(0, x.dtype, x.shape);
  if (c.failed()) return;
  Affine2 a;
  a.weight = along(weight, x.shape, 1);
  a.bias = along(bias, x.shape, 1);
  if (c.flag("use_input_stats", true)) {
    if (mean && c.wants(1)) return c.unsupported("updating running statistics");
    std::vector<int> dims;
    for (int k = 2; k < x.rank(); ++k) dims.push_back(k);
    Moments m = moments(c, x, dims, wide, 0);
    Ref rstd = c.temp(wide, m.var.shape);
    reciprocal_root(c, rstd, m.var, eps);
    a.mean = spread_dims(m.mean, x.shape, dims);
    a.rstd = spread_dims(rstd, x.shape, dims);
  } else {
    if (!mean || !var) return c.invalid("running statistics are missing");
    Ref rstd = c.temp(wide, {channels});
    reciprocal_root(c, rstd, *var, eps);
    a.mean = *along(mean, x.shape, 1);
    a.rstd = *along(rstd, x.shape, 1);
  }
  normalize(c, out, x, a);
}

}  // namespace assay::tensor
