#pragma once
// KernelBench programs (a .py with ModelNew): both sides, exported and recorded beside each other.
#include <vector>

#include "check/front.h"

namespace assay::check {

struct RecordedPrograms {
  // The given shape first. Argument k of one side is argument k of the other; weights that the
  // candidate has alone come last. `change` is left open.
  std::vector<Pair> pairs;
  std::vector<program::ProgramSet::Skipped> reference_skipped, candidate_skipped;
};

Result<RecordedPrograms> record_programs(const CheckRequest& rq, Lacks& lacks);

}  // namespace assay::check
