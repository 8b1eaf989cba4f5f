#include "term/nest_eval.h"

#include <cmath>

namespace assay::term {

using tensor::ReduceKind;

uint64_t constant_bits(Ty type, double value) {
  if (type == Ty::Pred) return value != 0 ? 1 : 0;
  const uint64_t all = ~uint64_t{0} >> (64 - bits(type));
  const uint64_t highest = is_signed(type) ? all >> 1 : all;
  if (std::isnan(value)) return 0;
  if (value >= std::ldexp(1.0, 63)) return highest;
  if (value <= -std::ldexp(1.0, 63)) return is_signed(type) ? highest + 1 : 0;
  return static_cast<uint64_t>(static_cast<int64_t>(value)) & all;
}

Fn reduce_fn(ReduceKind kind, Ty type) {
  const bool fl = is_float(type);
  switch (kind) {
    case ReduceKind::Sum:
    case ReduceKind::ScanSum:
      return fl ? Fn::Add : Fn::IAdd;
    case ReduceKind::Prod:
    case ReduceKind::ScanProd:
      return fl ? Fn::Mul : Fn::IMul;
    case ReduceKind::Max:
      return fl ? Fn::Max : Fn::IMax;
    case ReduceKind::Min:
      return fl ? Fn::Min : Fn::IMin;
    case ReduceKind::Any:
      return type == Ty::Pred ? Fn::POr : Fn::Or;
    case ReduceKind::All:
      return type == Ty::Pred ? Fn::PAnd : Fn::And;
    default:
      return Fn::Add;
  }
}

bool is_arg(ReduceKind kind) { return kind == ReduceKind::ArgMax || kind == ReduceKind::ArgMin; }

double neutral_element(const tensor::Nest& nest) {
  switch (nest.reduce) {
    case ReduceKind::Prod:
    case ReduceKind::ScanProd:
    case ReduceKind::All:
      return 1;
    case ReduceKind::Max:
      return -__builtin_inf();
    case ReduceKind::Min:
      return __builtin_inf();
    case ReduceKind::None:
      return nest.guard_value;
    default:
      return 0;
  }
}

}  // namespace assay::term
