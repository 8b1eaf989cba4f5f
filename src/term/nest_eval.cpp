#include "term/nest_eval.h"

namespace assay::term {

using tensor::ReduceKind;

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
