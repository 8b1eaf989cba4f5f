// Classes of the CTAs of a launch.
#include "check/classes.h"

#include <gtest/gtest.h>

#include "check/launch_toml.h"
#include "check/side.h"

namespace assay::check {
namespace {

// CTAs of 32 threads over y and x of n elements; %r4 is a thread's element, %rd4 and %rd5 point to
// it in y and x, %rd2 to x.
std::string kernel(const std::string& body) {
  return ".version 8.0\n.target sm_90\n.address_size 64\n"
         ".visible .entry k(.param .u64 p0, .param .u64 p1) {\n"
         ".reg .pred %p<4>;\n.reg .b32 %r<8>;\n.reg .b64 %rd<8>;\n.reg .f32 %f<4>;\n"
         "ld.param.u64 %rd1, [p0];\nld.param.u64 %rd2, [p1];\nmov.u32 %r1, %tid.x;\n"
         "mov.u32 %r2, %ctaid.x;\nmad.lo.s32 %r4, %r2, 32, %r1;\n"
         "mul.wide.u32 %rd3, %r4, 4;\nadd.s64 %rd4, %rd1, %rd3;\nadd.s64 %rd5, %rd2, %rd3;\n" +
         body + "E:\nret;\n}\n";
}
const char* const kGuarded =
    "setp.ge.u32 %p1, %r4, 1270;\n@%p1 bra E;\nld.global.f32 %f1, [%rd5];\n"
    "st.global.f32 [%rd4], %f1;\n";

struct Prepared {
  explicit Prepared(const std::string& body) {
    const auto file = parse_launch(
        "grid = 40\nblock = 32\nparams = [\"y\", \"x\"]\n"
        "[arrays.y]\nrole = \"out\"\ndtype = \"f32\"\nshape = [1270]\n"
        "[arrays.x]\nrole = \"in\"\ndtype = \"f32\"\nshape = [1270]\n",
        "L.toml");
    EXPECT_TRUE(file) << file.error().message;
    program::Module m;
    m.name = "k.ptx";
    m.real_ptx = kernel(body);
    auto p = launch_program(*file, m, LaunchSide::Candidate);
    EXPECT_TRUE(p) << p.error().message;
    program = p.value_or(program::Program{});
    auto prepared = prepare(program);
    EXPECT_TRUE(prepared) << prepared.error().message;
    side = std::move(*prepared);
    for (size_t b = 0; b < program.buffers.size(); ++b)
      (program.buffers[b].role == program::Role::Input ? x : y) = static_cast<int>(b);
  }
  // Of all 40 CTAs, by elements [0, count) of y.
  Result<std::vector<CtaClass>> classes(int64_t count) {
    std::vector<uint32_t> ctas(40);
    for (uint32_t k = 0; k < 40; ++k) ctas[k] = k;
    return cta_classes(*side.launches[0], ctas, y, 0, count, 1,
                       std::chrono::steady_clock::now() + std::chrono::minutes(1));
  }
  program::Program program;
  Side side;
  int x = -1, y = -1;
};

TEST(Classes, ThoseOfARunMoveByOneStep) {
  Prepared p(kGuarded);
  EXPECT_EQ(p.side.launches[0]->ctas_alike(0, 0, 40).value_or(0), 39u);
  const auto classes = p.classes(1270);
  ASSERT_TRUE(classes) << classes.error().message;
  ASSERT_EQ(classes->size(), 2u);
  const CtaClass &whole = (*classes)[0], &last = (*classes)[1];
  ASSERT_EQ(whole.members.size(), 39u);
  EXPECT_EQ(whole.written.size(), 32u);
  for (uint32_t k = 0; k < 39; ++k) {
    EXPECT_EQ(whole.members[k].cta, k);
    EXPECT_EQ(base_of(whole.members[k], p.x), 32 * k);
    EXPECT_EQ(base_of(whole.members[k], p.y), 32 * k);
  }
  ASSERT_EQ(last.members.size(), 1u);
  EXPECT_EQ(last.members[0].cta, 39u);
  EXPECT_EQ(last.written.size(), 22u);
}

// CTA 20 writes 10 wanted elements, those behind it none: each is traced.
TEST(Classes, WhatIsWantedMayEndInsideOfARun) {
  Prepared p(kGuarded);
  const auto classes = p.classes(650);
  ASSERT_TRUE(classes) << classes.error().message;
  ASSERT_EQ(classes->size(), 2u);
  EXPECT_EQ((*classes)[0].members.size(), 20u);
  ASSERT_EQ((*classes)[1].members.size(), 1u);
  EXPECT_EQ((*classes)[1].members[0].cta, 20u);
  EXPECT_EQ((*classes)[1].written.size(), 10u);
}

// The square of the CTA plays no part in the end, but is of no constant step.
TEST(Classes, WhatIsNoRunIsTraced) {
  Prepared p(
      "setp.ge.u32 %p1, %r4, 1270;\n@%p1 bra E;\nmul.lo.u32 %r5, %r2, %r2;\n"
      "mul.wide.u32 %rd6, %r5, 0;\nadd.s64 %rd5, %rd5, %rd6;\nld.global.f32 %f1, [%rd5];\n"
      "st.global.f32 [%rd4], %f1;\n");
  EXPECT_FALSE(p.side.launches[0]->ctas_alike(0, 0, 40));
  const auto classes = p.classes(1270);
  ASSERT_TRUE(classes) << classes.error().message;
  ASSERT_EQ(classes->size(), 2u);
  ASSERT_EQ((*classes)[0].members.size(), 39u);
  EXPECT_EQ(base_of((*classes)[0].members[7], p.x), 224);
}

// Eight at a time are a run, all of one class: it counts how a buffer moves, not in which steps.
TEST(Classes, RunsOfOneClassMeet) {
  Prepared p(
      "setp.ge.u32 %p1, %r4, 1270;\n@%p1 bra E;\nshr.u32 %r5, %r2, 3;\nand.b32 %r5, %r5, 1;\n"
      "mul.wide.u32 %rd6, %r5, 4;\nsub.s64 %rd5, %rd5, %rd6;\nadd.s64 %rd5, %rd5, 0;\n"
      "ld.global.f32 %f1, [%rd5];\nst.global.f32 [%rd4], %f1;\n");
  EXPECT_EQ(p.side.launches[0]->ctas_alike(0, 0, 40).value_or(0), 8u);
  const auto classes = p.classes(1270);
  ASSERT_TRUE(classes) << classes.error().message;
  ASSERT_EQ(classes->size(), 2u);
  ASSERT_EQ((*classes)[0].members.size(), 39u);
  for (const ClassMember& m : (*classes)[0].members) {
    EXPECT_EQ(base_of(m, p.x), 32 * int64_t{m.cta} - (m.cta / 8) % 2);
    EXPECT_EQ(base_of(m, p.y), 32 * int64_t{m.cta});
  }
}

}  // namespace
}  // namespace assay::check
