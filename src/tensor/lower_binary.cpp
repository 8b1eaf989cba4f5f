// Elementwise operators of two and three tensors, with broadcasting and type promotion.
#include <cmath>
#include <map>

#include "base/ieee.h"
#include "tensor/blocks.h"
#include "tensor/ops.h"

namespace assay::tensor {
namespace {

using BinaryFn = V (*)(Context&, V, V);

V alpha_times(Context& c, V b) {
  Scalar alpha = c.scalar("alpha");
  if (!c.given("alpha") || std::visit([](auto v) { return v == 1; }, alpha)) return b;
  if (b.ty == Ty::Pred) return both(b, b.expr->scalar(alpha, Ty::Pred));
  return b.expr->scalar(alpha, b.ty) * b;
}
V add(Context& c, V a, V b) {
  b = alpha_times(c, b);
  return a.ty == Ty::Pred ? either(a, b) : a + b;
}
V sub(Context& c, V a, V b) {
  if (a.ty == Ty::Pred) c.invalid("subtraction is not defined for bool");
  return a.ty == Ty::Pred ? a : a - alpha_times(c, b);
}
V rsub(Context& c, V a, V b) {
  if (a.ty == Ty::Pred) c.invalid("subtraction is not defined for bool");
  return a.ty == Ty::Pred ? a : b - alpha_times(c, a);
}
V mul(Context&, V a, V b) { return a.ty == Ty::Pred ? both(a, b) : a * b; }

// Floor division of integers: toward minus infinity.
V int_floor_div(V a, V b) {
  V q = a / b;
  V rest = a - q * b;
  V differs = both(
      compare(Fn::Ne, rest, 0.0),
      a.expr->apply(Fn::PXor, Ty::Pred, {compare(Fn::Lt, rest, 0.0), compare(Fn::Lt, b, 0.0)}));
  return is_signed(a.ty) ? select(differs, q - 1.0, q) : q;
}
// The floor of the quotient of reals; PyTorch computes it through fmod, which differs from
// floor(fl(a/b)) where the rounded quotient reaches the next integer.
V floor_div(Context&, V a, V b) {
  return is_float(a.ty) ? call(Fn::Floor, a / b) : int_floor_div(a, b);
}
V div(Context& c, V a, V b) {
  std::string mode = c.str("rounding_mode");
  if (mode == "floor") return floor_div(c, a, b);
  if (mode == "trunc") return is_float(a.ty) ? call(Fn::Trunc, a / b) : a / b;
  if (!mode.empty()) c.invalid("rounding_mode must be None, 'trunc' or 'floor'");
  return a / b;
}
V fmod(Context&, V a, V b) { return call(is_float(a.ty) ? Fn::Fmod : Fn::IRem, a, b); }
// Python's modulo: the sign of the divisor.
V remainder(Context& c, V a, V b) {
  V m = fmod(c, a, b);
  if (m.ty == Ty::U8) return m;
  V nonzero = compare(is_float(a.ty) ? Fn::Neu : Fn::Ne, m, 0.0);
  V differs = a.expr->apply(Fn::PXor, Ty::Pred, {compare(Fn::Lt, b, 0.0), compare(Fn::Lt, m, 0.0)});
  return select(both(nonzero, differs), m + b, m);
}
V maximum(Context&, V a, V b) { return max(a, b); }
V minimum(Context&, V a, V b) { return min(a, b); }
V fmax(Context&, V a, V b) { return is_float(a.ty) ? call(Fn::Max, a, b) : max(a, b); }
V fmin(Context&, V a, V b) { return is_float(a.ty) ? call(Fn::Min, a, b) : min(a, b); }
template <Fn fn>
V math2(Context&, V a, V b) {
  return call(fn, a, b);
}
V logaddexp(Context&, V x, V y) {
  V apart = max(x, y) + call(Fn::Log1p, call(Fn::Exp, -call(Fn::Abs, x - y)));
  return select(both(compare(Fn::Eq, call(Fn::Abs, x), INFINITY), eq(x, y)), x, apart);
}

V xlogy(Context&, V x, V y) {
  V zero = x.expr->constant(0, x.ty);
  V r = select(compare(Fn::Eq, x, 0.0), zero, x * call(Fn::Log, y));
  return select(is_nan(y), y, r);
}

template <Fn fn>
V ordered(Context&, V a, V b) {
  if (a.ty == Ty::Pred) {
    a = cast(a, Ty::U8);
    b = cast(b, Ty::U8);
  }
  return compare(fn, a, b);
}
V equal(Context&, V a, V b) { return eq(a, b); }
V unequal(Context&, V a, V b) { return ne(a, b); }
template <Fn fn>
V logic(Context&, V a, V b) {
  return a.expr->apply(fn, Ty::Pred, {cast(a, Ty::Pred), cast(b, Ty::Pred)});
}
template <Fn fn, Fn pred>
V bitwise(Context& c, V a, V b) {
  if (is_float(a.ty)) c.invalid("needs integer or bool tensors");
  return a.ty == Ty::Pred ? a.expr->apply(pred, Ty::Pred, {a, b}) : call(fn, a, b);
}
template <Fn fn>
V shift(Context& c, V a, V b) {
  if (is_float(a.ty) || a.ty == Ty::Pred) {
    c.invalid("needs integer tensors");
    return a;
  }
  Mods m;
  return a.expr->apply(fn, a.ty, {a, cast(b, Ty::U32)}, m);
}

enum class Kind : uint8_t { Same, Float, Compare, Bool };
struct Binary {
  BinaryFn f;
  Kind kind = Kind::Same;
};

const std::map<std::string_view, Binary>& table() {
  static const std::map<std::string_view, Binary> t = {
      {"add", {add}},
      {"sub", {sub}},
      {"subtract", {sub}},
      {"rsub", {rsub}},
      {"mul", {mul}},
      {"multiply", {mul}},
      {"div", {div, Kind::Float}},
      {"divide", {div, Kind::Float}},
      {"true_divide", {div, Kind::Float}},
      {"floor_divide", {floor_div}},
      {"fmod", {fmod}},
      {"remainder", {remainder}},
      {"maximum", {maximum}},
      {"minimum", {minimum}},
      {"max", {maximum}},
      {"min", {minimum}},
      {"fmax", {fmax}},
      {"fmin", {fmin}},
      {"atan2", {math2<Fn::Atan2>, Kind::Float}},
      {"copysign", {math2<Fn::Copysign>, Kind::Float}},
      {"hypot", {math2<Fn::Hypot>}},
      {"logaddexp", {logaddexp, Kind::Float}},
      {"xlogy", {xlogy, Kind::Float}},
      {"eq", {equal, Kind::Compare}},
      {"ne", {unequal, Kind::Compare}},
      {"lt", {ordered<Fn::Lt>, Kind::Compare}},
      {"le", {ordered<Fn::Le>, Kind::Compare}},
      {"gt", {ordered<Fn::Gt>, Kind::Compare}},
      {"ge", {ordered<Fn::Ge>, Kind::Compare}},
      {"logical_and", {logic<Fn::PAnd>, Kind::Bool}},
      {"logical_or", {logic<Fn::POr>, Kind::Bool}},
      {"logical_xor", {logic<Fn::PXor>, Kind::Bool}},
      {"bitwise_and", {bitwise<Fn::And, Fn::PAnd>}},
      {"bitwise_or", {bitwise<Fn::Or, Fn::POr>}},
      {"bitwise_xor", {bitwise<Fn::Xor, Fn::PXor>}},
      {"bitwise_left_shift", {shift<Fn::Shl>}},
      {"bitwise_right_shift", {shift<Fn::Shr>}},
      {"__and__", {bitwise<Fn::And, Fn::PAnd>}},
      {"__or__", {bitwise<Fn::Or, Fn::POr>}},
      {"__xor__", {bitwise<Fn::Xor, Fn::PXor>}},
  };
  return t;
}

// The broadcast shape of all operands; records Invalid.
Shape common_shape(Context& c, const std::vector<Operand>& operands) {
  Shape shape;
  for (const Operand& o : operands) {
    if (!broadcast_shape(o.shape(), &shape)) c.invalid("shapes do not broadcast");
  }
  return shape;
}

// Comparisons of half tensors round a Python number to the tensors' dtype first.
void round_scalar(Operand* o, DType dtype) {
  auto* d = std::get_if<double>(&o->scalar);
  if (o->ref || d == nullptr) return;
  if (dtype == DType::BF16 || dtype == DType::F16) {
    *d = ieee_to_double(program::dtype_ty(dtype),
                        ieee_from_double(program::dtype_ty(dtype), *d, Round::Rn));
  }
}

}  // namespace

void lower_binary(Context& c) {
  auto it = table().find(c.base());
  if (it == table().end()) return c.unsupported("no formula");
  Binary b = it->second;
  Operand x = c.operand("self"), y = c.operand("other");
  DType common = result_type(std::vector<Operand>{x, y});
  if (c.given("rounding_mode") && b.kind == Kind::Float) b.kind = Kind::Same;
  if (b.kind == Kind::Float) common = float_result(common);
  if (common == DType::Bool && (c.base() == "div" || c.base() == "floor_divide" ||
                                c.base() == "fmod" || c.base() == "remainder")) {
    return c.invalid("not defined for bool");
  }
  if (b.kind == Kind::Compare) {
    round_scalar(&x, common);
    round_scalar(&y, common);
  }
  bool truth = b.kind == Kind::Compare || b.kind == Kind::Bool;
  Ref out = c.out(0, truth ? DType::Bool : common, common_shape(c, {x, y}));
  // logical_and and kin test each operand in its own type.
  Ty ty = b.kind == Kind::Bool ? Ty::None : compute_type(common);
  map(c, out, {{x, ty}, {y, ty}},
      [&](Expr&, const std::vector<V>& v) { return b.f(c, v[0], v[1]); });
}

namespace {

V int_power(V base, int64_t n) {
  V r = base.expr->constant(1, base.ty);
  bool first = true;
  for (V square = base; n > 0; n >>= 1) {
    if (n & 1) {
      r = first ? square : r * square;
      first = false;
    }
    if (n > 1) square = square * square;
  }
  return r;
}

// ATen/native/cuda/PowKernel.cu: small exponents are products and roots.
V power_scalar(V x, double e) {
  if (e == 0) return x.expr->constant(1, x.ty);
  if (e == 1) return x;
  if (e == 2) return x * x;
  if (e == 3) return x * x * x;
  if (e == 0.5) return call(Fn::Sqrt, x);
  if (e == -0.5) return call(Fn::Rsqrt, x);
  if (e == -1) return 1.0 / x;
  if (e == -2) return 1.0 / (x * x);
  return call(Fn::Pow, x, x.expr->scalar(e, x.ty));
}

}  // namespace

void lower_pow(Context& c) {
  Operand x = c.operand("self"), e = c.operand("exponent");
  DType dtype = result_type(std::vector<Operand>{x, e});
  Ref out = c.out(0, dtype, common_shape(c, {x, e}));
  Ty ty = compute_type(dtype);
  if (!is_float(ty)) {
    auto* n = std::get_if<int64_t>(&e.scalar);
    if (e.ref || n == nullptr || ty == Ty::Pred) {
      return c.unsupported("integer powers with a tensor exponent");
    }
    if (*n < 0) return c.invalid("integers to negative powers");
    return map(c, out, {{x, ty}},
               [n](Expr&, const std::vector<V>& v) { return int_power(v[0], *n); });
  }
  if (e.ref) {
    return map(c, out, {{x, ty}, {e, ty}},
               [](Expr&, const std::vector<V>& v) { return call(Fn::Pow, v[0], v[1]); });
  }
  double exponent = std::visit([](auto v) { return static_cast<double>(v); }, e.scalar);
  map(c, out, {{x, ty}},
      [&](Expr&, const std::vector<V>& v) { return power_scalar(v[0], exponent); });
}

// clamp, clamp_min, clamp_max: scalars or tensors; NaN propagates.
void lower_clamp(Context& c) {
  Operand x = c.operand("self");
  std::vector<Operand> all{x};
  bool low = c.given("min"), high = c.given("max");
  if (!low && !high) return c.invalid("at least one of min and max must be given");
  if (low) all.push_back(c.operand("min"));
  if (high) all.push_back(c.operand("max"));
  DType dtype = result_type(all);
  Ref out = c.out(0, dtype, common_shape(c, all));
  Ty ty = compute_type(dtype);
  std::vector<MapIn> ins;
  for (const Operand& o : all) ins.emplace_back(o, ty);
  map(c, out, ins, [&](Expr&, const std::vector<V>& v) {
    V r = v[0];
    if (low) r = max(r, v[1]);
    if (high) r = min(r, v.back());
    return r;
  });
}

void lower_where(Context& c) {
  Ref p = c.tensor("condition");
  Operand a = c.operand("self"), b = c.operand("other");
  DType dtype = result_type(std::vector<Operand>{a, b});
  Operand po;
  po.ref = p;
  Ref out = c.out(0, dtype, common_shape(c, {po, a, b}));
  Ty ty = value_type(dtype);
  map(c, out, {{p, Ty::Pred}, {a, ty}, {b, ty}},
      [](Expr&, const std::vector<V>& v) { return select(v[0], v[1], v[2]); });
}

void lower_masked_fill(Context& c) {
  Ref x = c.tensor("self"), mask = c.tensor("mask");
  Operand value = c.operand("value"), xo, mo;
  xo.ref = x;
  mo.ref = mask;
  if (value.ref && value.ref->rank() != 0) return c.invalid("value must be a 0-d tensor");
  if (mask.dtype != DType::Bool) return c.invalid("mask must be bool");
  Ref out = c.out(0, x.dtype, common_shape(c, {xo, mo}));
  Ty ty = value_type(x.dtype);
  map(c, out, {{mask, Ty::Pred}, {value, ty}, {x, ty}},
      [](Expr&, const std::vector<V>& v) { return select(v[0], v[1], v[2]); });
}

// addcmul: self + value * t1 * t2; addcdiv: self + value * t1 / t2; lerp.
void lower_ternary(Context& c) {
  bool lerp = c.base() == "lerp";
  std::vector<Operand> all{c.operand("self"), c.operand(lerp ? "end" : "tensor1"),
                           c.operand(lerp ? "weight" : "tensor2")};
  DType dtype = result_type(all);
  Ty ty = compute_type(dtype);
  Ref out = c.out(0, dtype, common_shape(c, all));
  std::vector<MapIn> ins;
  for (const Operand& o : all) ins.emplace_back(o, ty);
  map(c, out, ins, [&](Expr& e, const std::vector<V>& v) {
    if (lerp) {
      V diff = v[1] - v[0];
      V small = compare(Fn::Lt, call(Fn::Abs, v[2]), 0.5);
      return select(small, v[0] + v[2] * diff, v[1] - diff * (1.0 - v[2]));
    }
    V scaled = e.scalar(c.scalar("value", int64_t{1}), ty) * v[1];
    return v[0] + (c.base() == "addcmul" ? scaled * v[2] : scaled / v[2]);
  });
}

}  // namespace assay::tensor
