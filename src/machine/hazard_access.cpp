// One warp access: bounds and alignment of its lanes, then runs of lanes with equal or adjacent
// addresses to the shadow.
#include <algorithm>
#include <bit>

#include "machine/hazard.h"
#include "machine/hazard_exact.h"
#include "machine/hazard_order.h"
#include "machine/hazard_shadow.h"

namespace assay::machine {
namespace {

constexpr uint32_t kFull = ~0u;

bool one_bit(uint32_t x) { return (x & (x - 1)) == 0; }
uint32_t first_lane(uint32_t mask) { return static_cast<uint32_t>(std::countr_zero(mask)); }

// The largest cell that accesses of this offset and width do not cut.
uint32_t cell_shift(uint64_t offset, uint32_t bytes) {
  return std::min<uint32_t>(2, static_cast<uint32_t>(std::countr_zero(offset | bytes)));
}

}  // namespace

// Takes the admitted lanes of one access to the shadow of one target.
class AccessRecorder {
 public:
  AccessRecorder(HazardTracker* tracker, const WarpAccess& a, const HazardTracker::Target& t);
  void run(uint32_t mask);
  // `lanes` are adjacent, each with its own `bytes` from the offset on.
  void adjacent(uint64_t offset, uint32_t lanes);
  // All lanes move the same bytes; of writes, the last lane's stays.
  void same(uint64_t offset, uint32_t lanes);

 private:
  ShadowPage* page_for(uint64_t offset, uint32_t shift);
  void adjacent_in_page(ShadowPage* page, uint64_t offset, uint32_t bytes, uint64_t begin,
                        uint32_t first);
  void same_in_page(ShadowPage* page, uint64_t offset, uint32_t bytes, uint64_t begin,
                    uint32_t lanes);
  bool run_fast(ShadowPage* page, uint32_t cell, uint32_t cells);
  bool read_cell_fast(ShadowPage* page, uint32_t cell, uint32_t lanes);
  bool lanes_overlap(uint32_t mask);

