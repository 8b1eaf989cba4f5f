// Races of one CTA, each kind with a race-free sibling.
#include "tests/unit/machine/hazard_test_util.h"

namespace assay::machine {
namespace {

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

}  // namespace
}  // namespace assay::machine
