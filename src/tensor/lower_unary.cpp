// Elementwise operators of one tensor. Formulas are PyTorch's (ATen/native/cuda/Activation*.cu,
// Unary*.cu), constants exact, Python scalars rounded to the compute type.
#include <cmath>
#include <map>
#include <numbers>

#include "tensor/blocks.h"
#include "tensor/ops.h"

namespace assay::tensor {
namespace {

// Computes in the compute type; s is the context, for further scalar arguments.
using UnaryFn = V (*)(Context&, V);

template <Fn fn>
V math(Context&, V x) {
  return call(fn, x);
}

V scalar_arg(Context& c, V x, const char* name, double otherwise) {
  return x.expr->scalar(c.scalar(name, otherwise), x.ty);
}

V sigmoid(Context&, V x) { return 1.0 / (1.0 + call(Fn::Exp, -x)); }
V silu(Context&, V x) { return x / (1.0 + call(Fn::Exp, -x)); }
V reciprocal(Context&, V x) { return 1.0 / x; }
V relu(Context&, V x) { return max(x, x.expr->constant(0, x.ty)); }
V mish(Context&, V x) { return x * call(Fn::Tanh, call(Fn::Log1p, call(Fn::Exp, x))); }
V clamp_const(V x, double lo, double hi) {
  return min(max(x, x.expr->constant(lo, x.ty)), x.expr->constant(hi, x.ty));
}
V relu6(Context&, V x) { return clamp_const(x, 0, 6); }
V hardswish(Context&, V x) { return x * clamp_const(x + 3.0, 0, 6) / 6.0; }
V hardsigmoid(Context&, V x) { return clamp_const(x + 3.0, 0, 6) / 6.0; }
V log_sigmoid(Context&, V x) {
  V zero = x.expr->constant(0, x.ty);
  return min(zero, x) - call(Fn::Log1p, call(Fn::Exp, -call(Fn::Abs, x)));
}
V frac(Context&, V x) { return x - call(Fn::Trunc, x); }

V gelu(Context& c, V x) {
  std::string approximate = c.str("approximate", "none");
  if (approximate == "none") {
    return 0.5 * x * (1.0 + call(Fn::Erf, x * (std::numbers::sqrt2 / 2)));
  }
  if (approximate != "tanh") c.invalid("approximate must be 'none' or 'tanh'");
  double sqrt_2_over_pi = std::sqrt(2 / std::numbers::pi);
  V inner = sqrt_2_over_pi * (x + 0.044715 * (x * x * x));
  return 0.5 * x * (1.0 + call(Fn::Tanh, inner));
}

V softplus(Context& c, V x) {
  V beta = scalar_arg(c, x, "beta", 1);
  V scaled = x * beta;
  V soft = call(Fn::Log1p, call(Fn::Exp, scaled)) / beta;
  return select(compare(Fn::Gt, scaled, scalar_arg(c, x, "threshold", 20)), x, soft);
}

V hardtanh(Context& c, V x) {
  return min(max(x, scalar_arg(c, x, "min_val", -1)), scalar_arg(c, x, "max_val", 1));
}

V leaky_relu(Context& c, V x) {
  return select(compare(Fn::Gt, x, 0.0), x, x * scalar_arg(c, x, "negative_slope", 0.01));
}

V elu_with(V x, V alpha, V scale, V input_scale) {
  V negative = call(Fn::Expm1, x * input_scale) * (alpha * scale);
  return select(compare(Fn::Le, x, 0.0), negative, x * scale);
}
V elu(Context& c, V x) {
  return elu_with(x, scalar_arg(c, x, "alpha", 1), scalar_arg(c, x, "scale", 1),
                  scalar_arg(c, x, "input_scale", 1));
}
V selu(Context&, V x) {
  Expr& e = *x.expr;
  return elu_with(x, e.scalar(1.6732632423543772848170429916717, x.ty),
                  e.scalar(1.0507009873554804934193349852946, x.ty), e.constant(1, x.ty));
}
V celu(Context& c, V x) {
  V alpha = scalar_arg(c, x, "alpha", 1);
  return select(compare(Fn::Le, x, 0.0), call(Fn::Expm1, x / alpha) * alpha, x);
}

V threshold(Context& c, V x) {
  V t = scalar_arg(c, x, "threshold", 0);
  return select(compare(Fn::Le, x, t), scalar_arg(c, x, "value", 0), x);
}
V softshrink(Context& c, V x) {
  V l = scalar_arg(c, x, "lambd", 0.5);
  V low = select(compare(Fn::Lt, x, -l), x + l, x.expr->constant(0, x.ty));
  V r = select(compare(Fn::Gt, x, l), x - l, low);
  return select(is_nan(x), x, r);
}
V hardshrink(Context& c, V x) {
  V l = scalar_arg(c, x, "lambd", 0.5);
  V inside = both(compare(Fn::Ge, x, -l), compare(Fn::Le, x, l));
  return select(inside, x.expr->constant(0, x.ty), x);
}
V logit(Context& c, V x) {
  if (c.given("eps")) {
    V eps = scalar_arg(c, x, "eps", 0);
    x = min(max(x, eps), 1.0 - eps);
  }
  return call(Fn::Log, x / (1.0 - x));
}

// Operators that integers keep their type under.
V absolute(Context&, V x) {
  if (x.ty == Ty::U8) return x;
  return call(is_float(x.ty) ? Fn::Abs : Fn::IAbs, x);
}
V negative(Context&, V x) { return -x; }
V square(Context&, V x) { return x * x; }
V positive(Context&, V x) { return x; }
V sign(Context&, V x) {
  if (x.ty == Ty::Pred) return x;
  Expr& e = *x.expr;
  V zero = e.constant(0, x.ty), one = e.constant(1, x.ty);
  V below = x.ty == Ty::U8 ? zero : select(compare(Fn::Lt, x, 0.0), -one, zero);
  return select(compare(Fn::Gt, x, 0.0), one, below);
}
template <Fn fn>
V rounding(Context& c, V x) {
  if (c.integer("decimals") != 0) c.unsupported("decimals != 0");
  return is_float(x.ty) ? call(fn, x) : x;
}
V bitwise_not(Context& c, V x) {
  if (is_float(x.ty)) c.invalid("needs an integer or bool tensor");
  return x.ty == Ty::Pred ? negate(x) : call(Fn::Not, x);
}

V isnan(Context&, V x) { return is_nan(x); }
V isinf(Context&, V x) {
  return is_float(x.ty) ? compare(Fn::Eq, call(Fn::Abs, x), INFINITY) : x.expr->boolean(false);
}
V isfinite(Context&, V x) {
  return is_float(x.ty) ? compare(Fn::Lt, call(Fn::Abs, x), INFINITY) : x.expr->boolean(true);
}
V logical_not(Context&, V x) { return negate(cast(x, Ty::Pred)); }
V signbit(Context&, V x) {
  if (!is_float(x.ty)) return compare(Fn::Lt, x, 0.0);
  return compare(Fn::Lt, call(Fn::Copysign, x.expr->constant(1, x.ty), x), 0.0);
}

enum class Kind : uint8_t { Float, Same, Bool };
struct Unary {
  UnaryFn f;
  Kind kind = Kind::Float;  // Float: integers become float32; Same: dtype kept; Bool: gives bool
};

const std::map<std::string_view, Unary>& table() {
  static const std::map<std::string_view, Unary> t = {
      {"exp", {math<Fn::Exp>}},
      {"exp2", {math<Fn::Exp2>}},
      {"expm1", {math<Fn::Expm1>}},
      {"log", {math<Fn::Log>}},
      {"log2", {math<Fn::Log2>}},
      {"log10", {math<Fn::Log10>}},
      {"log1p", {math<Fn::Log1p>}},
      {"sqrt", {math<Fn::Sqrt>}},
      {"rsqrt", {math<Fn::Rsqrt>}},
      {"sin", {math<Fn::Sin>}},
      {"cos", {math<Fn::Cos>}},
      {"tan", {math<Fn::Tan>}},
      {"asin", {math<Fn::Asin>}},
      {"acos", {math<Fn::Acos>}},
      {"atan", {math<Fn::Atan>}},
      {"sinh", {math<Fn::Sinh>}},
      {"cosh", {math<Fn::Cosh>}},
      {"tanh", {math<Fn::Tanh>}},
      {"asinh", {math<Fn::Asinh>}},
      {"acosh", {math<Fn::Acosh>}},
      {"atanh", {math<Fn::Atanh>}},
      {"erf", {math<Fn::Erf>}},
      {"erfc", {math<Fn::Erfc>}},
      {"erfinv", {math<Fn::Erfinv>}},
      {"lgamma", {math<Fn::Lgamma>}},
      {"sigmoid", {sigmoid}},
      {"silu", {silu}},
      {"reciprocal", {reciprocal}},
      {"mish", {mish}},
      {"hardswish", {hardswish}},
      {"hardsigmoid", {hardsigmoid}},
      {"log_sigmoid", {log_sigmoid}},
      {"gelu", {gelu}},
      {"softplus", {softplus}},
      {"leaky_relu", {leaky_relu}},
      {"elu", {elu}},
      {"selu", {selu}},
      {"celu", {celu}},
      {"softshrink", {softshrink}},
      {"hardshrink", {hardshrink}},
      {"logit", {logit}},
      {"relu", {relu, Kind::Same}},
      {"relu6", {relu6, Kind::Same}},
      {"hardtanh", {hardtanh, Kind::Same}},
      {"threshold", {threshold, Kind::Same}},
      {"abs", {absolute, Kind::Same}},
      {"neg", {negative, Kind::Same}},
      {"negative", {negative, Kind::Same}},
      {"absolute", {absolute, Kind::Same}},
      {"square", {square, Kind::Same}},
      {"positive", {positive, Kind::Same}},
      {"sign", {sign, Kind::Same}},
      {"sgn", {sign, Kind::Same}},
      {"floor", {rounding<Fn::Floor>, Kind::Same}},
      {"ceil", {rounding<Fn::Ceil>, Kind::Same}},
      {"trunc", {rounding<Fn::Trunc>, Kind::Same}},
      {"fix", {rounding<Fn::Trunc>, Kind::Same}},
      {"round", {rounding<Fn::Rint>, Kind::Same}},
      {"frac", {frac, Kind::Same}},
      {"bitwise_not", {bitwise_not, Kind::Same}},
      {"isnan", {isnan, Kind::Bool}},
      {"isinf", {isinf, Kind::Bool}},
      {"isfinite", {isfinite, Kind::Bool}},
      {"logical_not", {logical_not, Kind::Bool}},
      {"signbit", {signbit, Kind::Bool}},
  };
  return t;
}

}  // namespace

void lower_unary(Context& c) {
  auto it = table().find(c.base());
  if (it == table().end()) return c.unsupported("no formula");
  const Unary& u = it->second;
  Ref x = c.tensor("self");
  DType dtype = u.kind == Kind::Bool ? DType::Bool
                                     : (u.kind == Kind::Float ? float_result(x.dtype) : x.dtype);
  Ty compute = compute_type(u.kind == Kind::Float ? dtype : x.dtype);
  if (compute == Ty::Pred && u.kind == Kind::Same && c.base() != "bitwise_not" &&
      c.base() != "sign" && c.base() != "sgn" && c.base() != "positive") {
    return c.invalid("not defined for bool");
  }
  Ref out = c.out(0, dtype, x.shape);
  map(c, out, {{x, compute}}, [&](Expr&, const std::vector<V>& v) { return u.f(c, v[0]); });
}

// prelu: the weight has one element or one for each channel (dimension 1).
void lower_prelu(Context& c) {
  Ref x = c.tensor("self"), w = c.tensor("weight");
  Ref out = c.out(0, x.dtype, x.shape);
  Shape shape(std::max(x.rank(), 1), 1);
  if (c.base() == "prelu" && shape_numel(w.shape) != 1) {
    int dim = x.rank() > 1 ? 1 : 0;
    if (w.rank() != 1 || x.rank() < 1 || w.shape[0] != x.shape[dim]) {
      return c.invalid("weight must have one element for each channel");
    }
    for (int k = dim + 1; k < x.rank(); ++k) w = unsqueeze(w, w.rank());
  } else if (c.base() == "prelu") {
    while (w.rank() > 0) w = select(w, 0, 0);
  }
  Shape check = w.shape;
  if (!broadcast_shape(x.shape, &check) || check != x.shape) return c.invalid("weight's shape");
  Ty ty = compute_type(x.dtype);
  map(c, out, {{x, ty}, {w, ty}}, [](Expr&, const std::vector<V>& v) {
    return select(compare(Fn::Gt, v[0], 0.0), v[0], v[1] * v[0]);
  });
}

void lower_nan_to_num(Context& c) {
  Ref x = c.tensor("self");
  Ref out = c.out(0, x.dtype, x.shape);
  double largest = x.dtype == DType::F64    ? 0x1.fffffffffffffp1023
                   : x.dtype == DType::F16  ? 65504.0
                   : x.dtype == DType::BF16 ? 0x1.fep127
                                            : 0x1.fffffep127;
  map(c, out, {{x, compute_type(x.dtype)}}, [&](Expr& e, const std::vector<V>& v) {
    V a = v[0];
    if (!is_float(a.ty)) return a;
    auto scalar = [&](const char* name, double other) {
      return e.scalar(c.given(name) ? c.number(name) : other, a.ty);
    };
    V r = select(compare(Fn::Eq, a, INFINITY), scalar("posinf", largest), a);
    r = select(compare(Fn::Eq, a, -INFINITY), scalar("neginf", -largest), r);
    return select(is_nan(a), scalar("nan", 0), r);
  });
}

// Without drop (p = 0 or evaluation) dropout is the identity; with p = 1 all is zero.
void lower_dropout(Context& c) {
  bool native = c.base() == "native_dropout";
  Ref x = c.tensor(native ? "input" : c.given("input") ? "input" : "self");
  bool train = c.flag("train", native);
  double p = c.number("p");
  if (!(p >= 0 && p <= 1)) return c.invalid("p must lie in [0, 1]");
  bool drops_all = train && p == 1;
  if (train && p > 0 && p < 1) return c.unsupported("random: dropout with p > 0 in training");
  Ref out = c.out(0, x.dtype, x.shape);
  if (drops_all) {
    fill(c, out, 0.0);
  } else {
    copy(c, out, x);
  }
  if (native) fill(c, c.out(1, DType::Bool, x.shape), !drops_all);
}

}  // namespace assay::tensor
