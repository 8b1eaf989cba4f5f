#include "machine/hazard.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "machine/hazard_exact.h"
#include "machine/hazard_order.h"
#include "machine/hazard_shadow.h"

namespace assay::machine {
namespace {

// Addresses within this distance of a buffer are reported relative to it.
constexpr uint64_t kNear = uint64_t{1} << 31;

const std::string kShared = "shared";

const char* access_name(AccessKind k) {
  switch (k) {
    case AccessKind::Read:
      return "read";
    case AccessKind::Write:
      return "write";
    case AccessKind::Atomic:
      return "atomic";
  }
  return "?";
}

uint32_t first_lane(uint32_t mask) { return static_cast<uint32_t>(std::countr_zero(mask)); }

}  // namespace

const char* hazard_kind_name(HazardKind kind) {
  switch (kind) {
    case HazardKind::ReadWriteRace:
      return "read-write race";
    case HazardKind::WriteWriteRace:
      return "write-write race";
    case HazardKind::IntraWarpConflict:
      return "conflicting lanes of one store";
    case HazardKind::RacyIdiom:
      return "racy idiom (lockstep order only)";
    case HazardKind::CrossCtaReadWrite:
      return "cross-CTA read-write";
    case HazardKind::CrossCtaWriteWrite:
      return "cross-CTA write-write";
    case HazardKind::OutOfBounds:
      return "out of bounds";
    case HazardKind::Misaligned:
      return "misaligned";
    case HazardKind::UninitialisedRead:
      return "uninitialised read";
  }
  return "?";
}

std::string format_hazard(const Hazard& h) {
  const HazardExample e = h.examples.empty() ? HazardExample{} : h.examples.front();
  const auto side = [](AccessKind kind, uint32_t pc, const ThreadId& t) {
    return fmt::format("{} at pc {} (cta {}, thread {})", access_name(kind), pc, t.cta, t.thread);
  };
  const bool pair = h.kind != HazardKind::OutOfBounds && h.kind != HazardKind::Misaligned &&
                    h.kind != HazardKind::UninitialisedRead;
  std::string s = fmt::format("{}: ", hazard_kind_name(h.kind));
  if (pair) s += side(h.first_kind, h.first_pc, e.first) + " and ";
  s += side(h.second_kind, h.second_pc, e.second);
  if (h.buffer.empty()) return s + fmt::format(", address {:#x}", static_cast<uint64_t>(e.offset));
  return s + fmt::format(", {}{:+} of {} bytes, {} times", h.buffer, e.offset, h.extent, h.count);
}

HazardTracker::HazardTracker(uint64_t max_shadow_bytes, size_t max_hazards)
    : max_shadow_bytes_(max_shadow_bytes),
      pack_at_(max_shadow_bytes / 4),
      tables_(std::make_unique<TablePool>()),
      max_hazards_(max_hazards) {}
HazardTracker::~HazardTracker() = default;

// Called before a page is made. A packed page has lost the times of its accesses, which only
// threads ask for that may know of some and not of others: those of a live CTA of its own, and any
// that a release, a cluster or a grid barrier has ordered behind the CTA.
void HazardTracker::pack_pages() {
  if (shadow_bytes_ < pack_at_) return;
  bool may = !foreign_order_;
  // Knowledge of single reads is kept by the places of their cells.
  for (const auto& [id, cta] : ctas_) may = may && (cta.order == nullptr || !cta.order->named);
  if (may) {
    shadow_bytes_ = 0;
    for (Buffer& b : buffers_) {
      if (b.shadow == nullptr) continue;
      b.shadow->for_each_page([&](ShadowPage& page) {
        bool ended = page.packed.empty();
        page.for_each_cta(launch_start_,
                          [&](uint32_t cta) { ended = ended && ctas_.count(cta) == 0; });
        if (ended) page.pack(launch_start_, tables_.get());
        shadow_bytes_ += page.bytes();
      });
    }
    shadow_bytes_ += tables_->bytes();
  }
  pack_at_ = std::max(shadow_bytes_, max_shadow_bytes_ / 8) + max_shadow_bytes_ / 8;
}

int HazardTracker::add_buffer(BufferInfo info) {
  const int id = static_cast<int>(buffers_.size());
  const std::pair<uint64_t, int> key{info.base, id};
  by_base_.insert(std::upper_bound(by_base_.begin(), by_base_.end(), key), key);
  Buffer b;
  b.info = std::move(info);
  buffers_.push_back(std::move(b));
  return id;
}

void HazardTracker::mark_initialised(int buffer, uint64_t offset, uint64_t bytes) {
  if (buffer < 0 || static_cast<size_t>(buffer) >= buffers_.size()) return;
  Buffer& b = buffers_[static_cast<size_t>(buffer)];
  if (b.info.initialised || bytes == 0) return;
  if (b.shadow == nullptr && offset == 0 && bytes >= b.info.bytes) {
    b.info.initialised = true;
    return;
  }
  if (b.shadow == nullptr) b.shadow = std::make_unique<Shadow>(b.info.bytes, false);
  b.shadow->mark_initialised(offset, bytes);
}

HazardTracker::Cta& HazardTracker::cta_of(uint32_t cta) {
  if (last_cta_state_ != nullptr && last_cta_ == cta) return *last_cta_state_;
  Cta& c = ctas_[cta];
  if (c.order == nullptr) {
    c.order = std::make_unique<CtaOrder>();
    c.order->cta = cta;
    c.order->full_start = clock_;
    for (WarpOrder& w : c.order->warps) w.sync = clock_;
  }
  last_cta_ = cta;
  last_cta_state_ = &c;
  return c;
}

void HazardTracker::begin_launch() {
  launch_start_ = ++clock_;
  foreign_order_ = false;
  for (Buffer& b : buffers_) b.read = b.written = false;
  ctas_.clear();
  last_cta_state_ = nullptr;
}

void HazardTracker::begin_cta(uint32_t cta, uint32_t shared_bytes) {
  end_cta(cta);
  cta_of(cta).shared = std::make_unique<Shadow>(shared_bytes, false);
}

void HazardTracker::end_cta(uint32_t cta) {
  ctas_.erase(cta);
  last_cta_state_ = nullptr;
}

void HazardTracker::cta_barrier(uint32_t cta) { cta_of(cta).order->barrier(++clock_); }

void HazardTracker::warp_barrier(uint32_t cta, uint32_t warp_mask) {
  CtaOrder& o = *cta_of(cta).order;
  o.start_named();
  ++clock_;
  WarpTimes joined;
  joined.fill(o.full_start);
  CtaTimes foreign;
  for (uint32_t rest = warp_mask; rest != 0; rest &= rest - 1) {
    const uint32_t w = first_lane(rest);
    for (size_t i = 0; i < 32; ++i) joined[i] = std::max(joined[i], o.known[w][i]);
    CtaOrder::join(&foreign, o.warps[w].foreign);
  }
  for (uint32_t rest = warp_mask; rest != 0; rest &= rest - 1) joined[first_lane(rest)] = clock_;
  for (uint32_t rest = warp_mask; rest != 0; rest &= rest - 1) {
    const uint32_t w = first_lane(rest);
    o.known[w] = joined;
    o.warps[w].sync_all(clock_);
    o.warps[w].foreign = foreign;
  }
}

void HazardTracker::warp_sync(uint32_t cta, uint32_t warp, uint32_t member_lanes,
                              uint32_t live_lanes) {
  WarpOrder& w = cta_of(cta).order->warps[warp & 31];
  ++clock_;
  if ((live_lanes & ~member_lanes) == 0) return w.sync_all(clock_);
  w.sync_lanes(member_lanes, clock_);
}

void HazardTracker::converged(uint32_t cta, uint32_t warp, uint32_t mask) {
  cta_of(cta).order->warps[warp & 31].converged(mask, ++clock_);
}

void HazardTracker::cluster_barrier(const std::vector<uint32_t>& ctas) {
  foreign_order_ = true;
  ++clock_;
  WarpTimes all;
  all.fill(clock_);
  for (uint32_t c : ctas) cta_of(c).order->barrier(clock_);
  for (uint32_t c : ctas) {
    for (WarpOrder& w : cta_of(c).order->warps) {
      for (uint32_t other : ctas) {
        if (other != c) w.foreign[other] = all;
      }
    }
  }
}

void HazardTracker::grid_barrier() {
  foreign_order_ = true;
  launch_start_ = ++clock_;
  for (auto& [id, cta] : ctas_) cta.order->barrier(clock_);
}

void HazardTracker::release(uint32_t cta, uint32_t warp, SyncClock* clock) {
  foreign_order_ = true;
  CtaOrder& o = *cta_of(cta).order;
  warp &= 31;
  ++clock_;
  CtaTimes mine = o.warps[warp].foreign;
  WarpTimes& own = mine[cta];
  for (uint32_t i = 0; i < 32; ++i) own[i] = o.warp_known(warp, i);
  own[warp] = clock_;
  CtaOrder::join(&clock->ctas, mine);
}

void HazardTracker::acquire(uint32_t cta, uint32_t warp, const SyncClock& clock) {
  CtaOrder& o = *cta_of(cta).order;
  warp &= 31;
  for (const auto& [id, times] : clock.ctas) {
    if (id != cta) {
      CtaOrder::join(&o.warps[warp].foreign, CtaTimes{{id, times}});
      continue;
    }
    o.start_named();
    for (size_t i = 0; i < 32; ++i) o.known[warp][i] = std::max(o.known[warp][i], times[i]);
    // What came back from this warp's own releases is known to all its lanes.
    o.warps[warp].sync = std::max(o.warps[warp].sync, times[warp]);
  }
}

std::vector<int> HazardTracker::untracked_conflicts() const {
  std::vector<int> ids;
  for (size_t i = 0; i < buffers_.size(); ++i) {
    if (buffers_[i].conflict) ids.push_back(static_cast<int>(i));
  }
  return ids;
}

// The buffer that holds `addr`, or the nearest one within kNear, or -1.
int HazardTracker::nearest_buffer(uint64_t addr) const {
  const auto above = std::upper_bound(by_base_.begin(), by_base_.end(), std::pair{addr, INT32_MAX});
  int best = -1;
  uint64_t distance = kNear;
  if (above != by_base_.end() && above->first - addr < distance) {
    best = above->second;
    distance = above->first - addr;
  }
  if (above != by_base_.begin()) {
    const auto below = std::prev(above);
    const uint64_t bytes = buffers_[static_cast<size_t>(below->second)].info.bytes;
    const uint64_t past = addr - below->first;
    if (past < bytes || past - bytes < distance) best = below->second;
  }
  return best;
}

HazardTracker::Target HazardTracker::target_of(const WarpAccess& a, uint64_t addr) {
  if (a.space == MemSpace::Shared) {
    if (last_cta_state_ != nullptr && last_cta_ == a.owner_cta &&
        last_cta_state_->shared != nullptr)
      return {0, last_cta_state_->shared->size(), -1, &kShared};
    const auto it = ctas_.find(a.owner_cta);
    const bool known = it != ctas_.end() && it->second.shared != nullptr;
    return {0, known ? it->second.shared->size() : 0, -1, &kShared};
  }
  for (int look = 0; look < 2; ++look, std::swap(last_buffer_, buffer_before_)) {
    if (last_buffer_ < 0) continue;
    const BufferInfo& b = buffers_[static_cast<size_t>(last_buffer_)].info;
    if (addr - b.base < b.bytes) return {b.base, b.bytes, last_buffer_, &b.name};
  }
  const int id = nearest_buffer(addr);
  if (id < 0) return {};
  buffer_before_ = std::exchange(last_buffer_, id);
  const BufferInfo& b = buffers_[static_cast<size_t>(id)].info;
  return {b.base, b.bytes, id, &b.name};
}

void HazardTracker::fault(HazardKind kind, const WarpAccess& a, uint32_t lane, const Target& t) {
  if (a.maybe) return;
  if (kind != HazardKind::UninitialisedRead) ++faults_;
  Hazard h;
  h.kind = kind;
  h.space = a.space;
  h.first_pc = h.second_pc = a.pc;
  h.first_kind = h.second_kind = a.kind;
  h.bytes = a.bytes;
  h.extent = t.extent;
  if (t.name != nullptr) h.buffer = *t.name;
  HazardExample e;
  e.first = e.second = {a.cta, a.warp * 32u + lane};
  e.buffer = t.buffer;
  e.offset = static_cast<int64_t>(a.addr[lane] - t.base);
  report(h, e);
}

void HazardTracker::report(const Hazard& what, const HazardExample& example) {
  const std::array<uint32_t, 3> key{static_cast<uint32_t>(what.kind) |
                                        static_cast<uint32_t>(what.space) << 8 |
                                        static_cast<uint32_t>(what.first_kind) << 16 |
                                        static_cast<uint32_t>(what.second_kind) << 24,
                                    what.first_pc, what.second_pc};
  const auto it = index_.find(key);
  if (it == index_.end()) {
    if (hazards_.size() >= max_hazards_) {
      ++dropped_;
      return;
    }
    index_[key] = hazards_.size();
    hazards_.push_back(what);
    Hazard& h = hazards_.back();
    if (h.buffer.empty() && h.space == MemSpace::Shared) h.buffer = kShared;
    if (h.buffer.empty() && example.buffer >= 0) h.buffer = buffer(example.buffer).name;
    h.count = 1;
    h.examples.push_back(example);
    return;
  }
  Hazard& h = hazards_[it->second];
  ++h.count;
  h.strong = h.strong && what.strong;
  if (h.examples.size() < Hazard::kMaxExamples) h.examples.push_back(example);
}

}  // namespace assay::machine
