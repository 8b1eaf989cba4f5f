#include "measure/diff.h"

#include <gtest/gtest.h>

#include "measure/occupancy.h"
#include "measure/remarks.h"

namespace assay::measure {
namespace {

using region::Class;
using region::Instr;
using region::Kind;
using region::Region;

Instr instruction(const std::string& opcode) {
  Instr i;
  i.sass.opcode = opcode;
  i.cls = region::sass_class(opcode);
  i.bytes = region::access_bytes(opcode);
  return i;
}

region::RegionMap map_of(std::vector<std::string> opcodes, const std::string& name = "k") {
  region::RegionMap map;
  map.arch = "sm_90";
  map.disassembler = "nvdisasm";
  region::KernelMap k;
  k.resources.name = k.name = name;
  k.resources.is_kernel = true;
  k.resources.registers = 32;
  k.spills_known = true;
  Region function, line;
  function.id = function.key = "f";
  line.id = line.key = "l";
  line.kind = Kind::Line;
  line.parent = 0;
  function.children = {1};
  for (const std::string& o : opcodes) line.own.add(instruction(o));
  line.total = function.total = line.own;
  k.regions = {function, line};
  map.kernels.push_back(std::move(k));
  return map;
}

std::vector<std::string> breaches(const region::RegionMap& a, const region::RegionMap& b,
                                  GuardLimits limits = {}) {
  std::vector<std::string> out;
  for (const Breach& x : guard(compare(a, b), limits)) out.push_back(x.what);
  return out;
}

using Words = std::vector<std::string>;

TEST(Guard, SameIsNoRegression) {
  const auto a = map_of({"LDG.E.128", "HGMMA.64x8x16.F32", "STG.E"});
  EXPECT_EQ(compare(a, a).kernels[0].match, Match::Same);
  EXPECT_TRUE(breaches(a, a).empty());
}

TEST(Guard, LostTensorCores) {
  const auto a = map_of({"HGMMA.64x8x16.F32", "HGMMA.64x8x16.F32"}), b = map_of({"FFMA", "FFMA"});
  EXPECT_EQ(breaches(a, b),
            (Words{"tensor: 2 instructions before, 0 instructions now; lost HGMMA.64x8x16.F32"}));
  EXPECT_TRUE(breaches(b, a).empty());
  // One of two left may be a larger one.
  EXPECT_TRUE(breaches(a, map_of({"HGMMA.64x8x16.F32", "FFMA"})).empty());
}

TEST(Guard, LostTma) { EXPECT_EQ(breaches(map_of({"UTMALDG.2D"}), map_of({"LDG.E"})).size(), 1u); }

TEST(Guard, NarrowerAccesses) {
  EXPECT_EQ(breaches(map_of({"LDG.E.128"}), map_of({"LDG.E", "LDG.E", "LDG.E", "LDG.E"})),
            (Words{"global load width: 16 B before, 4 B now"}));
  EXPECT_TRUE(breaches(map_of({"LDG.E"}), map_of({"LDG.E.64"})).empty());
}

TEST(Guard, Spills) {
  auto a = map_of({"FADD"}), b = map_of({"FADD", "STL", "LDL"});
  b.kernels[0].spill_store_bytes = 4;
  EXPECT_EQ(breaches(a, b).size(), 3u);  // bytes, loads, stores
}

TEST(Guard, CodeGrowth) {
  const auto a = map_of(std::vector<std::string>(200, "FADD"));
  EXPECT_TRUE(breaches(a, map_of(std::vector<std::string>(219, "FADD"))).empty());
  EXPECT_EQ(breaches(a, map_of(std::vector<std::string>(222, "FADD"))).size(), 1u);
  GuardLimits loose;
  loose.code_growth = 0.2;
  EXPECT_TRUE(breaches(a, map_of(std::vector<std::string>(222, "FADD")), loose).empty());
  // Small kernels may grow by the slack.
  EXPECT_TRUE(breaches(map_of({"FADD"}), map_of(std::vector<std::string>(17, "FADD"))).empty());
}

TEST(Guard, RegistersOnlyWhereAsked) {
  auto a = map_of({"FADD"}), b = map_of({"FADD"});
  b.kernels[0].resources.registers = 64;
  EXPECT_TRUE(breaches(a, b).empty());
  GuardLimits limits;
  limits.registers = 31;
  EXPECT_EQ(breaches(a, b, limits).size(), 1u);
  limits.registers = 32;
  EXPECT_TRUE(breaches(a, b, limits).empty());
}

TEST(Guard, MissingKernels) {
  EXPECT_EQ(breaches(map_of({"FADD"}, "old"), map_of({"FADD"}, "new")),
            (Words{"the kernel is gone"}));
  // Another signature of the same name is the same kernel.
  auto a = map_of({"FADD"}, "_Z1kPf"), b = map_of({"FADD"}, "_Z1kPfi");
  a.kernels[0].name = "k(float*)";
  b.kernels[0].name = "k(float*, int)";
  EXPECT_TRUE(breaches(a, b).empty());
}

TEST(Diff, RegionsByIdentity) {
  auto a = map_of({"LDG.E"}), b = map_of({"LDG.E"});
  b.kernels[0].regions[1].at.line = 99;  // moved, else the same
  EXPECT_EQ(compare(a, b).kernels[0].match, Match::Same);
  b.kernels[0].regions[1].key = "other";
  const KernelDiff k = compare(a, b).kernels[0];
  ASSERT_EQ(k.regions.size(), 3u);
  EXPECT_EQ(k.regions[1].match, Match::Added);
  EXPECT_EQ(k.regions[2].match, Match::Removed);
  // A loop is more than its first line.
  a.kernels[0].regions[1].kind = b.kernels[0].regions[1].kind = Kind::Loop;
  const KernelDiff loops = compare(a, b).kernels[0];
  ASSERT_EQ(loops.regions.size(), 2u);
  EXPECT_EQ(loops.regions[1].match, Match::Changed);
}

TEST(Remarks, SpillsGoToTheirFunction) {
  auto map = map_of({"FADD"}, "_Z1kPf");
  map.kernels[0].spills_known = false;
  add_remarks(
      "ptxas info    : Compiling entry function '_Z1kPf' for 'sm_90a'\n"
      "ptxas info    : Function properties for _Z1kPf\n"
      "    40 bytes stack frame, 36 bytes spill stores, 44 bytes spill loads\n"
      "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are "
      "serialized due to ... in function '_Z1kPf'\n",
      &map);
  EXPECT_TRUE(map.kernels[0].spills_known);
  EXPECT_EQ(map.kernels[0].spill_store_bytes, 36u);
  EXPECT_EQ(map.kernels[0].spill_load_bytes, 44u);
  EXPECT_EQ(map.kernels[0].remarks.size(), 1u);
}

TEST(Occupancy, LimitsAreNamed) {
  auto map = map_of({"FADD"});
  map.kernels[0].resources.registers = 128;
  add_occupancy(256, &map);
  ASSERT_EQ(map.kernels[0].occupancy.size(), 1u);
  EXPECT_EQ(map.kernels[0].occupancy[0].ctas, 2u);  // 65536 / (128 * 256)
  EXPECT_EQ(map.kernels[0].occupancy[0].limit, "registers");
  map = map_of({"FADD"});
  map.kernels[0].resources.shared_bytes = 40000;
  add_occupancy(128, &map);
  EXPECT_EQ(map.kernels[0].occupancy[0].ctas, 5u);  // 233472 / (40000 + 1024, in 128s)
  EXPECT_EQ(map.kernels[0].occupancy[0].limit, "shared memory");
  map = map_of({"FADD"});
  map.arch = "sm_20";
  add_occupancy(128, &map);
  EXPECT_TRUE(map.kernels[0].occupancy.empty());
  EXPECT_EQ(map.missing.size(), 1u);
}

}  // namespace
}  // namespace assay::measure
