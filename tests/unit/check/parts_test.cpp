// Locations by the CTAs that write them.
#include "check/parts.h"

#include <gtest/gtest.h>

#include <numeric>

#include "check/check.h"
#include "check/launch_toml.h"
#include "check/prove.h"

namespace assay::check {
namespace {

// y[i] = x[i] of 64 elements by 2 CTAs; with `last` all CTAs also store to y[63].
std::string kernel(bool last) {
  return ".version 8.0\n.target sm_90\n.address_size 64\n"
         ".visible .entry k(.param .u64 p0, .param .u64 p1) {\n"
         ".reg .b32 %r<8>;\n.reg .b64 %rd<8>;\n.reg .f32 %f<4>;\n"
         "ld.param.u64 %rd1, [p0];\nld.param.u64 %rd2, [p1];\nmov.u32 %r1, %tid.x;\n"
         "mov.u32 %r2, %ctaid.x;\nmad.lo.s32 %r4, %r2, 32, %r1;\n"
         "mul.wide.u32 %rd3, %r4, 4;\nadd.s64 %rd4, %rd1, %rd3;\nadd.s64 %rd5, %rd2, %rd3;\n"
         "ld.global.f32 %f1, [%rd5];\nst.global.f32 [%rd4], %f1;\n" +
         std::string(last ? "st.global.f32 [%rd1+252], %f1;\n" : "") + "ret;\n}\n";
}

program::Program copy_program(bool last = false) {
  const auto file = parse_launch(
      "grid = 2\nblock = 32\nparams = [\"y\", \"x\"]\n"
      "[arrays.y]\nrole = \"out\"\ndtype = \"f32\"\nshape = [64]\n"
      "[arrays.x]\nrole = \"in\"\ndtype = \"f32\"\nshape = [64]\n",
      "L.toml");
  EXPECT_TRUE(file) << file.error().message;
  program::Module m;
  m.name = "k.ptx";
  m.real_ptx = kernel(last);
  auto p = launch_program(*file, m, LaunchSide::Candidate);
  EXPECT_TRUE(p) << p.error().message;
  return p.value_or(program::Program{});
}

Positions range(int64_t first, int64_t end) {
  Positions p(static_cast<size_t>(end - first));
  std::iota(p.begin(), p.end(), first);
  return p;
}

struct Copy {
  explicit Copy(bool last = false) : program(copy_program(last)) {
    auto prepared = prepare(program);
    EXPECT_TRUE(prepared) << prepared.error().message;
    side = std::move(*prepared);
    std::vector<Finding> findings;
    std::vector<LocationResult> refuted;
    pairs = pair_outputs(side, side, findings, refuted);
  }
  program::Program program;
  Side side;
  std::vector<OutputPair> pairs;
};

TEST(Parts, OneForEachCta) {
  Copy copy;
  ASSERT_EQ(copy.pairs.size(), 1u);
  const Parts all = by_cta(copy.side, copy.pairs, {range(0, 64)}, 0);
  ASSERT_EQ(all.parts.size(), 2u);
  EXPECT_EQ(all.parts[0][0], range(0, 32));
  EXPECT_EQ(all.parts[1][0], range(32, 64));
  EXPECT_EQ(all.ctas, (std::vector<uint32_t>{0, 1}));
}

TEST(Parts, OneWhereTheCtasAreSmall) {
  Copy copy;
  EXPECT_EQ(by_cta(copy.side, copy.pairs, {range(0, 64)}).parts.size(), 1u);
}

TEST(Parts, OneWhereOneCtaWritesAll) {
  Copy copy;
  const Parts half = by_cta(copy.side, copy.pairs, {range(8, 32)}, 0);
  ASSERT_EQ(half.parts.size(), 1u);
  EXPECT_EQ(half.parts[0][0], range(8, 32));
  EXPECT_TRUE(half.ctas.empty());
}

TEST(Parts, OneWhereTwoCtasWriteAPosition) {
  Copy copy(true);
  EXPECT_EQ(by_cta(copy.side, copy.pairs, {range(0, 64)}, 0).parts.size(), 1u);
  EXPECT_EQ(by_cta(copy.side, copy.pairs, {range(0, 63)}, 0).parts.size(), 2u);
}

TEST(Parts, PositionsOfACta) {
  Copy copy;
  const auto second = positions_of_cta(copy.side, copy.pairs, 1);
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ((*second)[0], range(32, 64));
  const auto none = positions_of_cta(copy.side, copy.pairs, 2);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, DiagKind::Invalid);
}

TEST(Parts, PositionsOfACtaThatWritesWhatAnotherWrites) {
  Copy copy(true);
  const auto first = positions_of_cta(copy.side, copy.pairs, 0);
  ASSERT_TRUE(first) << first.error().message;
  Positions want = range(0, 32);
  want.push_back(63);
  EXPECT_EQ((*first)[0], want);
}

TEST(Parts, ACheckOfOneCta) {
  Pair pair;
  pair.candidate = copy_program();
  pair.reference = copy_program();
  CheckOptions options;
  options.at_ctas = {1};
  const auto v = check_programs({pair}, options);
  ASSERT_TRUE(v) << v.error().message;
  EXPECT_EQ(v->kind, VerdictKind::Proved) << v->summary;
  ASSERT_EQ(v->shapes[0].outputs.size(), 1u);
  EXPECT_EQ(v->shapes[0].outputs[0].checked, 32u);
  EXPECT_EQ(v->shapes[0].outputs[0].proved, 32u);
}

TEST(Parts, DifferencesOfPartsAreThoseOfTheWhole) {
  ImageDiff all, more;
  all.equal = {{4, 9}}, all.differ = {{}}, all.undefined = {{1}};
  all.error_bound = 0.25;
  all.folds = {"a"};
  more.equal = {{5}}, more.differ = {{7}}, more.undefined = {{0}};
  more.error_bound = 0.5;
  more.folds = {"a", "b"};
  all.append(more);
  EXPECT_EQ(all.equal[0], (Positions{4, 5, 9}));
  EXPECT_EQ(all.differ[0], (Positions{7}));
  EXPECT_EQ(all.undefined[0], (Positions{0, 1}));
  EXPECT_EQ(all.error_bound, 0.75);
  EXPECT_EQ(all.folds, (std::vector<std::string>{"a", "b"}));
}

}  // namespace
}  // namespace assay::check
