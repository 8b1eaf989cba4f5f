#pragma once
// Where no trace of the candidate can be made (its control depends on data in a way that no formula
// follows), its real build still runs on inputs. That may refute, never prove.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "check/refute.h"

namespace assay::check {

struct ConcreteRequest {
  Side& candidate;
  Side& reference;
  const Plan& r_plan;  // covers `where`
  const std::vector<OutputPair>& pairs;
  const LocationPlan& where;
  const std::vector<SymbolInfo>& symbols;
  const term::Snapper& snapper;
  std::pair<std::optional<double>, std::optional<double>> tolerance;  // rtol, atol, where given
  uint64_t seed = 1;
  Clock::time_point deadline;
};

struct ConcreteResult {
  std::optional<LocationResult> refuted;
  std::vector<Finding> findings;
  int runs = 0;     // on inputs of the domain
  std::string why;  // there were none
};

// Inputs are small integers and halves, on which sums and products are exact; where rounding might
// decide a comparison of the reference, or the reference has steps, nothing is concluded. A
// difference of 64 tolerances is no rounding then. Values that are not finite are findings: whether
// they are so over the reals, only a formula would tell. Throws Late.
ConcreteResult run_concretely(const ConcreteRequest& request);

}  // namespace assay::check
