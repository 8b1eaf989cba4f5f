#pragma once
// A hazard tracker with two CTAs that have shared memory and one buffer, and short names for
// accesses.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>

#include "machine/hazard.h"

namespace assay::machine {

inline constexpr uint64_t kBase = 0x700000000000;
inline constexpr uint32_t kAll = ~0u;

class HazardTest : public ::testing::Test {
 protected:
  HazardTest() {
    x_ = tracker_.add_buffer({"x", kBase, 1 << 16, true, true});
    tracker_.begin_launch();
    tracker_.begin_cta(0, 4096);
    tracker_.begin_cta(1, 4096);
  }

  using Address = std::function<uint64_t(uint32_t)>;
  static Address stride(uint64_t start, uint64_t step) {
    return [=](uint32_t lane) { return start + lane * step; };
  }

  uint32_t access(AccessKind kind, MemSpace space, uint32_t cta, uint32_t warp, uint32_t mask,
                  const Address& at, uint32_t pc, uint8_t bytes = 4, bool strong = false) {
    std::array<uint64_t, 32> addr{};
    for (uint32_t l = 0; l < 32; ++l) addr[l] = at(l);
    WarpAccess a;
    a.kind = kind;
    a.space = space;
    a.cta = a.owner_cta = cta;
    a.warp = static_cast<uint8_t>(warp);
    a.mask = mask;
    a.pc = pc;
    a.bytes = bytes;
    a.strong = strong;
    a.addr = addr.data();
    return tracker_.access(a);
  }
  void write(uint32_t warp, const Address& at, uint32_t pc, uint32_t mask = kAll) {
    access(AccessKind::Write, MemSpace::Shared, 0, warp, mask, at, pc);
  }
  void read(uint32_t warp, const Address& at, uint32_t pc, uint32_t mask = kAll) {
    access(AccessKind::Read, MemSpace::Shared, 0, warp, mask, at, pc);
  }
  void atomic(uint32_t warp, const Address& at, uint32_t pc, uint32_t mask = kAll) {
    access(AccessKind::Atomic, MemSpace::Shared, 0, warp, mask, at, pc);
  }
  void global(AccessKind kind, uint32_t cta, const Address& at, uint32_t pc, uint32_t mask = kAll) {
    access(kind, MemSpace::Global, cta, 0, mask, at, pc);
  }

  const Hazard* find(HazardKind kind) const {
    for (const Hazard& h : tracker_.hazards()) {
      if (h.kind == kind) return &h;
    }
    return nullptr;
  }
  std::string all() const {
    std::string s;
    for (const Hazard& h : tracker_.hazards()) s += format_hazard(h) + "\n";
    return s;
  }

  HazardTracker tracker_;
  int x_ = -1;
};

}  // namespace assay::machine