  HazardTracker* tracker_;
  const WarpAccess& a_;
  uint64_t base_;
  CtaOrder* order_;
  Shadow* shadow_;
  bool global_, fast_, keep_reads_ = true;
  ExactCheck exact_;
  RunStamp stamp_;
  const HazardTracker::Target& target_;
};

AccessRecorder::AccessRecorder(HazardTracker* tracker, const WarpAccess& a,
                               const HazardTracker::Target& t)
    : tracker_(tracker),
      a_(a),
      base_(t.base),
      order_(tracker->cta_of(a.cta).order.get()),
      global_(a.space == MemSpace::Global),
      exact_(tracker, a, order_, t.buffer, t.extent),
      target_(t) {
  if (global_) {
    HazardTracker::Buffer& b = tracker->buffers_[static_cast<size_t>(t.buffer)];
    if (b.shadow == nullptr) b.shadow = std::make_unique<Shadow>(b.info.bytes, b.info.initialised);
    shadow_ = b.shadow.get();
    keep_reads_ = b.info.track_reads;
  } else {
    shadow_ = a.owner_cta == a.cta ? tracker->cta_of(a.cta).shared.get()
                                   : tracker->ctas_.find(a.owner_cta)->second.shared.get();
  }
  WarpOrder& warp = order_->warps[a.warp & 31];
  if (warp.last_mask != a.mask) {  // the lanes of the latest access were together until it
    if (warp.last_mask != 0) warp.converged(warp.last_mask, ++tracker->clock_);
    warp.last_mask = a.mask;
  }
  stamp_.now = tracker->clock_;
  stamp_.launch_start = tracker->launch_start_;
  stamp_.full_start = order_->full_start;
  stamp_.warp_sync = warp.sync;
  stamp_.cta = a.cta;
  stamp_.warp = a.warp;
  stamp_.pc = a.pc;
  stamp_.strong = a.strong ? kStrong : 0;
  fast_ = !order_->named && warp.lanes == nullptr && a.kind != AccessKind::Atomic;
}

// nullptr: nothing to check or record there.
ShadowPage* AccessRecorder::page_for(uint64_t offset, uint32_t shift) {
  if (global_ && !shadow_->has_open_page(offset)) {
    const bool read = a_.kind == AccessKind::Read;
    if (read && !keep_reads_ && !shadow_->has_page(offset) &&
        tracker_->buffers_[static_cast<size_t>(target_.buffer)].info.initialised) {
      return nullptr;
    }
    tracker_->pack_pages();
    if (tracker_->shadow_bytes_ >= tracker_->max_shadow_bytes_) {
      tracker_->saturated_ = true;
      return nullptr;
    }
    tracker_->shadow_bytes_ -= shadow_->page_bytes(offset);
    tracker_->shadow_bytes_ += shadow_->page(offset).bytes();
  }
  ShadowPage& page = shadow_->page(offset);
  if (page.shift > shift) {
    const uint64_t before = page.bytes();
    page.split(shift);
    if (global_) tracker_->shadow_bytes_ += page.bytes() - before;
    // Their keys were slots of the page: what they knew is read from the page again.
    for (auto& [id, cta] : tracker_->ctas_) cta.order->reads.clear();
  }
  return &page;
}

void AccessRecorder::adjacent(uint64_t offset, uint32_t lanes) {
  const uint64_t begin = offset;
  uint64_t left = static_cast<uint64_t>(std::popcount(lanes)) * a_.bytes;
  const uint32_t shift = cell_shift(offset, a_.bytes);
  while (left != 0) {
    const uint64_t room = kPageBytes - (offset & (kPageBytes - 1));
    const uint32_t bytes = static_cast<uint32_t>(std::min(left, room));
    if (ShadowPage* const page = page_for(offset, shift)) {
      const uint64_t before = global_ ? page->bytes() : 0;
      adjacent_in_page(page, offset, bytes, begin, first_lane(lanes));
      if (global_) tracker_->shadow_bytes_ += page->bytes() - before;
    }
    offset += bytes;
    left -= bytes;
  }
}

void AccessRecorder::adjacent_in_page(ShadowPage* page, uint64_t offset, uint32_t bytes,
                                      uint64_t begin, uint32_t first) {
  const uint32_t shift = page->shift;
  const uint32_t cell = static_cast<uint32_t>(offset & (kPageBytes - 1)) >> shift;
  const uint32_t cells = bytes >> shift;
  const uint32_t log2 = static_cast<uint32_t>(std::countr_zero(a_.bytes >> shift | 1u << 5));
  const uint32_t at = (first << log2) + static_cast<uint32_t>((offset - begin) >> shift);
  stamp_.lane = lane_table(log2) + at;
  stamp_.lane_bit = lane_bit_table(log2) + at;
  if (fast_ && run_fast(page, cell, cells)) return;
  const uint32_t *const lane = stamp_.lane, *const bit = stamp_.lane_bit;
  for (uint32_t i = 0; i < cells; ++i) {
    const uint64_t lane_offset = begin + static_cast<uint64_t>(lane[i] - first) * a_.bytes;
    exact_.run(page, cell + i, bit[i], lane_offset, keep_reads_);
  }
}

bool AccessRecorder::run_fast(ShadowPage* page, uint32_t cell, uint32_t cells) {
  if (page->atomics != nullptr) return false;
  if (a_.kind == AccessKind::Write) {
    return page->other_reads == nullptr && run_table().write(page->run(cell), cells, stamp_);
  }
  if (keep_reads_) page->make_reads();
  RunCells c = page->run(cell);
  if (!keep_reads_) c.r_when = nullptr;
  return run_table().read(c, cells, stamp_);
}

// One cell read by lanes of this warp: recorded if its last write is plainly ordered, or by the one
// lane that reads, and no other CTA read it.
bool AccessRecorder::read_cell_fast(ShadowPage* page, uint32_t cell, uint32_t lanes) {
  const RunStamp& s = stamp_;
  const WriterSet& w = page->writes;
  const int32_t written = w.when[cell];
  const uint32_t own_warp = 1u << s.warp, own = s.warp * 32 + first_lane(lanes);
  if (page->atomics != nullptr || written < 0) return false;
  const bool foreign = w.cta[cell] != s.cta;
  const bool by_self = !foreign && (w.thread[cell] & 0xffff) == own && (lanes & (lanes - 1)) == 0;
  if (!by_self && (written >= s.full_start || (foreign && written >= s.launch_start))) return false;
  if (!keep_reads_) return true;
  AccessSet& r = page->make_reads();
  if (r.when[cell] >= s.launch_start && r.cta[cell] != s.cta) return false;
  const bool live = r.when[cell] >= s.full_start && r.cta[cell] == s.cta;
  const uint32_t warps = live ? r.warps[cell] : 0;
  const bool keep = live && !(warps == own_warp && r.when[cell] < s.warp_sync);
  r.lanes[cell] = (keep ? r.lanes[cell] : 0) | lanes;
  r.warps[cell] = warps | own_warp;
  r.when[cell] = s.now;
  r.cta[cell] = s.cta;
  r.thread[cell] = own | s.strong;
  r.pc[cell] = s.pc;
  return true;
}

void AccessRecorder::same(uint64_t offset, uint32_t lanes) {
  if (a_.kind == AccessKind::Write) lanes = std::bit_floor(lanes);
  const uint64_t begin = offset;
  uint32_t left = a_.bytes;
  const uint32_t shift = cell_shift(offset, a_.bytes);
  while (left != 0) {
    const uint32_t room = kPageBytes - static_cast<uint32_t>(offset & (kPageBytes - 1));
    const uint32_t bytes = std::min(left, room);
    if (ShadowPage* const page = page_for(offset, shift)) {
      const uint64_t before = global_ ? page->bytes() : 0;
      same_in_page(page, offset, bytes, begin, lanes);
      if (global_) tracker_->shadow_bytes_ += page->bytes() - before;
    }
    offset += bytes;
    left -= bytes;
  }
}

void AccessRecorder::same_in_page(ShadowPage* page, uint64_t offset, uint32_t bytes, uint64_t begin,
                                  uint32_t lanes) {
  const uint32_t shift = page->shift;
  const uint32_t cell = static_cast<uint32_t>(offset & (kPageBytes - 1)) >> shift;
  const bool fast = fast_ && a_.kind == AccessKind::Read;
  for (uint32_t i = 0; i < bytes >> shift; ++i) {
    if (fast && read_cell_fast(page, cell + i, lanes)) continue;
    exact_.run(page, cell + i, lanes, begin, keep_reads_);
  }
}

// Whether lanes write common bytes; reports each that does with the lane before it in memory.
bool AccessRecorder::lanes_overlap(uint32_t mask) {
  std::array<uint32_t, 32> lane;
  uint32_t n = 0;
  bool ascending = true;
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    lane[n] = first_lane(rest);
    if (n > 0) ascending = ascending && a_.addr[lane[n]] >= a_.addr[lane[n - 1]] + a_.bytes;
    ++n;
  }
  if (ascending) return false;
  std::stable_sort(lane.begin(), lane.begin() + n,
                   [&](uint32_t x, uint32_t y) { return a_.addr[x] < a_.addr[y]; });
  bool overlap = false;
  for (uint32_t i = 1; i < n; ++i) {
    if (a_.addr[lane[i]] - a_.addr[lane[i - 1]] >= a_.bytes) continue;
    overlap = true;
    Hazard h;
    h.kind = HazardKind::IntraWarpConflict;
    h.space = a_.space;
    h.first_pc = h.second_pc = a_.pc;
    h.first_kind = h.second_kind = a_.kind;
    h.strong = a_.strong;
    h.bytes = a_.bytes;
    h.extent = target_.extent;
    HazardExample e;
    e.first = {a_.cta, a_.warp * 32u + lane[i - 1]};
    e.second = {a_.cta, a_.warp * 32u + lane[i]};
    e.buffer = target_.buffer;
    e.offset = static_cast<int64_t>(a_.addr[lane[i]] - base_);
    tracker_->report(h, e);
  }
  return overlap;
}

