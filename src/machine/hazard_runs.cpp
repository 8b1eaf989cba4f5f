#include "machine/hazard_runs.h"

#include "base/vectorize.h"

namespace assay::machine {
namespace {
#include "machine/hazard_runs.inc"
}  // namespace

const RunTable& run_table() {
  static const RunTable base{read_run, write_run, lane_pattern};
  static const RunTable& best = run_table_v3() != nullptr ? *run_table_v3() : base;
  return best;
}

}  // namespace assay::machine
