#pragma once
// What stands beside a proof: rounding (the candidate against the reference, both in IEEE
// arithmetic, against exact values), overflow where the exact value is finite, and special values
// (NaN, infinities, -0, subnormals), which are tested, not proved.
#include <functional>
#include <optional>
#include <vector>

#include "check/refute.h"

namespace assay::check {

struct QualityRequest : LocationRequest {
  uint64_t seed;
  // The candidate's value where there is no trace to evaluate (c_plan is not looked at then).
  std::function<std::optional<double>(const Experiment&)> run_candidate = {};
};

void accuracy_findings(const QualityRequest& request, std::vector<Finding>& findings);
void special_value_findings(const QualityRequest& request, std::vector<Finding>& findings);

}  // namespace assay::check
