// Each kind of hazard with a race-free sibling.
#include "machine/hazard.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <set>

namespace assay::machine {
namespace {

constexpr uint64_t kBase = 0x700000000000;
constexpr uint32_t kAll = ~0u;

// A CTA with shared memory and one buffer, and short names for accesses.
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

TEST_F(HazardTest, BarrierOrdersWritesAndReadsOfWarps) {
  write(0, stride(0, 4), 1);
  write(1, stride(128, 4), 1);
  tracker_.cta_barrier(0);
  read(0, stride(128, 4), 2);
  read(1, stride(0, 4), 2);
  tracker_.cta_barrier(0);
  write(1, stride(0, 4), 3);
  EXPECT_TRUE(tracker_.hazards().empty()) << all();
}

TEST_F(HazardTest, MissingBarrierIsAReadWriteRace) {
  write(0, stride(0, 4), 1);
  read(1, stride(0, 4), 2);
  ASSERT_EQ(tracker_.hazards().size(), 1u) << all();
  const Hazard& h = tracker_.hazards()[0];
  EXPECT_EQ(h.kind, HazardKind::ReadWriteRace);
  EXPECT_EQ(h.count, 32u);
  EXPECT_EQ(h.first_pc, 1u);
  EXPECT_EQ(h.second_pc, 2u);
  EXPECT_EQ(h.first_kind, AccessKind::Write);
  EXPECT_EQ(h.second_kind, AccessKind::Read);
  EXPECT_EQ(h.examples.size(), Hazard::kMaxExamples);
  EXPECT_EQ(h.examples[1].first.thread, 1u);
  EXPECT_EQ(h.examples[1].second.thread, 33u);
  EXPECT_EQ(h.examples[1].offset, 4);
}

TEST_F(HazardTest, WhatMayHappenRacesButHasNoFaults) {
  std::array<uint64_t, 32> addr{};
  for (uint32_t l = 0; l < 32; ++l) addr[l] = l < 31 ? 4 * l : 1 << 20;  // lane 31: out of bounds
  WarpAccess a;
  a.kind = AccessKind::Write;
  a.space = MemSpace::Shared;
  a.mask = kAll;
  a.pc = 7;
  a.addr = addr.data();
  a.maybe = true;
  EXPECT_EQ(tracker_.access(a), kAll >> 1);
  EXPECT_TRUE(tracker_.hazards().empty()) << all();
  read(1, stride(0, 4), 8, 1);
  const Hazard* h = find(HazardKind::ReadWriteRace);
  ASSERT_NE(h, nullptr) << all();
  EXPECT_EQ(h->first_pc, 7u);
}

TEST_F(HazardTest, WriteAfterReadsOfOtherWarps) {
  write(0, stride(0, 4), 1);
  tracker_.cta_barrier(0);
  for (uint32_t w = 0; w < 4; ++w) read(w, stride(0, 4), 2);
  write(3, stride(0, 4), 3, 1u << 7);  // warp 3 was the last reader
  ASSERT_EQ(tracker_.hazards().size(), 1u) << all();
  EXPECT_EQ(tracker_.hazards()[0].kind, HazardKind::ReadWriteRace);
  EXPECT_EQ(tracker_.hazards()[0].first_kind, AccessKind::Read);
  EXPECT_NE(tracker_.hazards()[0].examples[0].first.thread >> 5, 3u);
}

TEST_F(HazardTest, TwoWritersOfOneWord) {
  write(0, stride(0, 4), 1);
  write(1, stride(0, 4), 1);
  ASSERT_NE(find(HazardKind::WriteWriteRace), nullptr) << all();
  EXPECT_EQ(tracker_.hazards().size(), 1u);
}

TEST_F(HazardTest, OwnAccessesAreOrdered) {
  write(0, stride(0, 4), 1);
  read(0, stride(0, 4), 2);
  write(0, stride(0, 4), 3);
  atomic(0, stride(0, 4), 4);
  read(0, stride(0, 4), 5);
  EXPECT_TRUE(tracker_.hazards().empty()) << all();
}

TEST_F(HazardTest, WarpSyncOrdersLanes) {
  for (uint32_t step = 16; step > 0; step /= 2) {
    write(0, stride(0, 4), 1);
    tracker_.warp_sync(0, 0, kAll, kAll);
    read(0, stride(4 * step, 4), 2, kAll >> step);
    tracker_.warp_sync(0, 0, kAll, kAll);
  }
  EXPECT_TRUE(tracker_.hazards().empty()) << all();
}

TEST_F(HazardTest, VolatileTailWithoutWarpSyncIsTheRacyIdiom) {
  write(0, stride(0, 4), 1);
  read(0, stride(64, 4), 2, 0xffff);  // if (lane < 16)
  ASSERT_EQ(tracker_.hazards().size(), 1u) << all();
  EXPECT_EQ(tracker_.hazards()[0].kind, HazardKind::RacyIdiom);
  EXPECT_EQ(tracker_.hazards()[0].count, 16u);
  EXPECT_FALSE(tracker_.hazards()[0].strong);
}

TEST_F(HazardTest, StrongAccessesAreMarked) {
  access(AccessKind::Write, MemSpace::Shared, 0, 0, kAll, stride(0, 4), 1, 4, true);
  access(AccessKind::Read, MemSpace::Shared, 0, 1, kAll, stride(0, 4), 2, 4, true);
  ASSERT_EQ(tracker_.hazards().size(), 1u);
  EXPECT_TRUE(tracker_.hazards()[0].strong);
}

TEST_F(HazardTest, DivergentArmsHaveNoLockstepOrder) {
  tracker_.converged(0, 0, kAll);
  write(0, stride(0, 4), 1, 0xffff);
  read(
      0, [](uint32_t l) { return (l - 16) * 4; }, 2, 0xffff0000);
  ASSERT_EQ(tracker_.hazards().size(), 1u) << all();
  EXPECT_EQ(tracker_.hazards()[0].kind, HazardKind::ReadWriteRace);
}

TEST_F(HazardTest, DivergentArmsAfterACommonAccess) {
  write(0, stride(256, 4), 1);  // all lanes, so the clock of the arms is not that of this access
  write(0, stride(0, 4), 2, 0xffff);
  read(
      0, [](uint32_t l) { return (l - 16) * 4; }, 3, 0xffff0000);
  ASSERT_EQ(tracker_.hazards().size(), 1u) << all();
  EXPECT_EQ(tracker_.hazards()[0].kind, HazardKind::ReadWriteRace);
}

TEST_F(HazardTest, MeetingBetweenTwoBranchesMakesItTheIdiom) {
  tracker_.converged(0, 0, kAll);
  write(0, stride(0, 4), 1, 0xffff);
  tracker_.converged(0, 0, kAll);
  tracker_.converged(0, 0, 0xff000000);  // an inner branch of some of the readers
  read(
      0, [](uint32_t l) { return (l - 16) * 4; }, 2, 0xffff0000);
  ASSERT_EQ(tracker_.hazards().size(), 1u) << all();
  EXPECT_EQ(tracker_.hazards()[0].kind, HazardKind::RacyIdiom);
}

TEST_F(HazardTest, PartialWarpSyncOrdersItsMembersOnly) {
  write(0, stride(0, 4), 1);
  tracker_.warp_sync(0, 0, 0xffff, kAll);
  read(
      0, [](uint32_t l) { return (l ^ 1) * 4; }, 2, 0xffff);
  EXPECT_TRUE(tracker_.hazards().empty()) << all();
  read(0, stride(64, 4), 3, 0xffff);  // words of lanes that were no members
  ASSERT_EQ(tracker_.hazards().size(), 1u) << all();
  EXPECT_EQ(tracker_.hazards()[0].kind, HazardKind::RacyIdiom);
  EXPECT_EQ(tracker_.hazards()[0].count, 16u);
}

TEST_F(HazardTest, PartialSyncKeepsReadsOfOthers) {
  write(0, stride(0, 4), 1);
  tracker_.cta_barrier(0);
  read(0, stride(0, 0), 2, 0x0000ffff);  // lanes 0..15 read word 0
  tracker_.warp_sync(0, 0, 0x0000ffff, kAll);
  read(0, stride(0, 0), 3, 1);         // lane 0 again, knows the others
  write(0, stride(0, 0), 4, 1u << 5);  // lane 5 knows all but lane 0's second read
  ASSERT_EQ(tracker_.hazards().size(), 1u) << all();
  EXPECT_EQ(tracker_.hazards()[0].first_pc, 3u);
}

TEST_F(HazardTest, ReadsThatAReaderKnowsAreForgotten) {
  write(0, stride(0, 4), 1);
  tracker_.cta_barrier(0);
  read(0, stride(0, 0), 2, 1);
  tracker_.warp_sync(0, 0, 3, kAll);
  read(0, stride(0, 0), 3, 2);
  write(0, stride(0, 0), 4, 2);  // lane 1 knows lane 0's read
  EXPECT_TRUE(tracker_.hazards().empty()) << all();
}

TEST_F(HazardTest, ConflictingLanesOfOneStore) {
  write(0, stride(0, 4), 1);  // sibling
  EXPECT_TRUE(tracker_.hazards().empty());
  write(
      1, [](uint32_t l) { return 512 + l / 4 * 4; }, 2);
  ASSERT_EQ(tracker_.hazards().size(), 1u) << all();
  const Hazard& h = tracker_.hazards()[0];
  EXPECT_EQ(h.kind, HazardKind::IntraWarpConflict);
  EXPECT_EQ(h.count, 24u);
  EXPECT_EQ(h.examples[0].first.thread, 32u);
  EXPECT_EQ(h.examples[0].second.thread, 33u);
}

TEST_F(HazardTest, PermutedAndOverlappingStores) {
  write(
      0, [](uint32_t l) { return (l * 7 % 32) * 4; }, 1);
  write(
      1, [](uint32_t l) { return 256 + (31 - l) * 8; }, 2);
  EXPECT_TRUE(tracker_.hazards().empty()) << all();
  // 8 bytes a lane, 4 bytes apart: each overlaps the next (and half of them are misaligned).
  access(
      AccessKind::Write, MemSpace::Shared, 0, 2, 0x5, [](uint32_t l) { return 1024 + l / 2 * 4; },
      3, 8);
  EXPECT_EQ(find(HazardKind::IntraWarpConflict), nullptr);
  EXPECT_NE(find(HazardKind::Misaligned), nullptr);
}

TEST_F(HazardTest, AtomicsNeverRaceWithAtomics) {
  write(0, stride(0, 4), 1, 1);
  tracker_.cta_barrier(0);
  for (uint32_t w = 0; w < 8; ++w) atomic(w, stride(0, 0), 2);
  tracker_.cta_barrier(0);
  read(5, stride(0, 0), 3);
  EXPECT_TRUE(tracker_.hazards().empty()) << all();
}

TEST_F(HazardTest, AtomicsRaceWithPlainAccesses) {
  write(0, stride(0, 4), 1, 1);
  atomic(0, stride(0, 0), 2, 1);  // own: ordered, and hides nothing
  atomic(1, stride(0, 0), 3, 1);
  ASSERT_EQ(tracker_.hazards().size(), 1u) << all();
  EXPECT_EQ(tracker_.hazards()[0].kind, HazardKind::WriteWriteRace);
  read(2, stride(0, 0), 4, 1);
  EXPECT_NE(find(HazardKind::ReadWriteRace), nullptr);
}

TEST_F(HazardTest, WriteAfterAtomics) {
  write(0, stride(0, 4), 1, 1);
  tracker_.cta_barrier(0);
  atomic(0, stride(0, 0), 2, 1);
  atomic(1, stride(0, 0), 2, 1);
  write(1, stride(0, 0), 3, 1);
  ASSERT_EQ(tracker_.hazards().size(), 1u) << all();
  EXPECT_EQ(tracker_.hazards()[0].first_kind, AccessKind::Atomic);
}

TEST_F(HazardTest, NamedBarrierOrdersItsWarpsOnly) {
  write(0, stride(0, 4), 1);
  write(2, stride(256, 4), 1);
  tracker_.warp_barrier(0, 0b011);
  read(1, stride(0, 4), 2);
  EXPECT_TRUE(tracker_.hazards().empty()) << all();
  read(1, stride(256, 4), 3);
  ASSERT_NE(find(HazardKind::ReadWriteRace), nullptr);
  EXPECT_EQ(tracker_.hazards().size(), 1u) << all();
}

TEST_F(HazardTest, NamedBarriersAreTransitive) {
  write(0, stride(0, 4), 1);
  tracker_.warp_barrier(0, 0b011);
  tracker_.warp_barrier(0, 0b110);
  read(2, stride(0, 4), 2);
  tracker_.warp_barrier(0, 0b101);
  write(0, stride(0, 4), 3);
  EXPECT_TRUE(tracker_.hazards().empty()) << all();
}

TEST_F(HazardTest, NamedBarrierWithReadersOutsideIt) {
  write(0, stride(0, 4), 1);
  tracker_.cta_barrier(0);
  read(1, stride(0, 4), 2);
  read(2, stride(0, 4), 3);
  tracker_.warp_barrier(0, 0b101);
  write(0, stride(0, 4), 4);  // knows warp 2's reads, not warp 1's
  ASSERT_FALSE(tracker_.hazards().empty());
  EXPECT_EQ(tracker_.hazards()[0].kind, HazardKind::ReadWriteRace);
  EXPECT_EQ(tracker_.hazards()[0].examples[0].first.thread >> 5, 1u);
}

TEST_F(HazardTest, ReleaseAcquireOrdersProducerAndConsumer) {
  SyncClock full, empty;
  for (int stage = 0; stage < 3; ++stage) {
    tracker_.acquire(0, 0, empty);
    write(0, stride(0, 4), 1);
    tracker_.release(0, 0, &full);
    tracker_.acquire(0, 1, full);
    read(1, stride(0, 4), 2);
    tracker_.release(0, 1, &empty);
  }
  EXPECT_TRUE(tracker_.hazards().empty()) << all();
  write(0, stride(0, 4), 3);  // without waiting for `empty`
  EXPECT_NE(find(HazardKind::ReadWriteRace), nullptr);
}

TEST_F(HazardTest, SubWordWritesAreSeparate) {
  const auto half = [](uint64_t start) { return stride(start, 4); };
  access(AccessKind::Write, MemSpace::Shared, 0, 0, kAll, half(0), 1, 2);
  access(AccessKind::Write, MemSpace::Shared, 0, 1, kAll, half(2), 2, 2);
  EXPECT_TRUE(tracker_.hazards().empty()) << all();
  access(AccessKind::Write, MemSpace::Shared, 0, 2, 1, half(3), 3, 1);
  ASSERT_EQ(tracker_.hazards().size(), 1u) << all();
  EXPECT_EQ(tracker_.hazards()[0].first_pc, 2u);
  EXPECT_EQ(tracker_.hazards()[0].count, 1u);
}

TEST_F(HazardTest, WideAccessesCountOncePerLane) {
  access(AccessKind::Write, MemSpace::Shared, 0, 0, kAll, stride(0, 16), 1, 16);
  access(AccessKind::Read, MemSpace::Shared, 0, 1, kAll, stride(0, 16), 2, 16);
  ASSERT_EQ(tracker_.hazards().size(), 1u) << all();
  EXPECT_EQ(tracker_.hazards()[0].count, 32u);
  EXPECT_EQ(tracker_.hazards()[0].examples[2].offset, 32);
}

TEST_F(HazardTest, CrossCtaConflicts) {
  global(AccessKind::Write, 0, stride(kBase, 4), 1);
  global(AccessKind::Write, 1, stride(kBase + 128, 4), 1);
  EXPECT_TRUE(tracker_.hazards().empty()) << all();
  global(AccessKind::Read, 1, stride(kBase, 4), 2);
  const Hazard* rw = find(HazardKind::CrossCtaReadWrite);
  ASSERT_NE(rw, nullptr);
  EXPECT_EQ(rw->buffer, "x");
  EXPECT_EQ(rw->examples[0].first.cta, 0u);
  EXPECT_EQ(rw->examples[0].second.cta, 1u);
  EXPECT_EQ(rw->count, 32u);
  global(AccessKind::Write, 1, stride(kBase, 4), 3);
  EXPECT_NE(find(HazardKind::CrossCtaWriteWrite), nullptr);
}

TEST_F(HazardTest, CrossCtaReadersOfEarlierCtasAreKept) {
  global(AccessKind::Read, 0, stride(kBase, 4), 1);
  global(AccessKind::Read, 1, stride(kBase, 4), 1);
  EXPECT_TRUE(tracker_.hazards().empty()) << all();
  global(AccessKind::Write, 1, stride(kBase, 4), 2, 1);  // CTA 1 read last, CTA 0 before
  ASSERT_EQ(tracker_.hazards().size(), 1u) << all();
  EXPECT_EQ(tracker_.hazards()[0].kind, HazardKind::CrossCtaReadWrite);
  EXPECT_EQ(tracker_.hazards()[0].examples[0].first.cta, 0u);
}

TEST_F(HazardTest, LaunchesAndGridBarriersOrderCtas) {
  global(AccessKind::Write, 0, stride(kBase, 4), 1);
  tracker_.grid_barrier();
  global(AccessKind::Read, 1, stride(kBase, 4), 2);
  tracker_.begin_launch();
  tracker_.begin_cta(2, 0);
  global(AccessKind::Write, 2, stride(kBase, 4), 3);
  EXPECT_TRUE(tracker_.hazards().empty()) << all();
}

TEST_F(HazardTest, ClusterBarrierOrdersItsCtas) {
  tracker_.begin_cta(2, 4096);
  const auto remote = [&](AccessKind kind, uint32_t cta, uint32_t pc) {
    std::array<uint64_t, 32> addr{};
    for (uint32_t l = 0; l < 32; ++l) addr[l] = l * 4;
    WarpAccess a;
    a.space = MemSpace::Shared;
    a.kind = kind;
    a.cta = cta;
    a.owner_cta = 0;
    a.mask = kAll;
    a.pc = pc;
    a.addr = addr.data();
    tracker_.access(a);
  };
  remote(AccessKind::Write, 1, 1);
  tracker_.cluster_barrier({0, 1});
  remote(AccessKind::Read, 0, 2);
  EXPECT_TRUE(tracker_.hazards().empty()) << all();
  remote(AccessKind::Read, 2, 3);  // not in the cluster
  EXPECT_NE(find(HazardKind::CrossCtaReadWrite), nullptr) << all();
}

TEST_F(HazardTest, OutOfBounds) {
  EXPECT_EQ(
      access(AccessKind::Read, MemSpace::Global, 0, 0, kAll, stride(kBase + 65536 - 120, 4), 9),
      kAll >> 2);
  const Hazard* h = find(HazardKind::OutOfBounds);
  ASSERT_NE(h, nullptr);
  EXPECT_EQ(h->count, 2u);
  EXPECT_EQ(h->buffer, "x");
  EXPECT_EQ(h->examples[0].offset, 65536);
  EXPECT_EQ(h->examples[0].second.thread, 30u);
  EXPECT_EQ(h->extent, 65536u);
}

TEST_F(HazardTest, OutOfBoundsBelowAndWildAndShared) {
  EXPECT_EQ(access(AccessKind::Write, MemSpace::Global, 0, 0, 1, stride(kBase - 8, 4), 1), 0u);
  EXPECT_EQ(tracker_.hazards()[0].examples[0].offset, -8);
  EXPECT_EQ(access(AccessKind::Write, MemSpace::Global, 0, 0, 1, stride(16, 4), 2), 0u);
  EXPECT_EQ(tracker_.hazards()[1].buffer, "");
  EXPECT_EQ(tracker_.hazards()[1].examples[0].offset, 16);
  EXPECT_EQ(access(AccessKind::Write, MemSpace::Shared, 0, 0, 3, stride(4092, 4), 3), 1u);
  EXPECT_EQ(tracker_.hazards()[2].buffer, "shared");
  EXPECT_EQ(tracker_.hazards()[2].extent, 4096u);
  // A truncated address misses every buffer.
  EXPECT_EQ(access(
                AccessKind::Read, MemSpace::Global, 0, 0, kAll,
                [](uint32_t l) { return (kBase + l * 4) & 0xffffffff; }, 4),
            0u);
}

// The last lane that fits, and each way out; three buffers in turn.
TEST_F(HazardTest, BoundsOfOneLane) {
  const uint64_t other = kBase + (1 << 20), third = kBase + (1 << 21);
  tracker_.add_buffer({"y", other, 100, true, true});
  tracker_.add_buffer({"z", third, 6, true, true});
  const auto one = [&](uint64_t at, uint8_t bytes) {
    const uint32_t lane = 1u << 5;
    return access(
               AccessKind::Read, MemSpace::Global, 0, 0, lane,
               [=](uint32_t l) { return l == 5 ? at : 0; }, 1, bytes) == lane;
  };
  for (int again = 0; again < 2; ++again) {
    EXPECT_TRUE(one(kBase, 16));
    EXPECT_TRUE(one(other + 96, 4));
    EXPECT_TRUE(one(third, 4));
  }
  EXPECT_TRUE(one(kBase + 65536 - 16, 16));
  EXPECT_TRUE(tracker_.hazards().empty()) << all();
  for (const auto& [at, bytes] : {std::pair<uint64_t, uint8_t>{kBase + 65536, 4},
                                  {kBase - 4, 4},
                                  {other + 100, 4},
                                  {other + 96, 8},
                                  {third + 4, 4},
                                  {third, 8}})
    EXPECT_FALSE(one(at, bytes)) << at;
  EXPECT_EQ(tracker_.faults(), 6u);
  EXPECT_EQ(find(HazardKind::Misaligned), nullptr) << all();
  EXPECT_FALSE(one(other + 2, 4));
  EXPECT_NE(find(HazardKind::Misaligned), nullptr) << all();
}

TEST_F(HazardTest, Misaligned) {
  EXPECT_EQ(access(AccessKind::Read, MemSpace::Global, 0, 0, kAll, stride(kBase, 16), 1, 16), kAll);
  EXPECT_TRUE(tracker_.hazards().empty());
  EXPECT_EQ(access(AccessKind::Read, MemSpace::Global, 0, 0, kAll, stride(kBase + 4, 16), 1, 16),
            0u);
  EXPECT_EQ(tracker_.hazards()[0].kind, HazardKind::Misaligned);
  EXPECT_EQ(tracker_.hazards()[0].count, 32u);
}

TEST_F(HazardTest, UninitialisedReads) {
  read(0, stride(0, 4), 1);
  ASSERT_EQ(tracker_.hazards().size(), 1u) << all();
  EXPECT_EQ(tracker_.hazards()[0].kind, HazardKind::UninitialisedRead);
  EXPECT_EQ(tracker_.hazards()[0].count, 32u);
  const int y = tracker_.add_buffer({"y", kBase + (1 << 20), 4096, false, true});
  tracker_.mark_initialised(y, 0, 64);
  access(AccessKind::Read, MemSpace::Global, 0, 0, 0xffff, stride(kBase + (1 << 20), 4), 2);
  EXPECT_EQ(tracker_.hazards().size(), 1u) << all();
  access(AccessKind::Read, MemSpace::Global, 0, 0, 0xffff, stride(kBase + (1 << 20) + 32, 4), 3);
  ASSERT_EQ(tracker_.hazards().size(), 2u);
  EXPECT_EQ(tracker_.hazards()[1].count, 8u);
}

TEST_F(HazardTest, UntrackedReadsAreCountedButNotShadowed) {
  const int y = tracker_.add_buffer({"y", kBase + (1 << 20), 1 << 20, true, false});
  for (uint32_t i = 0; i < 100; ++i) {
    global(AccessKind::Read, 0, stride(kBase + (1 << 20) + i * 4096, 4), 1);
  }
  EXPECT_EQ(tracker_.shadow_bytes(), 0u);
  EXPECT_TRUE(tracker_.untracked_conflicts().empty());
  global(AccessKind::Write, 1, stride(kBase + (1 << 20), 4), 2);
  EXPECT_EQ(tracker_.untracked_conflicts(), std::vector<int>{y});
  global(AccessKind::Read, 0, stride(kBase + (1 << 20), 4), 3);  // still checked against writes
  EXPECT_NE(find(HazardKind::CrossCtaReadWrite), nullptr);
}

TEST_F(HazardTest, ShadowMemoryIsBounded) {
  HazardTracker small(100 << 10);
  small.add_buffer({"x", kBase, 1 << 20, true, true});
  small.begin_launch();
  small.begin_cta(0, 0);
  std::array<uint64_t, 32> addr{};
  WarpAccess a;
  a.kind = AccessKind::Write;
  a.mask = kAll;
  a.addr = addr.data();
  for (uint32_t i = 0; i < 200; ++i) {
    for (uint32_t l = 0; l < 32; ++l) addr[l] = kBase + i * 4096 + l * 4;
    EXPECT_EQ(small.access(a), kAll);
  }
  EXPECT_TRUE(small.saturated());
  EXPECT_LE(small.shadow_bytes(), 120u << 10);
}

// Many CTAs write a large buffer: pages of ended ones take little memory and are still known.
TEST_F(HazardTest, PagesOfEndedCtasAreKeptInLittleMemory) {
  constexpr uint64_t kBytes = 8 << 20;
  HazardTracker tracker(4 << 20);  // the shadow of 1 MiB, in full
  tracker.add_buffer({"big", kBase, kBytes, false, true});
  std::array<uint64_t, 32> addr;
  WarpAccess a;
  a.addr = addr.data();
  a.mask = kAll;
  const auto touch = [&](uint32_t cta, AccessKind kind, uint64_t from, uint32_t pc) {
    tracker.begin_cta(cta, 0);
    a.kind = kind;
    a.cta = a.owner_cta = cta;
    a.pc = pc;
    for (uint32_t warp = 0; warp < 8; ++warp) {
      a.warp = static_cast<uint8_t>(warp);
      for (uint32_t l = 0; l < 32; ++l) addr[l] = kBase + from + warp * 128 + l * 4;
      tracker.access(a);
    }
    tracker.end_cta(cta);
  };
  tracker.begin_launch();
  const auto ctas = static_cast<uint32_t>(kBytes / 1024);
  for (uint32_t cta = 0; cta < ctas; ++cta) {
    touch(cta, AccessKind::Read, cta * 1024, 1);
    EXPECT_EQ(tracker.hazards().size(), 1u);  // nothing was written there before
    touch(cta, AccessKind::Write, cta * 1024, 2);
  }
  EXPECT_FALSE(tracker.saturated());
  EXPECT_LT(tracker.shadow_bytes(), 4u << 20);
  ASSERT_EQ(tracker.hazards().size(), 1u);
  EXPECT_EQ(tracker.hazards()[0].kind, HazardKind::UninitialisedRead);
  // What was written first is known as exactly as what was written last.
  touch(ctas, AccessKind::Read, 5 * 1024 + 256, 3);
  touch(ctas + 1, AccessKind::Write, 5 * 1024 + 256, 4);
  std::set<std::string> seen;
  for (size_t k = 1; k < tracker.hazards().size(); ++k) {
    const Hazard& h = tracker.hazards()[k];
    const HazardExample& e = h.examples[0];
    seen.insert(hazard_kind_name(h.kind) + (" " + std::to_string(h.first_pc)) + " " +
                std::to_string(h.second_pc) + " of " + std::to_string(e.first.cta) + ":" +
                std::to_string(e.first.thread) + " at " + std::to_string(e.offset));
  }
  const std::string at = " of 5:64 at 5376", by = " of " + std::to_string(ctas);
  EXPECT_EQ(seen, (std::set<std::string>{"cross-CTA read-write 2 3" + at,
                                         "cross-CTA write-write 2 4" + at,
                                         "cross-CTA read-write 3 4" + by + ":0 at 5376"}));
  // A new launch is ordered behind all of this.
  const size_t before = tracker.hazards().size();
  tracker.begin_launch();
  for (uint32_t cta = 0; cta < ctas; ++cta) touch(cta, AccessKind::Write, cta * 1024, 5);
  EXPECT_EQ(tracker.hazards().size(), before);
  EXPECT_FALSE(tracker.saturated());
}

TEST_F(HazardTest, DistinctHazardsAreCapped) {
  HazardTracker small(1 << 20, 3);
  small.begin_launch();
  small.begin_cta(0, 0);
  std::array<uint64_t, 32> addr{};
  WarpAccess a;
  a.mask = 1;
  a.addr = addr.data();
  for (a.pc = 0; a.pc < 10; ++a.pc) small.access(a);
  EXPECT_EQ(small.hazards().size(), 3u);
  EXPECT_EQ(small.dropped(), 7u);
}

// A tiled matrix product: many readers of each word between barriers, no hazard; then without the
// second barrier.
TEST_F(HazardTest, TiledProduct) {
  for (bool second_barrier : {true, false}) {
    HazardTracker t;
    t.begin_launch();
    t.begin_cta(0, 2048);
    std::array<uint64_t, 32> addr{};
    const auto go = [&](AccessKind kind, uint32_t warp, uint32_t pc, auto at) {
      for (uint32_t l = 0; l < 32; ++l) addr[l] = at(l % 16, warp * 2 + l / 16);
      WarpAccess a;
      a.space = MemSpace::Shared;
      a.kind = kind;
      a.warp = static_cast<uint8_t>(warp);
      a.mask = kAll;
      a.pc = pc;
      a.addr = addr.data();
      t.access(a);
    };
    for (int tile = 0; tile < 3; ++tile) {
      for (uint32_t w = 0; w < 8; ++w) {
        go(AccessKind::Write, w, 1, [](uint32_t x, uint32_t y) { return (y * 16 + x) * 4; });
        go(AccessKind::Write, w, 2, [](uint32_t x, uint32_t y) { return 1024 + (y * 16 + x) * 4; });
      }
      t.cta_barrier(0);
      for (uint32_t w = 0; w < 8; ++w) {
        for (uint32_t k = 0; k < 16; ++k) {
          go(AccessKind::Read, w, 3, [=](uint32_t, uint32_t y) { return (y * 16 + k) * 4; });
          go(AccessKind::Read, w, 4, [=](uint32_t x, uint32_t) { return 1024 + (k * 16 + x) * 4; });
        }
      }
      if (second_barrier) t.cta_barrier(0);
    }
    EXPECT_EQ(t.hazards().empty(), second_barrier);
  }
}

// Random programs against an oracle with a vector clock for each thread: the words on which the
// tracker reports a race are those on which two unordered accesses conflict.
class Oracle {
 public:
  static constexpr uint32_t kWarps = 3, kThreads = 2 * kWarps * 32;  // two CTAs
  using Clock = std::array<uint32_t, kThreads>;
  Oracle() : known_(kThreads, Clock{}) { now_.fill(1); }

