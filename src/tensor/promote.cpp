#include "tensor/promote.h"

#include <optional>

namespace assay::tensor {
namespace {

int category(DType t) {
  if (t == DType::Bool) return 0;
  return program::dtype_is_float(t) ? 2 : 1;
}

int int_rank(DType t) {
  switch (t) {
    case DType::I8:
      return 1;
    case DType::I16:
      return 2;
    case DType::I32:
      return 3;
    default:
      return 4;
  }
}

// ATen's combine_categories: `lower` counts only if its category is higher.
std::optional<DType> combine(std::optional<DType> higher, std::optional<DType> lower) {
  if (!higher) return lower;
  if (!lower || category(*higher) >= category(*lower)) return higher;
  return category(*higher) == 0 || category(*lower) == 2 ? promote(*higher, *lower) : *higher;
}

}  // namespace

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (category(a) != category(b)) return category(a) > category(b) ? a : b;
  if (category(a) == 2) {
    if (a == DType::F64 || b == DType::F64) return DType::F64;
    return DType::F32;  // two different ones of F16, BF16, F32
  }
  if (a == DType::U8 || b == DType::U8) {
    DType other = a == DType::U8 ? b : a;
    return other == DType::I8 ? DType::I16 : other;
  }
  return int_rank(a) > int_rank(b) ? a : b;
}

DType scalar_dtype(const Scalar& s) {
  if (std::holds_alternative<double>(s)) return DType::F32;
  return std::holds_alternative<bool>(s) ? DType::Bool : DType::I64;
}

DType result_type(const std::vector<Operand>& operands) {
  std::optional<DType> dims, zero, wrapped;
  auto update = [](std::optional<DType>& into, DType t) { into = into ? promote(*into, t) : t; };
  for (const Operand& o : operands) {
    if (!o.ref) {
      update(wrapped, scalar_dtype(o.scalar));
    } else {
      update(o.ref->rank() == 0 ? zero : dims, o.ref->dtype);
    }
  }
  return combine(dims, combine(zero, wrapped)).value_or(DType::F32);
}

DType result_type(const std::vector<Ref>& refs) {
  std::vector<Operand> operands;
  for (const Ref& r : refs) {
    Operand o;
    o.ref = r;
    operands.push_back(o);
  }
  return result_type(operands);
}

DType float_result(DType t) { return program::dtype_is_float(t) ? t : DType::F32; }

}  // namespace assay::tensor
