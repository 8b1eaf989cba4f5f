#pragma once
// What the threads of one CTA know of one another's past, in times of the tracker's clock: an
// access at time t is ordered before a thread that knows a later time of the accessing thread.
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

namespace assay::machine {

using WarpTimes = std::array<int32_t, 32>;
using CtaTimes = std::map<uint32_t, WarpTimes>;

// Reads of one cell by one warp, kept while named barriers order some warps and not others.
struct WarpReads {
  uint32_t warp, lanes, thread, pc;
  int32_t when;
};

struct WarpOrder {
  int32_t sync = 0;  // all lanes' accesses before it are known to all lanes
  // Lanes' knowledge of lanes, present while a partial synchronisation is newer than `sync`.
  std::unique_ptr<std::array<WarpTimes, 32>> lanes;
  // Times at which lanes of a mask were together, newest last; no mask contains a later one's.
  std::vector<std::pair<int32_t, uint32_t>> together;
  uint32_t last_mask = 0;  // of the latest access
  CtaTimes foreign;        // of other CTAs, through acquire

  int32_t lane_known(uint32_t lane, uint32_t of) const {
    return lanes == nullptr ? sync : std::max(sync, (*lanes)[lane][of]);
  }

  void sync_all(int32_t now) {
    sync = now;
    lanes.reset();
  }

  void sync_lanes(uint32_t members, int32_t now) {
    if (lanes == nullptr) {
      lanes = std::make_unique<std::array<WarpTimes, 32>>();
      for (WarpTimes& row : *lanes) row.fill(sync);
    }
    WarpTimes joined;
    joined.fill(sync);
    for (uint32_t j = 0; j < 32; ++j) {
      if (((members >> j) & 1) == 0) continue;
      for (uint32_t i = 0; i < 32; ++i) joined[i] = std::max(joined[i], (*lanes)[j][i]);
    }
    for (uint32_t j = 0; j < 32; ++j) {
      if (((members >> j) & 1) != 0) joined[j] = now;
    }
    for (uint32_t j = 0; j < 32; ++j) {
      if (((members >> j) & 1) != 0) (*lanes)[j] = joined;
    }
  }

  void converged(uint32_t mask, int32_t now) {
    while (!together.empty() && (together.back().second & ~mask) == 0) together.pop_back();
    together.emplace_back(now, mask);
    if (together.size() > 32) together.erase(together.begin());
  }

  // Whether a time after `when` is known at which both lanes were together.
  bool met_since(int32_t when, uint32_t both) const {
    for (auto it = together.rbegin(); it != together.rend() && it->first > when; ++it) {
      if ((it->second & both) == both) return true;
    }
    return false;
  }
};

struct CtaOrder {
  uint32_t cta = 0;
  int32_t full_start = 0;  // everything in the CTA before it is known to all its threads
  std::array<WarpOrder, 32> warps;
  // Warps' knowledge of warps; meaningful while `named` (a partial barrier or an acquire came after
  // full_start).
  bool named = false;
  std::array<WarpTimes, 32> known;
  // Reads by warp, while `named`. Key: the cell's slot in its page's reads.
  std::unordered_map<const void*, std::vector<WarpReads>> reads;

  int32_t warp_known(uint32_t warp, uint32_t of) const {
    return named ? known[warp][of] : full_start;
  }

  void start_named() {
    if (named) return;
    named = true;
    for (WarpTimes& row : known) row.fill(full_start);
  }

  void barrier(int32_t now) {
    full_start = now;
    named = false;
    reads.clear();
    CtaTimes joined;
    for (WarpOrder& w : warps) {
      w.sync_all(now);
      join(&joined, w.foreign);
    }
    if (joined.empty()) return;
    for (WarpOrder& w : warps) w.foreign = joined;
  }

  static void join(CtaTimes* into, const CtaTimes& from) {
    for (const auto& [cta_id, times] : from) {
      WarpTimes& t = into->try_emplace(cta_id, WarpTimes{}).first->second;
      for (size_t i = 0; i < t.size(); ++i) t[i] = std::max(t[i], times[i]);
    }
  }
};

}  // namespace assay::machine