  void access(uint32_t thread, uint32_t word, AccessKind kind) {
    for (const Past& p : past_[word]) {
      const bool conflict = (p.kind != AccessKind::Read || kind != AccessKind::Read) &&
                            !(p.kind == AccessKind::Atomic && kind == AccessKind::Atomic);
      if (conflict && p.thread != thread && p.time > known_[thread][p.thread]) racy_.insert(word);
    }
    past_[word].push_back({thread, now_[thread], kind});
  }
  void join(const std::vector<uint32_t>& threads) {
    Clock c = release(threads);
    for (uint32_t t : threads) known_[t] = c;
  }
  // What `threads` know and have done; they go on to a new time.
  Clock release(const std::vector<uint32_t>& threads) {
    Clock c{};
    for (uint32_t t : threads) {
      for (uint32_t i = 0; i < kThreads; ++i) c[i] = std::max(c[i], known_[t][i]);
    }
    for (uint32_t t : threads) c[t] = now_[t]++;
    return c;
  }
  void acquire(const std::vector<uint32_t>& threads, const Clock& c) {
    for (uint32_t t : threads) {
      for (uint32_t i = 0; i < kThreads; ++i) known_[t][i] = std::max(known_[t][i], c[i]);
    }
  }
  const std::set<uint32_t>& racy() const { return racy_; }

