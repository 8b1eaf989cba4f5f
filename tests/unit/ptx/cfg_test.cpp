#include "ptx/cfg.h"

#include <gtest/gtest.h>

#include <random>

#include "ptx/dominators.h"

namespace assay::ptx {
namespace {

Module module_of(const std::string& body) {
  auto m = parse(
      ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n.reg .pred %p<4>;\n"
      ".reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n.reg .f32 %f<9>;\n" +
          body + "}\n",
      "t");
  EXPECT_TRUE(m) << (m ? "" : format_diag(m.error()));
  return m ? std::move(*m) : Module{};
}

TEST(Cfg, DiamondMeetsAtItsEnd) {
  const Module m = module_of(
      "@%p1 bra A;\nmov.u32 %r1, 1;\nbra B;\nA: mov.u32 %r1, 2;\nB: mov.u32 %r2, %r1;\nret;\n");
  const Cfg c = build_cfg(m.functions[0]);
  ASSERT_EQ(c.blocks.size(), 4u);
  EXPECT_EQ(c.blocks[0].succs, (std::vector<uint32_t>{2, 1}));
  EXPECT_EQ(c.blocks[0].ipdom, 3u);
  EXPECT_EQ(c.blocks[1].ipdom, 3u);
  EXPECT_EQ(c.blocks[3].ipdom, c.exit());
  EXPECT_EQ(c.blocks[3].idom, 0);
  EXPECT_EQ(c.reconvergence(0), 4u);
  EXPECT_EQ(c.rpo.front(), 0u);
  EXPECT_EQ(c.rpo.back(), 3u);
  EXPECT_TRUE(c.loops.empty());
}

TEST(Cfg, EarlyReturnMeetsAtTheExit) {
  const Module m = module_of("@%p1 ret;\nmov.u32 %r1, 1;\n@!%p2 exit;\ntrap;\n");
  const Cfg c = build_cfg(m.functions[0]);
  ASSERT_EQ(c.blocks.size(), 3u);
  EXPECT_EQ(c.blocks[0].ipdom, c.exit());
  EXPECT_EQ(c.blocks[0].succs, (std::vector<uint32_t>{c.exit(), 1}));
  EXPECT_EQ(c.blocks[2].succs, (std::vector<uint32_t>{c.exit()}));
}

TEST(Cfg, NestedLoops) {
  const Module m = module_of(
      "mov.u32 %r1, 0;\nO: mov.u32 %r2, 0;\nI: add.s32 %r2, %r2, 1;\n@%p1 bra I;\n"
      "add.s32 %r1, %r1, 1;\n@%p2 bra O;\nret;\n");
  const Cfg c = build_cfg(m.functions[0]);
  ASSERT_EQ(c.blocks.size(), 5u);
  ASSERT_EQ(c.loops.size(), 2u);
  EXPECT_EQ(c.loops[0].header, 1u);
  EXPECT_EQ(c.loops[1].header, 2u);
  EXPECT_EQ(c.loops[1].parent, 0);
  EXPECT_EQ(c.loops[1].depth, 2u);
  EXPECT_EQ(c.blocks[2].loop, 1);
  EXPECT_EQ(c.blocks[3].loop, 0);
  EXPECT_TRUE(c.in_loop(2, 0));
  EXPECT_FALSE(c.in_loop(3, 1));
  EXPECT_FALSE(c.in_loop(4, 0));
  EXPECT_TRUE(c.reducible);
}

TEST(Cfg, EndlessAndIrreducible) {
  const Module m = module_of("@%p1 bra B;\nA: mov.u32 %r1, 1;\nbra B;\nB: bra A;\n");
  const Cfg c = build_cfg(m.functions[0]);
  EXPECT_FALSE(c.reducible);
  for (const Block& b : c.blocks) EXPECT_EQ(b.ipdom, c.exit());
}

TEST(Cfg, IndexedBranchAndFallOff) {
  const Module m = module_of(
      "t: .branchtargets A, B, A;\nbrx.idx %r1, t;\nA: mov.u32 %r1, 1;\nbra C;\n"
      "B: mov.u32 %r1, 2;\nC: mov.u32 %r2, 1;\n");
  const Cfg c = build_cfg(m.functions[0]);
  EXPECT_EQ(c.blocks[0].succs, (std::vector<uint32_t>{1, 2}));
  EXPECT_EQ(c.blocks[0].ipdom, 3u);
  EXPECT_EQ(c.blocks[3].succs, (std::vector<uint32_t>{c.exit()}));
}

TEST(Cfg, LabelAtTheEnd) {
  const Module m = module_of("@%p1 bra E;\nmov.u32 %r1, 1;\nE:\n");
  const Cfg c = build_cfg(m.functions[0]);
  EXPECT_EQ(c.blocks[0].succs, (std::vector<uint32_t>{c.exit(), 1}));
}

// Dominators by definition: d dominates v iff v cannot be reached without d.
TEST(Dominators, AgreeWithTheDefinitionOnRandomGraphs) {
  std::mt19937 rng(7);
  for (int round = 0; round < 400; ++round) {
    const uint32_t n = 2 + rng() % 12;
    std::vector<std::vector<uint32_t>> succs(n);
    for (uint32_t e = rng() % (3 * n); e > 0; --e) succs[rng() % n].push_back(rng() % n);
    const auto reach = [&](uint32_t without) {
      std::vector<bool> seen(n, false);
      std::vector<uint32_t> work;
      if (without != 0) work.push_back(0), seen[0] = true;
      while (!work.empty()) {
        const uint32_t v = work.back();
        work.pop_back();
        for (uint32_t s : succs[v]) {
          if (s == without || seen[s]) continue;
          seen[s] = true;
          work.push_back(s);
        }
      }
      return seen;
    };
    const auto reachable = reach(n);
    std::vector<std::vector<bool>> dom(n);  // dom[d][v]
    for (uint32_t d = 0; d < n; ++d) dom[d] = reach(d), dom[d].flip();
    const auto idom = dominators(succs, 0);
    for (uint32_t v = 0; v < n; ++v) {
      if (v == 0 || !reachable[v]) {
        EXPECT_EQ(idom[v], -1);
        continue;
      }
      // The immediate dominator is the strict dominator that all strict dominators dominate.
      ASSERT_GE(idom[v], 0);
      const auto i = static_cast<uint32_t>(idom[v]);
      EXPECT_NE(i, v);
      EXPECT_TRUE(dom[i][v]);
      for (uint32_t d = 0; d < n; ++d) {
        const bool strict = d != v && reachable[d] && dom[d][v];
        EXPECT_TRUE(!strict || dom[d][i]) << d << " " << v;
      }
    }
  }
}

TEST(DefUse, GuardsVectorsPairsAddresses) {
  const Module m = module_of(
      "@%p1 ld.global.v2.u32 {%r1, %r2}, [%rd1+4];\n"
      "st.global.u32 [%rd2], %r3;\n"
      "setp.lt.or.s32 %p1|%p2, %r1, %r2, !%p3;\n"
      "add.cc.u32 %r1, %r2, %r3;\n"
      "addc.u32 %r1, %r2, 0;\n"
      "mov.b64 {%r4, _}, %rd3;\n"
      "atom.global.cas.b32 _, [%rd1], %r1, %r2;\nret;\n");
  const Function& f = m.functions[0];
  const auto names = [&](const std::vector<int32_t>& regs) {
    std::string text;
    for (int32_t r : regs) text += f.reg_name(r) + " ";
    return text;
  };
  DefUse d;
  def_use(f, f.body[0], &d);
  EXPECT_EQ(names(d.defs), "%r1 %r2 ");
  EXPECT_EQ(names(d.uses), "%p1 %rd1 ");
  def_use(f, f.body[1], &d);
  EXPECT_EQ(names(d.defs), "");
  EXPECT_EQ(names(d.uses), "%rd2 %r3 ");
  def_use(f, f.body[2], &d);
  EXPECT_EQ(names(d.defs), "%p1 %p2 ");
  EXPECT_EQ(names(d.uses), "%r1 %r2 %p3 ");
  def_use(f, f.body[3], &d);
  EXPECT_TRUE(d.writes_carry && !d.reads_carry);
  def_use(f, f.body[4], &d);
  EXPECT_TRUE(!d.writes_carry && d.reads_carry);
  def_use(f, f.body[5], &d);
  EXPECT_EQ(names(d.defs), "%r4 ");
  EXPECT_EQ(names(d.uses), "%rd3 ");
  def_use(f, f.body[6], &d);
  EXPECT_EQ(names(d.defs), "");
  EXPECT_EQ(names(d.uses), "%rd1 %r1 %r2 ");
}

}  // namespace
}  // namespace assay::ptx
