// The fast paths of the hazard tracker: branch-free loops over runs of cells (compiled with -O3).
// All conditions are computed as masks of 32 bits and combined without short circuits.
#include "machine/hazard_shadow.h"

namespace assay::machine {
namespace {

// The array fields as plain pointers, so that stores through one cannot alias the others' headers.
struct Reads {
  int32_t* when;
  uint32_t *cta, *warps, *lanes, *thread, *pc;
  Reads(AccessSet* s, uint32_t first)
      : when(s->when.data() + first),
        cta(s->cta.data() + first),
        warps(s->warps.data() + first),
        lanes(s->lanes.data() + first),
        thread(s->thread.data() + first),
        pc(s->pc.data() + first) {}
};

inline uint32_t all_ones(bool b) { return b ? ~0u : 0u; }

// Nonzero if a cell's last write is not plainly ordered before the run: unwritten (for reads), by
// another CTA in this launch, or by another thread since the CTA's last full barrier.
template <bool kRead>
uint32_t writes_in_question(const ShadowPage& page, uint32_t first, uint32_t n, const RunStamp& s) {
  const int32_t* const when = page.writes.when.data() + first;
  const uint32_t* const cta = page.writes.cta.data() + first;
  const uint32_t* const thread = page.writes.thread.data() + first;
  const uint32_t* const lane = s.lane;
  const int32_t launch = s.launch_start, full = s.full_start;
  const uint32_t own_cta = s.cta, base = s.warp * 32;
  uint32_t bad = 0;
  for (uint32_t i = 0; i < n; ++i) {
    const uint32_t foreign = all_ones(cta[i] != own_cta);
    const uint32_t recent = (foreign & all_ones(when[i] >= launch)) | all_ones(when[i] >= full);
    const uint32_t other = foreign | all_ones((thread[i] & 0xffff) != base + lane[i]);
    bad |= recent & other;
    if (kRead) bad |= all_ones(when[i] < 0);
  }
  return bad;
}

// Nonzero if another CTA read a cell in this launch.
uint32_t foreign_reads(const Reads& r, uint32_t n, const RunStamp& s) {
  const int32_t launch = s.launch_start;
  const uint32_t own_cta = s.cta;
  uint32_t bad = 0;
  for (uint32_t i = 0; i < n; ++i) {
    bad |= all_ones(r.cta[i] != own_cta) & all_ones(r.when[i] >= launch);
  }
  return bad;
}

// Nonzero if another thread read a cell since the CTA's last full barrier, or (same warp) since the
// warp's last synchronisation.
uint32_t reads_in_question(const Reads& r, uint32_t n, const RunStamp& s) {
  const uint32_t* const bit = s.lane_bit;
  const int32_t full = s.full_start, sync = s.warp_sync;
  const uint32_t own_warp = 1u << s.warp;
  uint32_t bad = 0;
  for (uint32_t i = 0; i < n; ++i) {
    const uint32_t recent = all_ones(r.when[i] >= full);
    const uint32_t ordered = all_ones(r.warps[i] == own_warp) &
                             (all_ones(r.lanes[i] == bit[i]) | all_ones(r.when[i] < sync));
    bad |= recent & ~ordered;
  }
  return bad;
}

}  // namespace

bool read_run(ShadowPage* page, uint32_t first, uint32_t n, const RunStamp& s) {
  if (page->atomics != nullptr || writes_in_question<true>(*page, first, n, s) != 0) return false;
  if (!s.keep_reads) return true;
  const Reads r(&page->make_reads(), first);
  if (foreign_reads(r, n, s) != 0) return false;
  const uint32_t* const lane = s.lane;
  const uint32_t* const bit = s.lane_bit;
  const int32_t full = s.full_start, sync = s.warp_sync, now = s.now;
  const uint32_t own_warp = 1u << s.warp, base = s.warp * 32 | s.strong, cta = s.cta, pc = s.pc;
#pragma GCC ivdep
  for (uint32_t i = 0; i < n; ++i) {
    const uint32_t live = all_ones(r.when[i] >= full) & all_ones(r.cta[i] == cta);
    const uint32_t warps = r.warps[i] & live;
    // Reads by this warp alone before its last synchronisation are ordered before all that follows.
    const uint32_t keep = live & ~(all_ones(warps == own_warp) & all_ones(r.when[i] < sync));
    r.lanes[i] = (r.lanes[i] & keep) | bit[i];
    r.warps[i] = warps | own_warp;
    r.when[i] = now;
    r.cta[i] = cta;
    r.thread[i] = base + lane[i];
    r.pc[i] = pc;
  }
  return true;
}

bool write_run(ShadowPage* page, uint32_t first, uint32_t n, const RunStamp& s) {
  if (page->atomics != nullptr || !page->other_reads.empty()) return false;
  if (writes_in_question<false>(*page, first, n, s) != 0) return false;
  if (page->reads != nullptr) {
    const Reads r(page->reads.get(), first);
    if (foreign_reads(r, n, s) != 0 || reads_in_question(r, n, s) != 0) return false;
    for (uint32_t i = 0; i < n; ++i) r.when[i] = kNoAccess;
  }
  int32_t* const when = page->writes.when.data() + first;
  uint32_t* const w_cta = page->writes.cta.data() + first;
  uint32_t* const thread = page->writes.thread.data() + first;
  uint32_t* const w_pc = page->writes.pc.data() + first;
  const uint32_t* const lane = s.lane;
  const int32_t now = s.now;
  const uint32_t base = s.warp * 32 | s.strong, cta = s.cta, pc = s.pc;
#pragma GCC ivdep
  for (uint32_t i = 0; i < n; ++i) {
    when[i] = now;
    w_cta[i] = cta;
    thread[i] = base + lane[i];
    w_pc[i] = pc;
  }
  return true;
}

bool read_cell(ShadowPage* page, uint32_t cell, uint32_t lanes, uint32_t lane, const RunStamp& s) {
  const int32_t written = page->writes.when[cell];
  if (page->atomics != nullptr || written < 0) return false;
  if (written >= s.full_start || (written >= s.launch_start && page->writes.cta[cell] != s.cta)) {
    return false;
  }
  if (!s.keep_reads) return true;
  const Reads r(&page->make_reads(), cell);
  const bool in_launch = *r.when >= s.launch_start;
  if (in_launch && *r.cta != s.cta) return false;
  const uint32_t own_warp = 1u << s.warp;
  const bool live = *r.when >= s.full_start && *r.cta == s.cta;
  const uint32_t warps = live ? *r.warps : 0;
  const bool keep = live && !(warps == own_warp && *r.when < s.warp_sync);
  *r.lanes = (keep ? *r.lanes : 0) | lanes;
  *r.warps = warps | own_warp;
  *r.when = s.now;
  *r.cta = s.cta;
  *r.thread = (s.warp * 32 | s.strong) + lane;
  *r.pc = s.pc;
  return true;
}

}  // namespace assay::machine