 private:
  struct Past {
    uint32_t thread, time;
    AccessKind kind;
  };
  std::vector<Clock> known_;
  Clock now_{};
  std::map<uint32_t, std::vector<Past>> past_;
  std::set<uint32_t> racy_;
};

std::vector<uint32_t> threads_of(uint32_t cta, uint32_t warps, uint32_t lanes = kAll) {
  std::vector<uint32_t> v;
  for (uint32_t w = 0; w < Oracle::kWarps; ++w) {
    for (uint32_t l = 0; l < 32; ++l) {
      if (((warps >> w) & 1) != 0 && ((lanes >> l) & 1) != 0) {
        v.push_back((cta * Oracle::kWarps + w) * 32 + l);
      }
    }
  }
  return v;
}

TEST(HazardOracleTest, RandomPrograms) {
  size_t racy_words = 0, clean_words = 0, spurious = 0;
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    std::mt19937 rng(seed);
    HazardTracker t(1 << 24, 1 << 20);
    t.add_buffer({"x", kBase, 4096, true, true});
    t.begin_launch();
    t.begin_cta(0, 0);
    t.begin_cta(1, 0);
    Oracle oracle;
    SyncClock clock;
    Oracle::Clock oracle_clock{};
    const bool dense = seed % 4 == 1;  // one warp, few words, many synchronisations
    const uint32_t ctas = seed % 3 == 0 ? 2 : 1, syncs = dense ? 3 : 5 + seed % 20;
    const bool named = seed % 2 == 0, flags = seed % 5 == 0, partial = seed % 7 < 3;
    std::set<uint32_t> touched;
    for (uint32_t step = 0; step < 60; ++step) {
      const uint32_t cta = rng() % ctas, warp = dense ? 0 : rng() % Oracle::kWarps;
      const uint32_t what = rng() % (syncs * 4);
      if (what == 0) {
        t.cta_barrier(cta);
        oracle.join(threads_of(cta, 7));
      } else if (what == 1 && named) {
        const uint32_t warps = 1 + rng() % 7;
        t.warp_barrier(cta, warps);
        oracle.join(threads_of(cta, warps));
      } else if (what == 2 || what == 3) {
        const uint32_t lanes = partial || dense ? rng() | 1 : kAll;
        t.warp_sync(cta, warp, lanes, kAll);
        oracle.join(threads_of(cta, 1u << warp, lanes));
      } else if (what == 4 && flags) {
        t.release(cta, warp, &clock);
        const Oracle::Clock c = oracle.release(threads_of(cta, 1u << warp));
        for (uint32_t i = 0; i < Oracle::kThreads; ++i) {
          oracle_clock[i] = std::max(oracle_clock[i], c[i]);
        }
      } else if (what == 5 && flags) {
        t.acquire(cta, warp, clock);
        oracle.acquire(threads_of(cta, 1u << warp), oracle_clock);
      } else {
        const uint32_t kind = rng() % 8;
        WarpAccess a;
        a.kind = kind < 5 ? AccessKind::Read : kind < 7 ? AccessKind::Write : AccessKind::Atomic;
        a.cta = cta;
        a.warp = static_cast<uint8_t>(warp);
        a.pc = step;
        // At most 4 lanes, so that no example is dropped; a common pattern of addresses.
        a.mask = 0xfu << (rng() % (dense ? 5 : 29));
        const uint32_t start = rng() % (dense ? 4 : 24),
                       scale = a.kind == AccessKind::Write ? 1 : rng() % 2;
        std::array<uint64_t, 32> addr{};
        for (uint32_t l = 0; l < 32; ++l) {
          const uint32_t word = start + l % 4 * scale;
          addr[l] = kBase + word * 4;
          if (((a.mask >> l) & 1) == 0) continue;
          touched.insert(word);
          oracle.access((cta * Oracle::kWarps + warp) * 32 + l, word, a.kind);
        }
        a.addr = addr.data();
        EXPECT_EQ(t.access(a), a.mask);
      }
    }
    std::set<uint32_t> reported;
    for (const Hazard& h : t.hazards()) {
      for (const HazardExample& e : h.examples)
        reported.insert(static_cast<uint32_t>(e.offset / 4));
    }
    // Never a race missed. Under partial orders a set of readers has one time for all of them, so a
    // race may be seen too many (35 words in 60000 such programs).
    ASSERT_TRUE(
        std::includes(reported.begin(), reported.end(), oracle.racy().begin(), oracle.racy().end()))
        << "seed " << seed;
    if (!named && !flags && !partial && !dense) {
      ASSERT_EQ(reported, oracle.racy()) << "seed " << seed;
    }
    spurious += reported.size() - oracle.racy().size();
    racy_words += reported.size();
    clean_words += touched.size() - reported.size();
  }
  EXPECT_LE(spurious, 5u);
  EXPECT_GT(racy_words, 10000u);
  EXPECT_GT(clean_words, 8000u);
}

}  // namespace
}  // namespace assay::machine
