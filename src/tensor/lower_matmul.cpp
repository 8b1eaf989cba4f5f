// Matrix products. Products and sums are in float32 for half types; one rounding at the end.
#include <fmt/format.h>

#include <limits>

#include "tensor/blocks.h"
#include "tensor/ops.h"

namespace assay::tensor {
namespace {

struct Epilogue {
  std::optional<Ref> add;     // broadcastable to the result
  Scalar beta = int64_t{1};   // factor of `add`
  Scalar alpha = int64_t{1};  // factor of the product
};

bool is_one(const Scalar& s) {
  return std::visit([](auto v) { return v == 1; }, s);
}
bool is_zero(const Scalar& s) {
  return std::visit([](auto v) { return v == 0; }, s);
}

// out[..., m, n] = beta * add + alpha * sum_k a[..., m, k] * b[..., k, n]; batch dimensions of a
// and b are already equal to those of out.
void product(Context& c, const Ref& out, const Ref& a, const Ref& b, const Epilogue& epilogue) {
  if (c.failed()) return;
  int batch = out.rank() - 2;
  Ty ty = compute_type(out.dtype);
  NestBuilder nest(out.shape, {a.shape[batch + 1]});
  std::vector<Index> at = nest.space_index(), bt = at;
  at[batch + 1] = Index(nest.red(0));
  bt[batch] = Index(nest.red(0));
  V sum = nest.reduce(ReduceKind::Sum, nest.load(a, at, ty) * nest.load(b, bt, ty));
  if (!is_one(epilogue.alpha)) sum = nest.post().scalar(epilogue.alpha, ty) * sum;
  if (epilogue.add && !is_zero(epilogue.beta)) {
    V add = nest.load_post(expand(*epilogue.add, out.shape), nest.space_index(), ty);
    if (!is_one(epilogue.beta)) add = nest.post().scalar(epilogue.beta, ty) * add;
    sum = sum + add;
  }
  nest.store(out, nest.space_index(), sum);
  c.push(nest);
}

bool same_dtype(Context& c, const Ref& a, const Ref& b) {
  if (a.dtype == b.dtype && a.dtype != DType::Bool) return true;
  c.invalid(
      fmt::format("dtypes {} and {}", program::dtype_name(a.dtype), program::dtype_name(b.dtype)));
  return false;
}

bool inner_matches(Context& c, const Ref& a, const Ref& b, int rank) {
  if (a.rank() != rank || b.rank() != rank) {
    c.invalid(fmt::format("operands must have rank {}", rank));
    return false;
  }
  if (!same_dtype(c, a, b)) return false;
  bool fits = a.shape[rank - 1] == b.shape[rank - 2] && (rank == 2 || a.shape[0] == b.shape[0]);
  if (!fits) {
    c.invalid(
        fmt::format("shapes {} and {} do not multiply", shape_text(a.shape), shape_text(b.shape)));
  }
  return fits;
}

Epilogue epilogue_of(Context& c, const Shape& shape) {
  Epilogue e;
  e.add = c.tensor("self");
  e.beta = c.scalar("beta", int64_t{1});
  e.alpha = c.scalar("alpha", int64_t{1});
  Shape s = shape;
  if (!broadcast_shape(e.add->shape, &s) || s != shape) {
    c.invalid(fmt::format("self {} does not broadcast to {}", shape_text(e.add->shape),
                          shape_text(shape)));
  }
  return e;
}

}  // namespace

// mm, bmm, addmm, baddbmm.
void lower_mm(Context& c) {
  bool batched = c.base() == "bmm" || c.base() == "baddbmm";
  bool adds = c.base() == "addmm" || c.base() == "baddbmm";
  Ref a = c.tensor(adds ? (batched ? "batch1" : "mat1") : "self");
  Ref b = c.tensor(adds ? (batched ? "batch2" : "mat2") : "mat2");
  if (!inner_matches(c, a, b, batched ? 3 : 2)) return;
  Shape shape = a.shape;
  shape.back() = b.shape.back();
  Ref out = c.out(0, a.dtype, shape);
  product(c, out, a, b, adds ? epilogue_of(c, shape) : Epilogue{});
}

// mv, addmv, dot, vdot.
void lower_mv(Context& c) {
  bool adds = c.base() == "addmv", vector = c.base() == "dot" || c.base() == "vdot";
  Ref a = c.tensor(adds ? "mat" : "self");
  Ref b = c.tensor(vector ? (c.base() == "dot" ? "tensor" : "other") : "vec");
  if (vector) a = unsqueeze(a, 0);
  b = unsqueeze(b, b.rank());
  if (!inner_matches(c, a, b, 2)) return;
  Shape shape = vector ? Shape{} : Shape{a.shape[0]};
  Ref out = c.out(0, a.dtype, shape);
  Epilogue e = adds ? epilogue_of(c, shape) : Epilogue{};
  if (c.failed()) return;
  if (e.add) e.add = unsqueeze(expand(*e.add, shape), 1);
  if (vector) out = unsqueeze(out, 0);
  product(c, unsqueeze(out, 1), a, b, e);
}

void lower_outer(Context& c) {
  Ref a = c.tensor("self"), b = c.tensor("vec2");
  if (a.rank() != 1 || b.rank() != 1) return c.invalid("operands must be vectors");
  DType dtype = result_type(std::vector<Ref>{a, b});
  Ref out = c.out(0, dtype, {a.shape[0], b.shape[0]});
  Ty ty = compute_type(dtype);
  map(c, out, {{unsqueeze(a, 1), ty}, {b, ty}}, [](Expr&, const std::vector<V>& v) {
    return v[0].ty == Ty::Pred ? both(v[0], v[1]) : v[0] * v[1];
  });
}

namespace {

// torch.matmul's rules: 1-d operands get a dimension that the result drops; batches broadcast.
void matmul(Context& c, Ref a, Ref b, const std::optional<Ref>& bias) {
  if (a.rank() == 0 || b.rank() == 0) return c.invalid("operands must have rank 1 or more");
  if (!same_dtype(c, a, b)) return;
  bool drop_m = a.rank() == 1, drop_n = b.rank() == 1;
  if (drop_m) a = unsqueeze(a, 0);
  if (drop_n) b = unsqueeze(b, 1);
  if (a.shape.back() != b.shape[b.rank() - 2]) {
    return c.invalid(
        fmt::format("shapes {} and {} do not multiply", shape_text(a.shape), shape_text(b.shape)));
  }
  int64_t m = a.shape[a.rank() - 2], n = b.shape.back(), k = a.shape.back();
  Shape batch(a.shape.begin(), a.shape.end() - 2);
  if (!broadcast_shape(Shape(b.shape.begin(), b.shape.end() - 2), &batch)) {
    return c.invalid("batch dimensions do not broadcast");
  }
  Shape shape = batch;
  if (!drop_m) shape.push_back(m);
  if (!drop_n) shape.push_back(n);
  Ref out = c.out(0, a.dtype, shape);
  if (drop_m) out = unsqueeze(out, static_cast<int>(batch.size()));
  if (drop_n) out = unsqueeze(out, out.rank());
  auto with = [&](int64_t rows, int64_t cols) {
    Shape s = batch;
    s.insert(s.end(), {rows, cols});
    return s;
  };
  Epilogue e;
  e.add = bias;
  product(c, out, expand(a, with(m, k)), expand(b, with(k, n)), e);
}

}  // namespace

void lower_matmul(Context& c) { matmul(c, c.tensor("self"), c.tensor("other"), std::nullopt); }

// input [..., k] times weight [n, k] transposed, plus bias [n].
void lower_linear(Context& c) {
  Ref x = c.tensor("input"), w = c.tensor("weight");
  std::optional<Ref> bias = c.maybe("bias");
  if (w.rank() != 2 && w.rank() != 1) return c.invalid("weight must have rank 2");
  if (w.rank() == 1 && bias) return c.invalid("bias with a 1-d weight");
  if (bias && (bias->rank() > 1 || (bias->rank() == 1 && bias->shape[0] != w.shape[0]))) {
    return c.invalid("bias must have one element for each output");
  }
  matmul(c, x, w.rank() == 2 ? transpose(w, 0, 1) : w, bias);
}

namespace {

// scores[..., m, n] = q k^T * scale + mask; is_causal hides keys after the query.
void attention_scores(Context& c, const Ref& scores, const Ref& q, const Ref& k,
                      const std::optional<Ref>& mask) {
  int r = scores.rank();
  int64_t d = q.shape[r - 1];
  Ty ty = compute_type(scores.dtype);
  NestBuilder b(scores.shape, {d});
  std::vector<Index> qi = b.space_index(), ki = qi;
  qi[r - 1] = ki[r - 1] = Index(b.red(0));
  ki[r - 2] = Index(b.space(r - 1));
  V s = b.reduce(ReduceKind::Sum, b.load(q, qi, ty) * b.load(k, ki, ty));
  Expr& e = b.post();
  s = c.given("scale") ? s * e.scalar(c.number("scale"), ty)
                       : s / call(Fn::Sqrt, e.constant(static_cast<double>(d), ty));
  V minus_inf = e.constant(-std::numeric_limits<double>::infinity(), ty);
  if (c.flag("is_causal")) {
    V visible = compare(Fn::Ge, e.iter(b.space(r - 2) + b.space(r - 1) * -1), 0.0);
    s = select(visible, s, minus_inf);
  }
  if (mask && mask->dtype == DType::Bool) {
    s = select(b.load_post(*mask, b.space_index(), Ty::Pred), s, minus_inf);
  } else if (mask) {
    s = s + b.load_post(*mask, b.space_index(), ty);
  }
  b.store(scores, b.space_index(), s);
  c.push(b);
}

}  // namespace

// softmax(q k^T * scale + mask) v
void lower_sdpa(Context& c) {
  Ref q = c.tensor("query"), k = c.tensor("key"), v = c.tensor("value");
  std::optional<Ref> mask = c.maybe("attn_mask");
  if (c.number("dropout_p") != 0) return c.unsupported("random: dropout_p > 0");
  if (c.flag("enable_gqa")) return c.unsupported("enable_gqa");
  int r = q.rank();
  if (r < 2 || k.rank() != r || v.rank() != r || q.shape[r - 1] != k.shape[r - 1] ||
      k.shape[r - 2] != v.shape[r - 2] || !same_dtype(c, q, k) || !same_dtype(c, q, v)) {
    return c.invalid("shapes of query, key and value do not fit");
  }
  Shape batch(q.shape.begin(), q.shape.end() - 2);
  for (const Ref& t : {k, v}) {
    if (!broadcast_shape(Shape(t.shape.begin(), t.shape.end() - 2), &batch)) {
      return c.invalid("batch dimensions do not broadcast");
    }
  }
  auto with = [&](int64_t rows, int64_t cols) {
    Shape s = batch;
    s.insert(s.end(), {rows, cols});
    return s;
  };
  int64_t m = q.shape[r - 2], n = k.shape[r - 2], d = q.shape[r - 1], dv = v.shape[r - 1];
  Ref out = c.out(0, q.dtype, with(m, dv));
  if (mask) {
    Shape s = with(m, n);
    if (!broadcast_shape(mask->shape, &s) || s != with(m, n)) return c.invalid("attn_mask's shape");
    mask = expand(*mask, with(m, n));
  }
  if (c.failed()) return;
  DType wide = q.dtype == DType::F64 ? DType::F64 : DType::F32;
  Ref scores = c.temp(wide, with(m, n)), weights = c.temp(wide, with(m, n));
  attention_scores(c, scores, expand(q, with(m, d)), expand(k, with(n, d)), mask);
  softmax(c, weights, scores, r - 1, false);
  product(c, out, weights, expand(v, with(n, dv)), {});
}

}  // namespace assay::tensor
