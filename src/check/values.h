#pragma once
// The value of one location at one concrete input: exact (f64, with condition scale) and in IEEE
// arithmetic.
#include "check/experiment.h"
#include "check/plan.h"
#include "term/snap.h"

namespace assay::check {

struct ExactValue {
  double v = 0, m = 0;      // value, condition scale
  bool undef = false;       // depends on undefined memory
  bool range_lost = false;  // f64 overflowed, or an exponential became 0: no exact value
  uint64_t undefined = 0;   // partial functions outside their domain on the way
};

ExactValue exact_value(const Side& side, const Plan& plan, const program::TensorView& view,
                       int64_t position, const Experiment& e, const term::Snapper& snapper);
double ieee_value(const Side& side, const Plan& plan, const program::TensorView& view,
                  int64_t position, const Experiment& e);

}  // namespace assay::check
