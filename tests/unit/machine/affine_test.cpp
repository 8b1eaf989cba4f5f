// Runs of CTAs that are alike but for where they read and write.
#include "machine/affine.h"

#include <gtest/gtest.h>

#include "machine/affine_lines.h"
#include "machine/flow.h"
#include "tests/unit/machine/machine_test_util.h"

namespace assay::machine::test {
namespace {

constexpr uint64_t kBytes = uint64_t{1} << 40;

// kernel k(out, in, table) of CTAs of 32 threads. The body makes an element %r9 of %ctaid.x (%r2)
// and %tid.x (%r1); then, unless `whole`, out[%r9] = in[%r9].
std::string kernel(const std::string& body, bool whole = false) {
  return ".version 8.0\n.target sm_90\n.address_size 64\n"
         ".visible .entry k(.param .u64 p0, .param .u64 p1, .param .u64 p2) {\n"
         ".reg .pred %p<8>;\n.reg .b32 %r<24>;\n.reg .b64 %rd<12>;\n.reg .f32 %f<12>;\n"
         ".shared .align 4 .b8 s[128];\n"
         "ld.param.u64 %rd1, [p0];\nld.param.u64 %rd2, [p1];\nld.param.u64 %rd8, [p2];\n"
         "mov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\n" +
         body +
         (whole ? ""
                : "\nmul.wide.s32 %rd3, %r9, 4;\nadd.s64 %rd4, %rd1, %rd3;\n"
                  "add.s64 %rd5, %rd2, %rd3;\nld.global.f32 %f1, [%rd5];\n"
                  "st.global.f32 [%rd4], %f1;\n") +
         "\nret;\n}\n";
}

Result<uint64_t> alike(const std::string& text, uint64_t first = 0, uint64_t count = 1000) {
  auto module = ptx::parse(text, "test.ptx");
  EXPECT_TRUE(module) << (module ? "" : module.error().message);
  if (!module) return uint64_t{0};
  std::vector<BufferEnv> env(3);
  static std::vector<uint8_t> table(4096);
  Launch launch;
  LaunchConstants& l = launch.constants;
  l.grid = {100'000, 1, 1};
  l.block = {32, 1, 1};
  l.num_buffers = 3;
  l.params.resize(24);
  for (size_t i = 0; i < 3; ++i) {
    env[i].address = (i + 1) << 41;
    env[i].bytes = i == 2 ? table.size() : kBytes;
    env[i].content = i == 0   ? BufferEnv::Content::Poison
                     : i == 1 ? BufferEnv::Content::Symbolic
                              : BufferEnv::Content::Bytes;
    if (i == 2) env[i].data = table.data();
    std::memcpy(l.params.data() + 8 * i, &env[i].address, 8);
  }
  launch.step_limit = 1'000'000;
  auto k = decode(*module, "k", l);
  EXPECT_TRUE(k) << (k ? "" : k.error().message);
  if (!k) return uint64_t{0};
  return ctas_alike(*k, launch, env, first, 0, count);
}

uint64_t number(const std::string& body, uint64_t first = 0, bool whole = false) {
  const auto n = alike(kernel(body, whole), first);
  EXPECT_TRUE(n) << n.error().message << "\n" << body;
  return n.value_or(0);
}

void refused(const std::string& body, const std::string& why, bool whole = false) {
  const auto n = alike(kernel(body, whole));
  ASSERT_FALSE(n) << *n << "\n" << body;
  EXPECT_EQ(n.error().kind, DiagKind::Unsupported);
  EXPECT_NE(n.error().message.find(why), std::string::npos) << n.error().message;
}

TEST(Affine, SumsAndProductsAreOfOneStep) {
  EXPECT_EQ(number("mad.lo.s32 %r9, %r2, 32, %r1;"), 1000u);
  EXPECT_EQ(number("shl.b32 %r3, %r2, 5;\nor.b32 %r9, %r3, %r1;"), 1000u);
  EXPECT_EQ(number("sub.s32 %r3, 5000, %r2;\nadd.s32 %r9, %r3, %r1;"), 1000u);
  EXPECT_EQ(number("not.b32 %r3, %r2;\nneg.s32 %r9, %r3;"), 1000u);
}

// Lanes that move at speeds of their own may come to where another one was.
TEST(Affine, LanesThatMoveApartDoNotStore) {
  const std::string body = "mul.lo.s32 %r3, %r2, %r1;\nmad.lo.s32 %r9, %r2, 7, %r3;";
  refused(body, "several ways");
  EXPECT_EQ(number(body + "mul.wide.s32 %rd3, %r9, 4;\nadd.s64 %rd5, %rd2, %rd3;\n"
                          "ld.global.f32 %f1, [%rd5];\n",
                   0, true),
            1000u);
}

// or is a sum only where no bits meet.
TEST(Affine, BitsThatMeetAreRefused) {
  refused("shl.b32 %r3, %r2, 4;\nor.b32 %r9, %r3, %r1;", "not by a constant step");
  refused("or.b32 %r9, %r2, %r1;", "not by a constant step");
}

TEST(Affine, AGuardEndsTheRunWhereItChanges) {
  const std::string body =
      "mad.lo.s32 %r9, %r2, 32, %r1;\nsetp.ge.s32 %p1, %r9, 3210;\n@%p1 bra E;\n";
  const std::string text = kernel(body) + "";
  std::string with_label = text;
  with_label.replace(with_label.rfind("ret;"), 4, "E:\nret;");
  EXPECT_EQ(*alike(with_label, 0), 100u);  // CTA 100 has elements on both sides
  EXPECT_EQ(*alike(with_label, 40), 60u);
  EXPECT_EQ(*alike(with_label, 100), 1u);
  EXPECT_EQ(*alike(with_label, 101), 1000u);  // that do nothing
}

TEST(Affine, AChoiceEndsTheRunWhereItChanges) {
  EXPECT_EQ(number("min.s32 %r9, %r2, 77;", 10), 67u);
  EXPECT_EQ(number("max.s32 %r9, %r2, 77;", 10), 67u);
  EXPECT_EQ(number("setp.lt.u32 %p1, %r2, 50;\nselp.b32 %r9, %r2, %r1, %p1;"), 50u);
  EXPECT_EQ(number("setp.eq.u32 %p1, %r2, 50;\nselp.b32 %r9, %r2, %r1, %p1;"), 50u);
}

TEST(Affine, AQuotientEndsTheRunWhereItChanges) {
  EXPECT_EQ(number("div.u32 %r9, %r2, 5;", 3), 2u);
  EXPECT_EQ(number("rem.u32 %r9, %r2, 5;", 5), 5u);
  EXPECT_EQ(number("mul.lo.u32 %r3, %r2, 10;\ndiv.u32 %r9, %r3, 5;"), 1000u);
  EXPECT_EQ(number("shr.u32 %r9, %r2, 4;", 3), 13u);
  EXPECT_EQ(number("and.b32 %r9, %r2, 15;", 3), 13u);
  EXPECT_EQ(number("and.b32 %r9, %r2, -16;", 3), 13u);
  EXPECT_EQ(number("shl.b32 %r3, %r2, 4;\nand.b32 %r9, %r3, -16;"), 1000u);
  EXPECT_EQ(number("shl.b32 %r3, %r2, 4;\nand.b32 %r9, %r3, 15;"), 1000u);
  EXPECT_EQ(number("mul.hi.u32 %r3, %r2, 1431655766;\nadd.s32 %r9, %r3, %r1;", 4), 2u);  // by 3
  refused("and.b32 %r9, %r2, 5;", "not by a constant step");
}

TEST(Affine, AnIntegerThatWrapsEndsTheRun) {
  // As 32 bits with a sign: up to CTA 7.
  EXPECT_EQ(number("mul.lo.s32 %r9, %r2, 268435456;"), 8u);
  const std::string body =
      "mul.lo.s32 %r3, %r2, 268435456;\ncvt.u64.u32 %rd3, %r3;\nshl.b64 %rd3, %rd3, 2;\n"
      "add.s64 %rd5, %rd2, %rd3;\nld.global.f32 %f1, [%rd5];\n";
  EXPECT_EQ(number(body, 0, true), 16u);
  // 64-bit addresses come back where 32-bit ones would.
  EXPECT_EQ(number("mul.wide.u32 %rd3, %r2, 4096;\nadd.s64 %rd5, %rd2, %rd3;\n"
                   "ld.global.f32 %f1, [%rd5];\n",
                   0, true),
            1000u);
}

TEST(Affine, TheRunEndsWithTheBuffer) {
  // 2^40 bytes, 2^31 a CTA: 512 CTAs.
  EXPECT_EQ(number("mul.wide.u32 %rd3, %r2, 2147483647;\nadd.s64 %rd3, %rd3, 0;\n"
                   "cvt.u64.u32 %rd6, %r2;\nadd.s64 %rd3, %rd3, %rd6;\n"
                   "add.s64 %rd5, %rd2, %rd3;\nld.global.f32 %f1, [%rd5];\n",
                   0, true),
            512u);
}

TEST(Affine, ValuesThatDependOnTheCtaAreRefused) {
  const std::string at =
      "mul.wide.u32 %rd3, %r2, 4;\nadd.s64 %rd4, %rd1, %rd3;\n"
      "add.s64 %rd5, %rd2, %rd3;\nadd.s64 %rd6, %rd8, %rd3;\n";
  refused(at + "st.global.u32 [%rd4], %r2;", "is stored", true);
  refused(at + "cvt.rn.f32.u32 %f1, %r2;\nst.global.f32 [%rd4], %f1;", "constant step", true);
  refused(at + "ld.global.f32 %f1, [%rd6];\nst.global.f32 [%rd4], %f1;", "constants", true);
  refused(at + "st.shared.u32 [s], %r2;", "is stored", true);
  refused(
      "and.b32 %r3, %r2, 0;\nshl.b32 %r4, %r2, 2;\nmov.u32 %r5, s;\nadd.s32 %r5, %r5, %r4;\n"
      "ld.shared.u32 %r6, [%r5];",
      "outside of global", true);
  refused("shfl.sync.idx.b32 %r9, %r2, 0, 31, -1;", "warp operation");
  refused("mul.lo.s32 %r9, %r2, %r2;", "constant step");
}

// Elements move by 4 bytes, accesses are of 8.
TEST(Affine, AlignmentMustHoldForAll) {
  refused(
      "mul.wide.u32 %rd3, %r2, 4;\nadd.s64 %rd5, %rd2, %rd3;\n"
      "ld.global.v2.f32 {%f1, %f2}, [%rd5];",
      "aligned", true);
}

// What CTA 5 reads is what it wrote; no other does so.
TEST(Affine, AWrittenBufferIsWalkedThroughInOneWay) {
  const std::string at = "mul.wide.u32 %rd3, %r2, 4;\nadd.s64 %rd4, %rd1, %rd3;\n";
  refused(at + "st.global.f32 [%rd4], 0f3f800000;\nld.global.f32 %f1, [%rd1+20];", "several ways",
          true);
  EXPECT_EQ(number(at + "st.global.f32 [%rd4], 0f3f800000;\nld.global.f32 %f1, [%rd4];", 0, true),
            1000u);
  EXPECT_EQ(number(at + "ld.global.f32 %f1, [%rd1+20];\nld.global.f32 %f2, [%rd4];", 0, true),
            1000u);
}

TEST(Affine, DataMayIndexButNotBranch) {
  const std::string row =
      "mul.wide.u32 %rd3, %r2, 64;\nadd.s64 %rd5, %rd2, %rd3;\n"
      "ld.global.u32 %r3, [%rd5];\nmul.wide.u32 %rd6, %r3, 4;\n";
  EXPECT_EQ(number(row + "add.s64 %rd7, %rd5, %rd6;\nld.global.f32 %f1, [%rd7];", 0, true), 1000u);
  // In 32 bits it is open whether the sum wraps.
  refused(row +
              "add.s32 %r4, %r2, %r3;\nmul.wide.u32 %rd6, %r4, 4;\nadd.s64 %rd7, %rd2, %rd6;\n"
              "ld.global.f32 %f1, [%rd7];",
          "constant step", true);
  refused(row + "setp.eq.u32 %p1, %r3, 0;\n@%p1 bra L;\nst.global.u32 [%rd1], %r1;\nL:\n",
          "branch on data", true);
  refused(row + "mov.u32 %r5, 0;\nsetp.eq.u32 %p1, %r3, 0;\n@%p1 mov.u32 %r5, %r2;\n",
          "guard on data", true);
  EXPECT_EQ(number(row + "setp.eq.u32 %p1, %r3, 0;\nselp.b32 %r4, %r1, %r3, %p1;\n"
                         "st.global.u32 [%rd1], %r4;",
                   0, true),
            1000u);
  refused(row + "setp.eq.u32 %p1, %r3, 0;\nselp.b32 %r9, %r1, %r2, %p1;", "constant step");
}

TEST(Affine, GlobalAtomicsAreRefused) {
  refused("red.global.add.f32 [%rd1], 0f3f800000;", "atomic", true);
}

// --- against runs of each CTA -------------------------------------------------------------------

struct Accesses : Observer {
  struct One {
    uint64_t what = 0;  // warp, pc, kind, mask
    std::array<uint64_t, 32> addr{};
  };
  std::vector<One> all;
  uint32_t access(const WarpAccess& a) override {
    One one;
    one.what = uint64_t{a.warp} | uint64_t{a.pc} << 8 | uint64_t{a.mask} << 28 |
               static_cast<uint64_t>(a.kind) << 61;
    for (size_t l = 0; l < 32; ++l)
      if ((a.mask >> l) & 1) one.addr[l] = a.addr[l];
    all.push_back(one);
    return a.mask;
  }
};

std::vector<Accesses::One> accesses(const Setup& s, const Kernel& sliced, uint64_t cta) {
  Accesses seen;
  CtaRange range;
  range.list = {cta};
  const auto r = run_skeleton(sliced, s.launch, s.env, range, seen);
  EXPECT_TRUE(r);
  return std::move(seen.all);
}

// The accesses of CTAs [first, first + n) along an axis move by constant steps.
bool linear(const Setup& s, uint64_t first, uint64_t stride, uint64_t n) {
  const Kernel sliced = slice(s.kernel, {});
  const auto a = accesses(s, sliced, first);
  std::vector<Accesses::One> b;
  for (uint64_t k = 1; k < n; ++k) {
    const auto c = accesses(s, sliced, first + k * stride);
    if (k == 1) b = c;
    if (c.size() != a.size() || b.size() != a.size()) return false;
    for (size_t i = 0; i < c.size(); ++i) {
      if (c[i].what != a[i].what) return false;
      for (size_t l = 0; l < 32; ++l)
        if (c[i].addr[l] - a[i].addr[l] != k * (b[i].addr[l] - a[i].addr[l])) return false;
    }
  }
  return true;
}

TEST(Affine, RunsOfCompiledKernelsAreLinear) {
  using B = BufferSpec;
  auto in = [](size_t n) { return B{Ty::F32, n, B::Input}; };
  auto out = [](size_t n) { return B{Ty::F32, n, B::Output}; };
  const std::string f = "basic.ptx";
  struct Expect {
    Case c;
    uint32_t axis;
    std::vector<uint64_t> runs;  // of the first line of CTAs along the axis
  };
  const std::vector<Expect> cases = {
      {{f,
        "vadd",
        {9, 1, 1},
        {64, 1, 1},
        {in(550), in(550), out(550)},
        {Buf{0}, Buf{1}, Buf{2}, 550}},
       0,
       {8, 1}},
      {{f, "softmax", {7, 1, 1}, {128, 1, 1}, {in(2100), out(2100)}, {Buf{0}, Buf{1}, 300}},
       0,
       {7}},
      {{f,
        "matmul",
        {4, 5, 1},
        {16, 16, 1},
        {in(70 * 40), in(40 * 60), out(70 * 60)},
        {Buf{0}, Buf{1}, Buf{2}, 70, 40, 60}},
       0,
       {3, 1}},
      {{f,
        "matmul",
        {4, 5, 1},
        {16, 16, 1},
        {in(70 * 40), in(40 * 60), out(70 * 60)},
        {Buf{0}, Buf{1}, Buf{2}, 70, 40, 60}},
       1,
       {4, 1}},
      {{f, "transpose", {4, 1, 1}, {32, 8, 1}, {in(4000), out(4000)}, {Buf{0}, Buf{1}, 32, 125}},
       0,
       {3, 1}},
  };
  for (const Expect& e : cases) {
    auto s = setup(e.c, 5);
    ASSERT_TRUE(s) << s.error().message;
    const uint64_t stride = e.axis == 0 ? 1 : e.c.grid[0];
    std::vector<uint64_t> runs;
    for (uint64_t k = 0; k < e.c.grid[e.axis];) {
      const auto n =
          ctas_alike(s->kernel, s->launch, s->env, k * stride, e.axis, e.c.grid[e.axis] - k);
      ASSERT_TRUE(n) << e.c.kernel << ": " << n.error().message;
      EXPECT_TRUE(linear(*s, k * stride, stride, *n)) << e.c.kernel << " from " << k;
      runs.push_back(*n);
      k += *n;
    }
    EXPECT_EQ(runs, e.runs) << e.c.kernel;
  }
}

// Lines of random values: the slope is right, or the operation is refused, for every CTA left.
TEST(Affine, SlopesHoldForEveryCtaThatIsLeft) {
  std::mt19937_64 rng(7);
  const Fn fns[] = {Fn::IAdd, Fn::ISub, Fn::IMul, Fn::IMulWide, Fn::IMulHi, Fn::Shl,
                    Fn::Shr,  Fn::And,  Fn::Or,   Fn::Xor,      Fn::IDiv,   Fn::IRem,
                    Fn::IMin, Fn::IMax, Fn::INeg, Fn::Not};
  const Ty types[] = {Ty::U32, Ty::S32};
  int known[std::size(fns)] = {};
  for (int round = 0; round < 200'000; ++round) {
    const size_t f = rng() % std::size(fns);
    MicroOp op;
    op.kind = OpKind::Alu;
    op.fn = fns[f];
    op.type = types[rng() % 2];
    op.num_src = op.fn == Fn::INeg || op.fn == Fn::Not ? 1 : 2;
    // A growing number and a fixed one, in either order; small ones, powers of 2, any.
    uint64_t v[2] = {}, s[2] = {};
    const size_t grows = rng() % 2;
    auto draw = [&] {
      const uint64_t r = rng();
      const int kind = static_cast<int>(rng() % 4);
      return kind == 0 ? r & 0xffffffff : kind == 1 ? r % 100 : uint64_t{1} << (r % 32);
    };
    v[0] = draw(), v[1] = (draw() - rng() % 2) & 0xffffffff;
    if (op.fn == Fn::Shl || op.fn == Fn::Shr) v[1] %= 34;
    s[op.num_src == 1 ? 0 : grows] = draw();
    Line x[4];
    for (size_t i = 0; i < 2; ++i)
      x[i] = {integer(v[i], operand_type(op, i)),
              static_cast<int64_t>(static_cast<int32_t>(static_cast<uint32_t>(s[i]))), false};
    CtaSpan run{16};
    int64_t slope = 0;
    if (!slope_of(op, x, &run, &slope)) continue;
    ++known[f];
    ASSERT_GE(run.count, 1u);
    auto at = [&](uint64_t k) {
      const auto a = static_cast<uint32_t>(v[0] + k * s[0]);
      const auto b = static_cast<uint32_t>(v[1] + k * s[1]);
      return ieee_apply1(op.fn, op.type, {}, a, b, 0, 0);
    };
    const uint64_t keep = op.fn == Fn::IMulWide ? ~uint64_t{0} : 0xffffffff;
    for (uint64_t k = 0; k < run.count; ++k)
      ASSERT_EQ(at(k) & keep, (at(0) + k * static_cast<uint64_t>(slope)) & keep)
          << info(op.fn).name << " " << v[0] << " " << s[0] << " " << v[1] << " " << s[1] << " "
          << k;
  }
  for (size_t f = 0; f < std::size(fns); ++f) EXPECT_GT(known[f], 100) << info(fns[f]).name;
}

}  // namespace
}  // namespace assay::machine::test
