// Hazards of CTAs among one another, bounds, alignment, uninitialised memory; what the tracker
// keeps.
#include <set>

#include "tests/unit/machine/hazard_test_util.h"

namespace assay::machine {
namespace {

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

}  // namespace
}  // namespace assay::machine