// Runs of neighbouring lanes with equal addresses, or with addresses `bytes` apart.
void AccessRecorder::run(uint32_t mask) {
  if (a_.kind == AccessKind::Write && !a_.anywhere && lanes_overlap(mask)) exact_.lanes_conflict();
  while (mask != 0) {
    const uint32_t first = first_lane(mask);
    const uint32_t ahead = static_cast<uint32_t>(std::countr_one(mask >> first));  // active lanes
    const uint64_t* const addr = a_.addr + first;
    uint32_t n = 1;
    while (n < ahead && addr[n] == addr[0]) ++n;
    const bool equal = n > 1;
    while (!equal && n < ahead && addr[n] == addr[0] + static_cast<uint64_t>(n) * a_.bytes) ++n;
    const uint32_t lanes = (n == 32 ? kFull : (1u << n) - 1) << first;
    if (equal || (n == 1 && a_.kind == AccessKind::Read)) {
      same(addr[0] - base_, lanes);
    } else {
      adjacent(addr[0] - base_, lanes);
    }
    mask &= ~lanes;
  }
}

// Lanes in bounds and aligned; the others are reported.
uint32_t HazardTracker::admit_lanes(const WarpAccess& a) {
  const uint32_t align = a.align != 0 ? a.align : a.bytes;
  uint32_t ok = 0;
  for (uint32_t rest = a.mask; rest != 0; rest &= rest - 1) {
    const uint32_t lane = first_lane(rest);
    const Target t = target_of(a, a.addr[lane]);
    const uint64_t off = a.addr[lane] - t.base;
    if (a.addr[lane] < t.base || t.extent < a.bytes || off > t.extent - a.bytes) {
      fault(HazardKind::OutOfBounds, a, lane, t);
    } else if ((a.addr[lane] & (align - 1)) != 0) {
      fault(HazardKind::Misaligned, a, lane, t);
    } else {
      ok |= 1u << lane;
    }
  }
  return ok;
}

