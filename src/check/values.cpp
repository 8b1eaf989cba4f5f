#include "check/values.h"

#include "base/ieee.h"
#include "term/ieee_domain.h"
#include "term/real_domain.h"

namespace assay::check {

using program::DType;
using term::IeeeDomain;
using term::RealDomain;
using term::Store;

ExactValue exact_value(const Side& side, const Plan& plan, const program::TensorView& view,
                       int64_t position, const Experiment& e, const term::Snapper& snapper) {
  RealDomain domain(e, snapper);
  Store<RealDomain> store(domain, side.sources);
  run_plan(side, plan, domain, store);
  const auto cell = store.load1(view.buffer, view.element(position));
  return {cell.v, cell.m, cell.undef, domain.overflowed != 0, domain.undefined};
}

double ieee_value(const Side& side, const Plan& plan, const program::TensorView& view,
                  int64_t position, const Experiment& e) {
  IeeeDomain domain(e);
  Store<IeeeDomain> store(domain, side.sources);
  run_plan(side, plan, domain, store);
  const auto cell = store.load1(view.buffer, view.element(position));
  const Ty type = program::dtype_ty(view.dtype);
  if (is_float(type)) return ieee_to_double(type, cell.v);
  const uint32_t width = bits(type);
  if (view.dtype == DType::Bool || view.dtype == DType::U8 || width == 64)
    return static_cast<double>(static_cast<int64_t>(cell.v));
  return static_cast<double>(static_cast<int64_t>(cell.v << (64 - width)) >> (64 - width));
}

}  // namespace assay::check
