#include "base/vectorize.h"
#include "machine/hazard_runs.h"

namespace assay::machine {
#if defined(__AVX2__)
namespace {
#include "machine/hazard_runs.inc"
}  // namespace

const RunTable* run_table_v3() {
  static const RunTable table{read_run, write_run, lane_pattern};
  return __builtin_cpu_supports("avx2") ? &table : nullptr;
}
#else
const RunTable* run_table_v3() { return nullptr; }
#endif
}  // namespace assay::machine
