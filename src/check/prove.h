#pragma once
// The fingerprint rung of the ladder: images of both sides at random points, two prime pairs.
#include <vector>

#include "check/outputs.h"
#include "check/plan.h"
#include "term/field_domain.h"
#include "term/snap.h"

namespace assay::check {

struct ImageDiff {
  std::vector<Positions> equal, differ, undefined;  // per output pair
  double error_bound = 0;
  std::vector<term::Obligation>
      extra;  // obligations of the candidate that the reference does not have
  std::vector<std::string> folds;

  void append(const ImageDiff& more);  // of other locations
};

ImageDiff compare_images(const Side& candidate, const Plan& c_plan, const Side& reference,
                         const Plan& r_plan, const std::vector<OutputPair>& pairs,
                         const std::vector<Positions>& positions, const term::Snapper& snapper,
                         uint64_t seed, int jobs = 1);

// Of obligations of the candidate: one that no bound excludes (intervals, integers in the ranges of
// `symbols`), or null.
const term::Obligation* not_excluded(const Side& candidate, const Plan& plan,
                                     const std::vector<SymbolInfo>& symbols,
                                     const std::vector<term::Obligation>& extra);

}  // namespace assay::check
