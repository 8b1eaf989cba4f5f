// The skeleton reports the accesses that the concrete run makes, and says where it cannot know.
#include <map>
#include <set>

#include "machine/flow.h"
#include "tests/unit/machine/machine_test_util.h"

namespace assay::machine::test {
namespace {

using B = BufferSpec;

// (cta, warp, pc, space, kind, lane, address) -> times.
using AccessKey = std::array<uint64_t, 7>;
struct Recorder : Observer {
  bool loads = true, shared = true;
  std::map<AccessKey, int> accesses;
  std::vector<std::array<uint32_t, 3>> barriers;
  int unknown_accesses = 0, unknown_branches = 0, conditional = 0;
  uint32_t access(const WarpAccess& a) override {
    if (!loads && a.space == MemSpace::Global && a.kind == AccessKind::Read) return a.mask;
    if (!shared && a.space == MemSpace::Shared) return a.mask;
    for (uint32_t l = 0; l < 32; ++l) {
      if ((a.mask >> l) & 1) {
        ++accesses[{a.cta, a.warp, a.pc, static_cast<uint64_t>(a.space),
                    static_cast<uint64_t>(a.kind), l, a.addr[l]}];
      }
    }
    return a.mask;
  }
  void unknown_access(const WarpAccess&, bool cond) override {
    ++unknown_accesses;
    conditional += cond;
  }
  void unknown_branch(uint32_t, uint32_t, uint32_t, uint32_t) override { ++unknown_branches; }
  void cta_barrier(uint32_t cta, uint32_t warps, bool whole) override {
    barriers.push_back({cta, warps, whole});
  }
};

struct SkeletonCase {
  Case c;
  bool exact = true;         // no control or address depends on data
  bool exact_stores = true;  // of global stores
};

std::vector<SkeletonCase> cases() {
  const std::string f = "basic.ptx";
  auto in = [](size_t n, Ty t = Ty::F32) { return B{t, n, B::Input}; };
  auto out = [](size_t n, Ty t = Ty::F32) { return B{t, n, B::Output}; };
  return {
      {{f,
        "vadd",
        {3, 1, 1},
        {64, 1, 1},
        {in(150), in(150), out(150)},
        {Buf{0}, Buf{1}, Buf{2}, 150}}},
      {{f,
        "vadd4",
        {2, 1, 1},
        {32, 1, 1},
        {in(200), in(200), out(200)},
        {Buf{0}, Buf{1}, Buf{2}, 50}}},
      {{f,
        "matmul",
        {2, 2, 1},
        {16, 16, 1},
        {in(800), in(1200), out(600)},
        {Buf{0}, Buf{1}, Buf{2}, 20, 40, 30}}},
      {{f,
        "regtile",
        {2, 2, 1},
        {64, 1, 1},
        {in(960), in(1200), out(2000)},
        {Buf{0}, Buf{1}, Buf{2}, 40, 24, 50}}},
      {{f, "softmax", {3, 1, 1}, {128, 1, 1}, {in(900), out(900)}, {Buf{0}, Buf{1}, 300}}},
      {{f,
        "reduce_volatile",
        {2, 1, 1},
        {128, 1, 1},
        {in(1000), out(2)},
        {Buf{0}, Buf{1}, 500},
        512}},
      {{f, "transpose", {2, 2, 1}, {32, 8, 1}, {in(2000), out(2000)}, {Buf{0}, Buf{1}, 50, 40}}},
      {{f, "scan", {2, 1, 1}, {128, 1, 1}, {in(240), out(240)}, {Buf{0}, Buf{1}, 120}}},
      {{f,
        "atomic_sum",
        {2, 1, 1},
        {64, 1, 1},
        {in(100), out(1), out(2, Ty::S32)},
        {Buf{0}, Buf{1}, Buf{2}, 100}}},
      {{f, "calls", {2, 1, 1}, {64, 1, 1}, {in(100), out(100)}, {Buf{0}, Buf{1}, 100}}},
      {{f, "switches", {2, 1, 1}, {64, 1, 1}, {in(100), out(100)}, {Buf{0}, Buf{1}, 100}}},
      {{f, "early_exit", {2, 1, 1}, {64, 1, 1}, {in(100), out(100)}, {Buf{0}, Buf{1}, 100}},
       false,
       false},
      {{f, "argmax", {3, 1, 1}, {64, 1, 1}, {in(300), out(3, Ty::S64)}, {Buf{0}, Buf{1}, 100}},
       false,
       true},
  };
}

void compare(const Case& c, const SliceOptions& options, bool exact) {
  auto s = setup(c, 5);
  ASSERT_TRUE(s) << s.error().message;
  Kernel sliced = slice(s->kernel, options);
  Recorder skeleton, concrete;
  skeleton.loads = concrete.loads = options.global_loads;
  skeleton.shared = concrete.shared = options.shared;
  auto r = run_skeleton(sliced, s->launch, s->env, {}, skeleton);
  ASSERT_TRUE(r) << r.error().message;
  auto q = run_concrete(s->kernel, s->launch, s->env, {}, &concrete);
  ASSERT_TRUE(q) << q.error().message;
  EXPECT_LE(sliced.ops.size(), s->kernel.ops.size());
  if (exact) {
    EXPECT_EQ(skeleton.unknown_accesses, 0);
    EXPECT_EQ(skeleton.unknown_branches, 0);
    EXPECT_EQ(skeleton.accesses.size(), concrete.accesses.size());
    for (auto& [key, times] : skeleton.accesses) {
      ASSERT_TRUE(concrete.accesses.count(key))
          << "extra: cta " << key[0] << " warp " << key[1] << " pc " << key[2] << " space "
          << key[3] << " kind " << key[4] << " lane " << key[5] << " address " << key[6];
    }
    for (auto& [key, times] : concrete.accesses) {
      auto it = skeleton.accesses.find(key);
      ASSERT_TRUE(it != skeleton.accesses.end() && it->second == times)
          << "cta " << key[0] << " warp " << key[1] << " pc " << key[2] << " space " << key[3]
          << " kind " << key[4] << " lane " << key[5] << " address " << key[6];
    }
    if (options.sync) {
      EXPECT_EQ(skeleton.barriers, concrete.barriers);
    }
  } else {
    EXPECT_GT(skeleton.unknown_branches + skeleton.unknown_accesses, 0);
    for (auto& [key, times] : skeleton.accesses) {
      ASSERT_TRUE(concrete.accesses.count(key)) << "pc " << key[2] << " lane " << key[5];
    }
  }
}

class SkeletonRuns : public testing::TestWithParam<SkeletonCase> {};

TEST_P(SkeletonRuns, SeesEveryAccess) { compare(GetParam().c, {}, GetParam().exact); }
TEST_P(SkeletonRuns, SeesEveryStore) {
  SliceOptions o;
  o.global_loads = o.shared = o.sync = false;
  compare(GetParam().c, o, GetParam().exact_stores);
}

INSTANTIATE_TEST_SUITE_P(Kernels, SkeletonRuns, testing::ValuesIn(cases()),
                         [](const auto& p) { return p.param.c.kernel; });

TEST(Slice, StoresOnlyDropsTheReductionLoop) {
  Case c = cases()[2].c;
  auto s = setup(c, 1);
  ASSERT_TRUE(s) << s.error().message;
  SliceOptions o;
  o.global_loads = o.shared = o.sync = false;
  Kernel k = slice(s->kernel, o);
  for (const MicroOp& op : k.ops) {
    EXPECT_NE(op.kind, OpKind::Ld);
    EXPECT_NE(op.kind, OpKind::Bar);
  }
  for (const Block& b : k.blocks) {  // no loop is left
    for (uint32_t next : b.succ) {
      if (b.rpo != kNever) {
        EXPECT_GT(k.blocks[next].rpo, b.rpo);
      }
    }
  }
}

}  // namespace
}  // namespace assay::machine::test
