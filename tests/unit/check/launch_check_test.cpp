// Whole checks of PTX by launch files: both sides launched in their own way, functions without a
// body, symbolic scalars; and what the check keeps of a launch.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "check/check.h"
#include "check/experiment.h"
#include "check/launch_toml.h"
#include "check/side.h"
#include "program/philox.h"

namespace assay::check {
namespace {

// y[i] = f(x[i]) * f(a), or y[i] = f(x[i] + a).
std::string kernel(bool factors) {
  const std::string call =
      ".param .b32 q;\nst.param.f32 [q], %f9;\n.param .b32 v;\ncall.uni (v), f, (q);\n"
      "ld.param.f32 %f8, [v];\n}\n";
  std::string body = "ld.param.f32 %f2, [p2];\n";
  if (factors) {
    body += "mov.f32 %f9, %f1;\n{\n" + call + "mov.f32 %f3, %f8;\nmov.f32 %f9, %f2;\n{\n" + call +
            "mul.f32 %f4, %f3, %f8;\n";
  } else {
    body += "add.f32 %f9, %f1, %f2;\n{\n" + call + "mov.f32 %f4, %f8;\n";
  }
  return ".version 8.0\n.target sm_90\n.address_size 64\n"
         ".extern .func (.param .b32 r) f (.param .b32 a);\n"
         ".visible .entry k(.param .u64 p0, .param .u64 p1, .param .f32 p2) {\n"
         ".reg .b32 %r<8>;\n.reg .b64 %rd<8>;\n.reg .f32 %f<12>;\n"
         "ld.param.u64 %rd1, [p0];\nld.param.u64 %rd2, [p1];\nmov.u32 %r1, %tid.x;\n"
         "mov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ntid.x;\nmad.lo.s32 %r4, %r2, %r3, %r1;\n"
         "mul.wide.u32 %rd3, %r4, 4;\nadd.s64 %rd4, %rd1, %rd3;\nadd.s64 %rd5, %rd2, %rd3;\n"
         "ld.global.f32 %f1, [%rd5];\n" +
         body + "st.global.f32 [%rd4], %f4;\nret;\n}\n";
}

LaunchFile launch(const std::string& meaning) {
  auto f = parse_launch(
      "grid = 2\nblock = 32\nparams = [\"y\", \"x\", \"a\"]\n[reference]\ngrid = 1\n"
      "block = 64\n[functions]\nf = \"" +
          meaning +
          "\"\n[arrays.y]\nrole = \"out\"\ndtype = \"f32\"\nshape = [64]\n"
          "[arrays.x]\nrole = \"in\"\ndtype = \"f32\"\nshape = [64]\n"
          "[scalars.a]\ntype = \"f32\"\nsymbolic = true\n",
      "L.toml");
  EXPECT_TRUE(f) << f.error().message;
  return f.value_or(LaunchFile{});
}

Verdict check(const std::string& meaning, int jobs) {
  const LaunchFile file = launch(meaning);
  auto program = [&](bool factors, LaunchSide side) {
    program::Module m;
    m.name = "k.ptx";
    m.real_ptx = kernel(factors);
    auto p = launch_program(file, m, side);
    EXPECT_TRUE(p) << p.error().message;
    return std::move(*p);
  };
  Pair pair;
  pair.candidate = program(true, LaunchSide::Candidate);
  pair.reference = program(false, LaunchSide::Reference);
  CheckOptions options;
  options.jobs = jobs;
  auto v = check_programs({pair}, options);
  EXPECT_TRUE(v) << v.error().message;
  return v.value_or(Verdict{});
}

class LaunchCheck : public testing::TestWithParam<int> {};

TEST_P(LaunchCheck, ProvesByTheMeaningOfAFunction) {
  const Verdict v = check("expf", GetParam());
  EXPECT_EQ(v.kind, VerdictKind::Proved) << v.summary;
  ASSERT_EQ(v.shapes[0].outputs.size(), 1u);
  EXPECT_EQ(v.shapes[0].outputs[0].proved, 64u);
  const std::string said =
      std::accumulate(v.assumptions.begin(), v.assumptions.end(), std::string());
  EXPECT_NE(said.find("f computes expf"), std::string::npos) << said;
  EXPECT_NE(said.find("no real build"), std::string::npos) << said;
  EXPECT_EQ(said.find("probing"), std::string::npos) << said;
  for (const Finding& f : v.findings) EXPECT_NE(f.kind, "note") << f.message;
}

TEST_P(LaunchCheck, RefutesByTheMeaningOfAFunction) {
  const Verdict v = check("sinf", GetParam());
  EXPECT_EQ(v.kind, VerdictKind::Refuted) << v.summary;
}

INSTANTIATE_TEST_SUITE_P(Jobs, LaunchCheck, testing::Values(1, 2));

TEST(PreparedLaunch, KeepsItsLastTrace) {
  const LaunchFile file = launch("expf");
  program::Module m;
  m.real_ptx = kernel(true);
  auto p = launch_program(file, m);
  ASSERT_TRUE(p) << p.error().message;
  auto side = prepare(*p);
  ASSERT_TRUE(side) << side.error().message;
  PreparedLaunch& l = *side->launches[0];
  const auto both = l.trace({0, 1}, false), second = l.trace({1}, false);
  ASSERT_TRUE(both && second);
  EXPECT_EQ(*both, *second);
  EXPECT_EQ((*both)->stores.size(), 2u);
  const auto other = l.trace({0, 1}, true);  // another schedule is another trace
  ASSERT_TRUE(other);
  EXPECT_NE(*both, *other);
  const auto one = l.trace({1}, false);
  ASSERT_TRUE(one);
  EXPECT_EQ((*one)->stores.size(), 1u);
  const auto more = l.trace({0, 1}, false);
  ASSERT_TRUE(more);
  EXPECT_EQ((*more)->stores.size(), 2u);
}

// PTX without source positions: the line of the PTX itself.
TEST(PreparedLaunch, PlacesAreLinesOfThePtx) {
  const LaunchFile file = launch("expf");
  program::Module m;
  m.name = "k.ptx";
  m.real_ptx = kernel(true);
  auto p = launch_program(file, m);
  ASSERT_TRUE(p) << p.error().message;
  auto side = prepare(*p);
  ASSERT_TRUE(side) << side.error().message;
  const auto trace = side->launches[0]->trace({0}, false);
  ASSERT_TRUE(trace);
  const SrcLoc loc = side->launches[0]->source((*trace)->stores[0].pc);
  EXPECT_EQ(loc.file, "k.ptx");
  const auto at = static_cast<std::ptrdiff_t>(m.real_ptx.find("st.global"));
  EXPECT_EQ(loc.line, 1 + std::count(m.real_ptx.begin(), m.real_ptx.begin() + at, '\n'));
}

// Whatever the order of questions, an element has the value that a witness script draws.
TEST(Experiment, DrawsElementByElement) {
  std::vector<SymbolInfo> symbols(2);
  symbols[0].symbol = 11;
  symbols[1].symbol = 12;
  Experiment e(symbols, 5);
  auto expect = [&](uint64_t symbol, int64_t element) {
    double v = 0;
    program::draw_values(5, symbol, e.draw_of(symbol), program::DType::F32,
                         static_cast<uint64_t>(element), 1, &v);
    EXPECT_EQ(e.value(symbol, element), v) << symbol << " " << element;
  };
  for (int64_t k : {0, 1, 2, 33, 34, 63, 64, 65, 5, 1 << 20, 1}) {
    expect(11, k);
    expect(12, k);
  }
  Experiment copy = e;
  copy.override_value(11, 33, 7);
  EXPECT_EQ(copy.value(11, 33), 7);
  EXPECT_EQ(copy.value(11, 34), e.value(11, 34));
  e.set(11, {Draw::Kind::Uniform, 4, 5, 1, 1});
  expect(11, 33);
  expect(12, 33);
  e.set_all({Draw::Kind::Uniform, 8, 9, 1, 1});
  expect(12, 33);
  EXPECT_EQ(copy.value(11, 33), 7);
}

}  // namespace
}  // namespace assay::check
