#include "region/build.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/unit/elf/made_cubin.h"

namespace assay::region {
namespace {

// Lines 10 and 12 of this text are the body of a loop; line 3 lies in front of the code.
constexpr const char* kPtx = R"(.version 9.0
.target sm_90a
.address_size 64
.visible .entry kernel(.param .u32 n)
{
.reg .b32 %r<4>;
.reg .pred %p<2>;
ld.param.u32 %r1, [n];
L:
add.s32 %r1, %r1, -1;

setp.ne.s32 %p1, %r1, 0;
@%p1 bra L;
ret;
})";

std::unique_ptr<elf::Cubin> cubin_of(std::string bytes) {
  auto cubin = elf::read_cubin(std::move(bytes), "made");
  EXPECT_TRUE(cubin) << format_diag(cubin.error());
  return cubin ? std::move(*cubin) : nullptr;
}

TEST(Build, JoinsBothTablesAndTheLoop) {
  const auto cubin = cubin_of(elf::made_cubin());
  auto module = ptx::parse(kPtx, "made");
  ASSERT_TRUE(module);
  Disassembly sass{"test",
                   {{"kernel",
                     0,
                     {{"", "IADD3", "", false, -1},
                      {"", "ISETP", "", false, -1},
                      {"", "BRA", "", false, 0},
                      {"", "NOP", "", true, -1}}}}};
  auto map = build_map({cubin.get(), "made", &*module, &sass});
  ASSERT_TRUE(map) << format_diag(map.error());
  ASSERT_EQ(map->kernels.size(), 1u);
  const KernelMap& k = map->kernels[0];
  ASSERT_EQ(k.code.size(), 4u);
  EXPECT_EQ(k.code[0].ptx_line, 10u);
  EXPECT_EQ(k.code[1].ptx_line, 12u);
  EXPECT_EQ(k.code[2].ptx, kNone);  // line 3 is none of the body's
  EXPECT_EQ(k.total().instructions, 3u);
  EXPECT_EQ(k.total().no_ptx, 1u);
  // Source line 12 is in the loop, line 3 inlined into the function, called at line 12.
  const Region& compare = k.regions[static_cast<size_t>(k.code[1].region)];
  const Region& loop =
      compare.kind == Kind::Loop ? compare : k.regions[static_cast<size_t>(compare.parent)];
  EXPECT_EQ(loop.kind, Kind::Loop);
  const Region& inlined = k.regions[static_cast<size_t>(k.code[2].region)];
  EXPECT_EQ(inlined.at.line, 3u);
  ASSERT_EQ(inlined.instances.size(), 1u);
  ASSERT_EQ(inlined.instances[0].called_at.size(), 1u);
  EXPECT_EQ(inlined.instances[0].called_at[0].line, 12u);
}

TEST(Build, WithoutPtxLoopsAreThoseOfTheCode) {
  const auto cubin = cubin_of(elf::made_cubin());
  Disassembly sass{"test",
                   {{"kernel",
                     0,
                     {{"", "IADD3", "", false, -1},
                      {"", "ISETP", "", false, -1},
                      {"@P0", "BRA", "0x10", false, 16},
                      {"", "EXIT", "", false, -1}}}}};
  auto map = build_map({cubin.get(), "made", nullptr, &sass});
  ASSERT_TRUE(map);
  const KernelMap& k = map->kernels[0];
  int loops = 0;
  for (const Region& r : k.regions) loops += r.kind == Kind::Loop;
  EXPECT_EQ(loops, 1);
  EXPECT_FALSE(k.has_ptx);
}

// The cubin, its PTX and the disassembly may have nothing to do with each other.
TEST(Build, HostileCubinsNeverCrash) {
  const std::string whole = elf::made_cubin();
  auto module = ptx::parse(kPtx, "made");
  ASSERT_TRUE(module);
  Disassembly sass{"test",
                   {{"kernel",
                     0,
                     {{"", "BRA", "", false, 1 << 30},
                      {"", "BRA", "", false, 0},
                      {"", "HGMMA.64x8x16.F32", "", false, -1}}}}};
  std::mt19937 random(11);
  int maps = 0;
  for (int n = 0; n < 10000; ++n) {
    std::string bytes = whole;
    for (int c = 0; c < 2; ++c) bytes[64 + random() % (bytes.size() - 64)] = char(random());
    auto cubin = elf::read_cubin(std::move(bytes), "bad");
    if (!cubin) continue;
    for (const bool with : {true, false}) {
      auto map =
          build_map({cubin->get(), "bad", with ? &*module : nullptr, with ? &sass : nullptr});
      if (map)
        ++maps;
      else
        EXPECT_FALSE(map.error().message.empty());
    }
  }
  EXPECT_GT(maps, 1000);
}

}  // namespace
}  // namespace assay::region
