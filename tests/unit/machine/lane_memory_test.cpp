// Loads and stores of a warp's only lane go another way than those of several: the bytes are alike.
#include <gtest/gtest.h>

#include "tests/unit/machine/machine_test_util.h"

namespace assay::machine::test {
namespace {

// Thread t reads 64 bytes at in + 64 t and writes 64 bytes at out + 64 t.
const char* const kText =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry k(.param .u64 p0, .param .u64 p1) {\n"
    ".reg .b16 %h<8>;\n.reg .b32 %r<16>;\n.reg .b64 %rd<12>;\n.reg .f32 %f<8>;\n.reg .f64 %d<4>;\n"
    ".shared .align 8 .b8 s[256];\n.local .align 8 .b8 m[32];\n"
    "ld.param.u64 %rd1, [p0];\nld.param.u64 %rd2, [p1];\nmov.u32 %r1, %tid.x;\n"
    "mul.wide.u32 %rd3, %r1, 64;\nadd.s64 %rd4, %rd1, %rd3;\nadd.s64 %rd5, %rd2, %rd3;\n"
    // Extensions, halves, doubles, vectors.
    "ld.global.s8 %r2, [%rd5];\nld.global.u8 %r3, [%rd5+1];\nld.global.s16 %r4, [%rd5+2];\n"
    "ld.global.u16 %h1, [%rd5+4];\nld.global.f64 %d1, [%rd5+8];\n"
    "ld.global.v2.f32 {%f1, %f2}, [%rd5+16];\nld.global.v4.u32 {%r5, %r6, %r7, %r8}, [%rd5+32];\n"
    "ld.global.s8 %rd6, [%rd5+6];\n"
    "st.global.u32 [%rd4], %r2;\nst.global.u8 [%rd4+4], %r3;\nst.global.u16 [%rd4+6], %r4;\n"
    "st.global.u64 [%rd4+8], %rd6;\n"
    // Shared and local memory in words and less.
    "shl.b32 %r9, %r1, 6;\nmov.u32 %r10, s;\nadd.s32 %r10, %r10, %r9;\n"
    "st.shared.v2.f32 [%r10], {%f1, %f2};\nst.shared.u16 [%r10+8], %h1;\n"
    "ld.shared.f32 %f3, [%r10+4];\nld.shared.s8 %r11, [%r10+9];\n"
    "st.local.u32 [m], %r5;\nst.local.u8 [m+1], %r3;\nst.local.v2.u32 [m+8], {%r6, %r7};\n"
    "st.local.f64 [m+16], %d1;\n"
    "ld.local.u32 %r12, [m];\nld.local.v2.u32 {%r13, %r14}, [m+8];\nld.local.f64 %d2, [m+16];\n"
    "ld.local.s16 %r15, [m+18];\n"
    "st.global.f32 [%rd4+16], %f3;\nst.global.u32 [%rd4+20], %r11;\n"
    "st.global.u32 [%rd4+24], %r12;\nst.global.v2.u32 [%rd4+32], {%r13, %r14};\n"
    "st.global.f64 [%rd4+40], %d2;\nst.global.u32 [%rd4+48], %r15;\nst.global.u32 [%rd4+52], %r8;\n"
    "ret;\n}\n";

struct Ran {
  std::vector<uint8_t> out = std::vector<uint8_t>(128, 0xcd);
  uint64_t faults = 0;
};

Ran run(uint32_t threads, const std::string& text) {
  Ran r;
  auto module = ptx::parse(text, "test.ptx");
  EXPECT_TRUE(module) << (module ? "" : module.error().message);
  if (!module) return r;
  std::vector<uint8_t> in(128);
  for (size_t k = 0; k < in.size(); ++k) in[k] = static_cast<uint8_t>(0xf3 - 29 * k);
  std::vector<BufferEnv> env(2);
  Launch launch;
  LaunchConstants& l = launch.constants;
  l.block = {threads, 1, 1};
  l.num_buffers = 2;
  l.params.resize(16);
  for (size_t i = 0; i < 2; ++i) {
    env[i].address = (i + 1) << 33;
    env[i].bytes = 128;
    env[i].content = BufferEnv::Content::Bytes;
    env[i].data = i == 0 ? r.out.data() : in.data();
    std::memcpy(l.params.data() + 8 * i, &env[i].address, 8);
  }
  auto k = decode(*module, "k", l);
  EXPECT_TRUE(k) << (k ? "" : k.error().message);
  if (!k) return r;
  auto stats = run_concrete(*k, launch, env, {});
  EXPECT_TRUE(stats) << (stats ? "" : stats.error().message);
  if (stats) r.faults = stats->fault_count;
  return r;
}

TEST(LaneMemory, OneLaneReadsAndWritesAsTwoDo) {
  const Ran one = run(1, kText), two = run(2, kText);
  EXPECT_EQ(one.faults, 0u);
  EXPECT_EQ(two.faults, 0u);
  for (size_t k = 0; k < 64; ++k) EXPECT_EQ(one.out[k], two.out[k]) << k;
  EXPECT_EQ(static_cast<int8_t>(one.out[0]), static_cast<int8_t>(0xf3));
  EXPECT_EQ(one.out[3], 0xff);   // the sign
  EXPECT_EQ(one.out[64], 0xcd);  // the second thread's
  EXPECT_NE(two.out[64], 0xcd);
}

// Bounds and alignment are looked at all the same.
TEST(LaneMemory, OneLaneFaults) {
  const auto with = [](const std::string& op) {
    std::string text = kText;
    return text.replace(text.rfind("ret;"), 4, op + "\nret;");
  };
  EXPECT_EQ(run(1, with("ld.global.u32 %r2, [%rd5+128];")).faults, 1u);
  EXPECT_EQ(run(1, with("ld.global.u32 %r2, [%rd5+126];")).faults, 1u);
  EXPECT_EQ(run(1, with("st.global.v2.u32 [%rd4+124], {%r2, %r3};")).faults, 1u);
  EXPECT_EQ(run(1, with("st.shared.u32 [s+256], %r2;")).faults, 1u);
  EXPECT_EQ(run(1, with("ld.local.u32 %r2, [m+32];")).faults, 1u);
}

}  // namespace
}  // namespace assay::machine::test
