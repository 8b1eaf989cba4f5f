#include "tensor/expr.h"

#include <cmath>

namespace assay::tensor {

using program::DType;

V Expr::push(BodyNode node, Ty result) {
  nodes_->push_back(std::move(node));
  return {this, static_cast<int>(nodes_->size()) - 1, result};
}

V Expr::read(int read, Ty ty) {
  for (size_t k = 0; k < nodes_->size(); ++k) {
    if ((*nodes_)[k].kind == BodyNode::Kind::Read && (*nodes_)[k].read == read) {
      return {this, static_cast<int>(k), ty};
    }
  }
  BodyNode n;
  n.kind = BodyNode::Kind::Read;
  n.type = ty;
  n.read = read;
  return push(n, ty);
}

V Expr::constant(double value, Ty ty) {
  if (ty == Ty::Pred) return boolean(value != 0);
  if (!is_float(ty)) return integer(static_cast<int64_t>(value), ty);
  BodyNode n;
  n.kind = BodyNode::Kind::Const;
  n.type = ty;
  n.value = value;
  return push(n, ty);
}

V Expr::integer(int64_t value, Ty ty) {
  BodyNode n;
  n.kind = BodyNode::Kind::Const;
  n.type = ty;
  n.ivalue = value;
  n.value = static_cast<double>(value);
  return push(n, ty);
}

V Expr::boolean(bool value) { return integer(value, Ty::Pred); }

V Expr::scalar(const program::Scalar& value, Ty ty) {
  if (ty == Ty::Pred) {
    return boolean(std::visit([](auto v) { return v != decltype(v){}; }, value));
  }
  if (!is_float(ty)) {
    if (auto* d = std::get_if<double>(&value)) {
      // A float scalar meets an integer compute type only where PyTorch casts it (in-place, fill).
      bool fits = std::isfinite(*d) && std::fabs(*d) < 0x1p63;
      return integer(fits ? static_cast<int64_t>(*d) : 0, ty);
    }
    auto* i = std::get_if<int64_t>(&value);
    return integer(i ? *i : static_cast<int64_t>(std::get<bool>(value)), ty);
  }
  double d = std::visit([](auto v) { return static_cast<double>(v); }, value);
  if (ty == Ty::F32) d = static_cast<float>(d);
  return constant(d, ty);
}

V Expr::iter(const Affine& value) {
  BodyNode n;
  n.kind = BodyNode::Kind::Iter;
  n.type = Ty::S64;
  n.iter = value;
  return push(n, Ty::S64);
}

V Expr::apply(Fn fn, Ty type, std::initializer_list<V> args, Mods mods) {
  BodyNode n;
  n.kind = BodyNode::Kind::Apply;
  n.fn = fn;
  n.type = type;
  n.mods = mods;
  int k = 0;
  for (const V& a : args) n.arg[k++] = a.id;
  FnClass cls = info(fn).cls;
  return push(n, cls == FnClass::C || cls == FnClass::L ? Ty::Pred : type);
}

Ty value_type(DType t) { return t == DType::Bool ? Ty::Pred : program::dtype_ty(t); }

Ty compute_type(DType t) { return t == DType::F16 || t == DType::BF16 ? Ty::F32 : value_type(t); }

V cast(V v, Ty to) {
  if (v.ty == to) return v;
  Expr& e = *v.expr;
  if (v.ty == Ty::Pred) return select(v, e.constant(1, to), e.constant(0, to));
  if (to == Ty::Pred) return compare(is_float(v.ty) ? Fn::Neu : Fn::Ne, v, 0);
  Mods m;
  m.type2 = v.ty;
  if (is_float(v.ty) && is_float(to)) return e.apply(Fn::CvtFF, to, {v}, m);
  if (is_float(to)) return e.apply(Fn::CvtIF, to, {v}, m);
  if (is_float(v.ty)) {
    m.round = Round::Rz;
    return e.apply(Fn::CvtFI, to, {v}, m);
  }
  return e.apply(Fn::CvtII, to, {v}, m);
}

namespace {
V arith(Fn real, Fn integer, V a, V b) {
  return a.expr->apply(is_float(a.ty) ? real : integer, a.ty, {a, b});
}
}  // namespace

V operator+(V a, V b) { return arith(Fn::Add, Fn::IAdd, a, b); }
V operator-(V a, V b) { return arith(Fn::Sub, Fn::ISub, a, b); }
V operator*(V a, V b) { return arith(Fn::Mul, Fn::IMul, a, b); }
V operator/(V a, V b) { return arith(Fn::Div, Fn::IDiv, a, b); }
V operator-(V a) { return a.expr->apply(is_float(a.ty) ? Fn::Neg : Fn::INeg, a.ty, {a}); }
V operator+(V a, double b) { return a + a.expr->constant(b, a.ty); }
V operator+(double a, V b) { return b.expr->constant(a, b.ty) + b; }
V operator-(V a, double b) { return a - a.expr->constant(b, a.ty); }
V operator-(double a, V b) { return b.expr->constant(a, b.ty) - b; }
V operator*(V a, double b) { return a * a.expr->constant(b, a.ty); }
V operator*(double a, V b) { return b.expr->constant(a, b.ty) * b; }
V operator/(V a, double b) { return a / a.expr->constant(b, a.ty); }
V operator/(double a, V b) { return b.expr->constant(a, b.ty) / b; }

V call(Fn fn, V a) { return a.expr->apply(fn, a.ty, {a}); }
V call(Fn fn, V a, V b) { return a.expr->apply(fn, a.ty, {a, b}); }
V compare(Fn fn, V a, V b) { return a.expr->apply(fn, a.ty, {a, b}); }
V compare(Fn fn, V a, double b) { return compare(fn, a, a.expr->constant(b, a.ty)); }
V eq(V a, V b) {
  if (a.ty == Ty::Pred) return negate(a.expr->apply(Fn::PXor, Ty::Pred, {a, b}));
  return compare(Fn::Eq, a, b);
}
V ne(V a, V b) {
  if (a.ty == Ty::Pred) return a.expr->apply(Fn::PXor, Ty::Pred, {a, b});
  return compare(is_float(a.ty) ? Fn::Neu : Fn::Ne, a, b);
}
V select(V p, V a, V b) {
  if (a.ty == Ty::Pred) return either(both(p, a), both(negate(p), b));
  return p.expr->apply(Fn::Select, a.ty, {p, a, b});
}
V both(V a, V b) { return a.expr->apply(Fn::PAnd, Ty::Pred, {a, b}); }
V either(V a, V b) { return a.expr->apply(Fn::POr, Ty::Pred, {a, b}); }
V negate(V p) { return p.expr->apply(Fn::PNot, Ty::Pred, {p}); }
V is_nan(V a) {
  if (!is_float(a.ty)) return a.expr->boolean(false);
  return compare(Fn::Nan, a, a);
}

namespace {
V extremum(Fn real, Fn integer, Fn logic, V a, V b) {
  if (a.ty == Ty::Pred) return a.expr->apply(logic, Ty::Pred, {a, b});
  if (!is_float(a.ty)) return a.expr->apply(integer, a.ty, {a, b});
  Mods m;
  m.nan = true;
  return a.expr->apply(real, a.ty, {a, b}, m);
}
}  // namespace

V max(V a, V b) { return extremum(Fn::Max, Fn::IMax, Fn::POr, a, b); }
V min(V a, V b) { return extremum(Fn::Min, Fn::IMin, Fn::PAnd, a, b); }

}  // namespace assay::tensor
