#pragma once
// The fast paths of the hazard tracker: branch-free loops over the lanes of an access and over runs
// of cells, compiled twice (any x86-64; AVX2), the better one chosen at run time.
#include <cstdint>

namespace assay::machine {

// The shadow fields of the first cell of a run.
struct RunCells {
  int32_t* w_when;
  uint32_t *w_cta, *w_thread, *w_pc;
  // Readers; null if none were ever recorded (then reads are not recorded either).
  int32_t* r_when = nullptr;
  uint32_t *r_cta = nullptr, *r_warps = nullptr, *r_lanes = nullptr, *r_thread = nullptr,
           *r_pc = nullptr;
};

// What a run of cells is checked and stamped with.
struct RunStamp {
  int32_t now = 0, launch_start = 0, full_start = 0, warp_sync = 0;
  uint32_t cta = 0, warp = 0, pc = 0;
  uint32_t strong = 0;             // kStrong or 0
  const uint32_t* lane = nullptr;  // of each cell of the run
  const uint32_t* lane_bit = nullptr;
};

// Summary of 32 addresses, and of their offsets in [base, base + extent).
struct LanePattern {
  bool uniform, contiguous, inside, aligned;
};

struct RunTable {
  // True, with the run recorded, if no cell of n raises any question; else nothing was changed, and
  // each cell wants the exact path.
  bool (*read)(const RunCells& c, uint32_t n, const RunStamp& s);
  bool (*write)(const RunCells& c, uint32_t n, const RunStamp& s);
  LanePattern (*pattern)(const uint64_t* addr, uint32_t bytes, uint32_t align, uint64_t base,
                         uint64_t extent);
};
const RunTable& run_table();
const RunTable* run_table_v3();  // null: not built, or not for this processor

}  // namespace assay::machine
