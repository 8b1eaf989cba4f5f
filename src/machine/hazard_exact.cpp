#include "machine/hazard_exact.h"

#include <bit>

namespace assay::machine {
namespace {

uint32_t first_lane(uint32_t lanes) { return static_cast<uint32_t>(std::countr_zero(lanes)); }
uint32_t last_lane(uint32_t lanes) { return 31u - static_cast<uint32_t>(std::countl_zero(lanes)); }

bool writes(AccessKind k) { return k != AccessKind::Read; }

HazardKind race_kind(AccessKind first, AccessKind second, bool cross_cta) {
  const bool both = writes(first) && writes(second);
  if (cross_cta) return both ? HazardKind::CrossCtaWriteWrite : HazardKind::CrossCtaReadWrite;
  return both ? HazardKind::WriteWriteRace : HazardKind::ReadWriteRace;
}

}  // namespace

bool ExactCheck::ordered(const Past& p, uint32_t lane) const {
  if (p.when < tracker_->launch_start_) return true;
  const uint32_t warp = (p.thread & 0xffff) >> 5, p_lane = p.thread & 31;
  if (p.cta != a_.cta) {
    const CtaTimes& foreign = order_->warps[a_.warp].foreign;
    const auto it = foreign.find(p.cta);
    return it != foreign.end() && p.when < it->second[warp];
  }
  if (p.when < order_->full_start) return true;
  if (warp != a_.warp) return p.when < order_->warp_known(a_.warp, warp);
  return p_lane == lane || p.when < order_->warps[warp].lane_known(lane, p_lane);
}

bool ExactCheck::against(const Past& p, uint32_t lane) {
  if (p.when <= kBeforeLaunch || ordered(p, lane)) return false;
  const bool cross = p.cta != a_.cta;
  const uint32_t warp = (p.thread & 0xffff) >> 5, p_lane = p.thread & 31;
  Hazard h;
  h.kind = race_kind(p.kind, a_.kind, cross);
  if (!cross && warp == a_.warp) {
    // Lanes of this very instruction: reported as IntraWarpConflict already.
    if (lanes_conflict_ && p.when == tracker_->clock_ && p.pc == a_.pc) return false;
    // Lockstep gives an order if the other lane is active here too, or both have met in between.
    const uint32_t both = 1u << p_lane | 1u << lane;
    const bool lockstep =
        ((a_.mask >> p_lane) & 1) != 0 || order_->warps[warp].met_since(p.when, both);
    if (lockstep) h.kind = HazardKind::RacyIdiom;
  }
  if (said_lane_ == lane && said_kind_ == h.kind && said_pc_ == p.pc && said_thread_ == p.thread) {
    return true;
  }
  said_lane_ = lane;
  said_kind_ = h.kind;
  said_pc_ = p.pc;
  said_thread_ = p.thread;
  h.space = a_.space;
  h.first_pc = p.pc;
  h.second_pc = a_.pc;
  h.first_kind = p.kind;
  h.second_kind = a_.kind;
  h.strong = ((p.thread & kStrong) != 0 || p.kind == AccessKind::Atomic) &&
             (a_.strong || a_.kind == AccessKind::Atomic);
  h.bytes = a_.bytes;
  h.extent = extent_;
  HazardExample e;
  e.first = {p.cta, p.thread & 0xffff};
  e.second = {a_.cta, a_.warp * 32u + lane};
  e.first_exact = p.exact;
  e.buffer = buffer_;
  e.offset = static_cast<int64_t>(offset_);
  tracker_->report(h, e);
  return true;
}

// The latest access of a set, then the other warps and lanes that took part since the last order
// point of the CTA; their own times are not kept, the latest stands for them (never too early).
void ExactCheck::against_set(const AccessSet& set, AccessKind kind, uint32_t cell, uint32_t lane) {
  const Past latest{kind, set.cta[cell], set.thread[cell], set.pc[cell], set.when[cell]};
  if (latest.when < tracker_->launch_start_) return;
  const bool own_cta = latest.cta == a_.cta;
  if (own_cta && latest.when < order_->full_start) return;
  if (against(latest, lane)) return;
  const uint32_t warps = set.warps[cell], lanes = set.lanes[cell], flags = latest.thread & kStrong;
  Past p = latest;
  for (uint32_t rest = warps; rest != 0; rest &= rest - 1) {
    const uint32_t warp = first_lane(rest);
    if (own_cta && warp == a_.warp) {
      // `lanes` belongs to this warp only if no other warp took part.
      uint32_t others = warps == 1u << warp ? lanes & ~(1u << lane) : 0;
      for (; others != 0; others &= others - 1) {
        p.thread = warp * 32 + first_lane(others) + flags;
        if (against(p, lane)) return;
      }
      continue;
    }
    p.thread = warp * 32 + first_lane(lanes) + flags;
    p.exact = warps == 1u << warp;
    if (warp != (latest.thread & 0xffff) >> 5 && against(p, lane)) return;
  }
}

// The reads of a cell by warp. At first use these are the reads from before the first named
// barrier, all at the latest one's time, which precedes that barrier.
std::vector<WarpReads>& ExactCheck::named_reads(const AccessSet& set, uint32_t cell) {
  const auto [it, made] = order_->reads.try_emplace(&set.when[cell]);
  if (!made || set.cta[cell] != a_.cta || set.when[cell] < order_->full_start) return it->second;
  const uint32_t lanes = set.lanes[cell], last = set.thread[cell];
  for (uint32_t rest = set.warps[cell]; rest != 0; rest &= rest - 1) {
    const uint32_t w = first_lane(rest);
    const uint32_t guess = w * 32 + first_lane(lanes) + (last & kStrong);
    it->second.push_back(
        {w, lanes, (last & 0xffff) >> 5 == w ? last : guess, set.pc[cell], set.when[cell]});
  }
  return it->second;
}

void ExactCheck::against_named_reads(const AccessSet& set, uint32_t cell, uint32_t lane) {
  for (const WarpReads& r : named_reads(set, cell)) {
    Past p{AccessKind::Read, a_.cta, r.thread, r.pc, r.when};
    if (r.warp != a_.warp) {
      if (against(p, lane)) return;
      continue;
    }
    for (uint32_t rest = r.lanes & ~(1u << lane); rest != 0; rest &= rest - 1) {
      p.thread = r.warp * 32 + first_lane(rest) + (r.thread & kStrong);
      if (against(p, lane)) return;
    }
  }
}

void ExactCheck::add_named_read(const AccessSet& set, uint32_t cell, uint32_t lanes) {
  std::vector<WarpReads>& list = named_reads(set, cell);
  // Reads ordered before this one need not be kept: what is unordered with them is so with this
  // one.
  std::erase_if(list, [&](const WarpReads& r) {
    return r.warp != a_.warp && r.when < order_->warp_known(a_.warp, r.warp);
  });
  const uint32_t thread = a_.warp * 32u + last_lane(lanes) + (a_.strong ? kStrong : 0);
  for (WarpReads& r : list) {
    if (r.warp != a_.warp) continue;
    const bool fresh = r.when < order_->warps[a_.warp].sync;
    r = {a_.warp, (fresh ? 0 : r.lanes) | lanes, thread, a_.pc, tracker_->clock_};
    return;
  }
  list.push_back({a_.warp, lanes, thread, a_.pc, tracker_->clock_});
}

void ExactCheck::add(AccessSet* set, std::unique_ptr<AccessSet>* other, uint32_t cell,
                     uint32_t lanes) {
  const uint32_t own_warp = 1u << a_.warp, lane = last_lane(lanes);
  const WarpOrder& w = order_->warps[a_.warp];
  const int32_t launch = tracker_->launch_start_;
  if (set->when[cell] >= launch && set->cta[cell] != a_.cta) {  // another CTA's: set it apart
    if (*other == nullptr)
      *other = std::make_unique<AccessSet>(static_cast<uint32_t>(set->when.size()));
    if ((*other)->when[cell] >= launch && (*other)->cta[cell] == a_.cta) {
      set->swap_cell(other->get(), cell);
    } else {
      (*other)->copy_cell(*set, cell);
    }
  }
  const bool own_cta = set->cta[cell] == a_.cta;
  const bool live = own_cta && set->when[cell] >= order_->full_start;
  uint32_t kept = live ? set->lanes[cell] : 0;
  const uint32_t warps = live ? set->warps[cell] : 0;
  if (warps == own_warp) {
    // Lanes whose accesses this one knows are ordered before everything that follows this one.
    for (uint32_t i = 0; i < 32; ++i) {
      if (((kept >> i) & 1) != 0 && set->when[cell] < w.lane_known(lane, i)) kept &= ~(1u << i);
    }
  }
  set->lanes[cell] = kept | lanes;
  set->warps[cell] = warps | own_warp;
  set->when[cell] = tracker_->clock_;
  set->cta[cell] = a_.cta;
  set->thread[cell] = a_.warp * 32u + lane + (a_.strong ? kStrong : 0);
  set->pc[cell] = a_.pc;
}

void ExactCheck::uninitialised(uint32_t lane) {
  if (a_.maybe) return;
  if (said_lane_ == lane && said_kind_ == HazardKind::UninitialisedRead) return;
  said_lane_ = lane;
  said_kind_ = HazardKind::UninitialisedRead;
  Hazard h;
  h.kind = HazardKind::UninitialisedRead;
  h.space = a_.space;
  h.first_pc = h.second_pc = a_.pc;
  h.first_kind = h.second_kind = a_.kind;
  h.bytes = a_.bytes;
  h.extent = extent_;
  HazardExample e;
  e.first = e.second = {a_.cta, a_.warp * 32u + lane};
  e.buffer = buffer_;
  e.offset = static_cast<int64_t>(offset_);
  tracker_->report(h, e);
}

void ExactCheck::run(ShadowPage* page, uint32_t cell, uint32_t lanes, uint64_t offset,
                     bool keep_read) {
  offset_ = offset;
  WriterSet& w = page->writes;
  const Past write{AccessKind::Write, w.cta[cell], w.thread[cell], w.pc[cell], w.when[cell]};
  for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const uint32_t lane = first_lane(rest);
    if (w.when[cell] < 0 && a_.kind != AccessKind::Write) uninitialised(lane);
    against(write, lane);
    if (a_.kind != AccessKind::Atomic && page->atomics != nullptr) {
      against_set(*page->atomics, AccessKind::Atomic, cell, lane);
      if (page->other_atomics != nullptr) {
        against_set(*page->other_atomics, AccessKind::Atomic, cell, lane);
      }
    }
    if (a_.kind == AccessKind::Read || page->reads == nullptr) continue;
    if (order_->named && page->reads->cta[cell] == a_.cta) {
      against_named_reads(*page->reads, cell, lane);
    } else {
      against_set(*page->reads, AccessKind::Read, cell, lane);
    }
    if (page->other_reads != nullptr) {
      against_set(*page->other_reads, AccessKind::Read, cell, lane);
    }
  }
  switch (a_.kind) {
    case AccessKind::Read:
      if (!keep_read) break;
      if (order_->named) add_named_read(page->make_reads(), cell, lanes);
      add(&page->make_reads(), &page->other_reads, cell, lanes);
      break;
    case AccessKind::Atomic:
      if (w.when[cell] < 0) w.when[cell] = kBeforeLaunch;  // reported once
      add(&page->make_atomics(), &page->other_atomics, cell, lanes);
      break;
    case AccessKind::Write:
      w.when[cell] = tracker_->clock_;
      w.cta[cell] = a_.cta;
      w.thread[cell] = a_.warp * 32u + last_lane(lanes) + (a_.strong ? kStrong : 0);
      w.pc[cell] = a_.pc;
      if (page->reads != nullptr) {
        page->reads->when[cell] = kNoAccess;
        if (order_->named) order_->reads.erase(&page->reads->when[cell]);
      }
      for (auto* set : {&page->atomics, &page->other_reads, &page->other_atomics}) {
        if (*set != nullptr) (*set)->when[cell] = kNoAccess;
      }
      break;
  }
}

}  // namespace assay::machine
