#pragma once
// Writing the bodies of nests as formulas: V is a value of a body (or post) under construction.
#include <initializer_list>
#include <vector>

#include "program/program.h"
#include "tensor/nest.h"

namespace assay::tensor {

class Expr;

struct V {
  Expr* expr = nullptr;
  int id = -1;
  Ty ty = Ty::None;  // Pred: a truth value
};

// Appends to one body. Nodes are never removed here; see prune() in nest_builder.cpp.
class Expr {
 public:
  explicit Expr(std::vector<BodyNode>* nodes) : nodes_(nodes) {}

  V read(int read, Ty ty);
  // The real number nearest to `value`, or exactly it: constants of a formula (1, 0.5, sqrt(1/2)).
  V constant(double value, Ty ty);
  V integer(int64_t value, Ty ty);
  V boolean(bool value);
  // A Python scalar, rounded to the compute type as PyTorch does.
  V scalar(const program::Scalar& value, Ty ty);
  V iter(const Affine& value);  // S64
  V apply(Fn fn, Ty type, std::initializer_list<V> args, Mods mods = {});

 private:
  V push(BodyNode node, Ty result);
  std::vector<BodyNode>* nodes_;
};

// Element types as values: Bool is Pred, others their Ty.
Ty value_type(program::DType t);
// The type PyTorch's CUDA kernels compute in: F32 for half types, else value_type.
Ty compute_type(program::DType t);
V cast(V v, Ty to);  // numbers and predicates, as C++ casts do

V operator+(V a, V b);
V operator-(V a, V b);
V operator*(V a, V b);
V operator/(V a, V b);  // integers: toward zero
V operator-(V a);
// Formula constants: exact, of the other operand's type.
V operator+(V a, double b);
V operator+(double a, V b);
V operator-(V a, double b);
V operator-(double a, V b);
V operator*(V a, double b);
V operator*(double a, V b);
V operator/(V a, double b);
V operator/(double a, V b);

V call(Fn fn, V a);
V call(Fn fn, V a, V b);
// Comparisons with a constant; `fn` is the ordered form (Ne: use Neu for PyTorch's !=).
V compare(Fn fn, V a, V b);
V compare(Fn fn, V a, double b);
V eq(V a, V b);
V ne(V a, V b);  // true if a NaN is an operand
V select(V p, V a, V b);
V both(V a, V b);
V either(V a, V b);
V negate(V p);
V is_nan(V a);  // false for integers
// NaN in either operand gives NaN, as PyTorch's maximum, minimum, clamp, relu.
V max(V a, V b);
V min(V a, V b);

}  // namespace assay::tensor