uint32_t HazardTracker::access(const WarpAccess& a) {
  // Widths and warps that no instruction has: nothing is known about them.
  if (a.mask == 0 || a.bytes == 0 || !one_bit(a.bytes) || a.bytes > 32 || a.warp > 31)
    return a.mask;
  const uint64_t first = a.addr[first_lane(a.mask)];
  const Target t = target_of(a, first);
  const uint32_t align = a.align != 0 ? a.align : a.bytes;
  LanePattern p{};
  if (one_bit(a.mask)) {
    p.inside = t.extent >= a.bytes && first - t.base <= t.extent - a.bytes;
    p.aligned = (first & (align - 1)) == 0;
    p.uniform = true;
  } else {
    const uint64_t* addr = a.addr;
    std::array<uint64_t, 32> filled;
    if (a.mask != kFull) {  // inactive lanes stand where the first active one does
      for (uint32_t l = 0; l < 32; ++l) filled[l] = ((a.mask >> l) & 1) != 0 ? addr[l] : first;
      addr = filled.data();
    }
    p = run_table().pattern(addr, a.bytes, align, t.base, t.extent);
  }
  if (p.inside && p.aligned) {
    if (!touch(a, t.buffer)) return a.mask;
    AccessRecorder r(this, a, t);
    if (p.contiguous && a.mask == kFull) {
      r.adjacent(first - t.base, kFull);
    } else if (p.uniform && a.kind != AccessKind::Write) {
      r.same(first - t.base, a.mask);
    } else {
      r.run(a.mask);
    }
    return a.mask;
  }
  const uint32_t ok = admit_lanes(a);
  for (uint32_t rest = ok; rest != 0;) {  // lanes may go to several buffers: one at a time
    const Target group = target_of(a, a.addr[first_lane(rest)]);
    uint32_t mask = 0;
    for (uint32_t lanes = rest; lanes != 0; lanes &= lanes - 1) {
      const uint32_t lane = first_lane(lanes);
      if (a.addr[lane] - group.base < group.extent) mask |= 1u << lane;
    }
    if (touch(a, group.buffer)) AccessRecorder(this, a, group).run(mask);
    rest &= ~mask;
  }
  return ok;
}

// Keeps the buffer's flags; false: the access needs no shadow.
bool HazardTracker::touch(const WarpAccess& a, int buffer) {
  if (a.space == MemSpace::Shared) return true;
  Buffer& b = buffers_[static_cast<size_t>(buffer)];
  const bool reads = a.kind != AccessKind::Write, writes = a.kind != AccessKind::Read;
  b.read = b.read || reads;
  b.written = b.written || writes;
  if (!b.info.track_reads && b.read && b.written) b.conflict = true;
  if (a.kind == AccessKind::Read && b.shadow == nullptr && !b.info.track_reads) {
    return !b.info.initialised;
  }
  return true;
}

}  // namespace assay::machine
