#pragma once
// The sweeping rung: where images differ but no input does, the two cones of one location are
// compared as expressions; sub-expressions with equal images are cut, and what lies above the cuts
// is proved by cases over its comparisons, by Z3, or bounded as an approximation.
#include <span>
#include <string>
#include <vector>

#include "check/outputs.h"
#include "check/plan.h"
#include "check/refute.h"

namespace assay::check {

struct LocalRequest : SearchRequest {
  uint64_t seed;
  const std::vector<SymbolInfo>& symbols;  // what the plans start from
};

struct LocalResult {
  enum class Outcome : uint8_t { Equal, Approximation, Open } outcome = Outcome::Open;
  std::string differing;  // the differing parts as expressions over the cuts
  std::string reason;
};

LocalResult prove_locally(const LocalRequest& request);

// The same for positions that the plans cover, in one sweep: what their formulas share is looked at
// once. In the order of the positions; empty: together they are too large, or indexed by data.
std::vector<LocalResult> prove_together(const LocalRequest& request,
                                        std::span<const int64_t> positions);

}  // namespace assay::check
