#include <gtest/gtest.h>

#include "base/ieee.h"
#include "check/launch_toml.h"

namespace assay::check {
namespace {

using program::Init;
using program::LaunchStep;
using program::Role;

constexpr const char* kGood = R"(
kernel = "scale"
grid = [8, 2]
block = 256
dynamic_smem = 1024
params = ["y", "x", "n", 0.5]

[arrays.y]
role = "out"
dtype = "f32"
shape = [16, 128]

[arrays.x]
role = "in"
dtype = "float32"
shape = [16, 128]

[scalars.n]
type = "i32"
value = 2048
)";

constexpr const char* kPtx = R"(
.version 9.0
.target sm_90
.address_size 64
.const .align 4 .b8 weights[16];
.visible .entry _Z5scalePfPKfif(
	.param .u64 .ptr .align 1 p0,
	.param .u64 p1,
	.param .u32 p2,
	.param .f32 p3
)
{
	ret;
}
.visible .entry packed(
	.param .align 8 .b8 q0[24],
	.param .u64 q1
)
{
	ret;
}
)";

program::Module module() {
  program::Module m;
  m.name = "k.ptx";
  m.real_ptx = kPtx;
  return m;
}

LaunchFile good() {
  auto file = parse_launch(kGood, "L.toml");
  EXPECT_TRUE(file) << file.error().message;
  return file.value_or(LaunchFile{});
}

TEST(ParseLaunch, ReadsAWholeFileInOrder) {
  LaunchFile f = good();
  ASSERT_EQ(f.arrays.size(), 2u);
  EXPECT_EQ(f.arrays[0].name, "y");  // the order of the text, not of the alphabet
  EXPECT_EQ(f.arrays[0].role, ArrayRole::Out);
  EXPECT_EQ(f.arrays[0].init, Init::Poison);
  EXPECT_EQ(f.arrays[1].init, Init::Symbolic);
  EXPECT_EQ(f.arrays[1].shape, (std::vector<int64_t>{16, 128}));
  ASSERT_EQ(f.launches.size(), 1u);
  EXPECT_EQ(f.launches[0].grid, (std::array<uint32_t, 3>{8, 2, 1}));
  EXPECT_EQ(f.launches[0].block, (std::array<uint32_t, 3>{256, 1, 1}));
  EXPECT_EQ(f.launches[0].dynamic_smem, 1024u);
  ASSERT_EQ(f.launches[0].params.size(), 4u);
  EXPECT_EQ(std::get<double>(f.launches[0].params[3].what), 0.5);
}

TEST(ParseLaunch, EncodesData) {
  auto f = parse_launch(
      "grid = 1\nblock = 1\nparams = []\n"
      "[arrays.a]\nrole = \"const\"\ndtype = \"i16\"\nshape = [2, 2]\ndata = [[1, -2], [3, 4]]\n"
      "[arrays.b]\nrole = \"const\"\ndtype = \"bf16\"\nshape = [3]\nfill = 1.5\n",
      "L.toml");
  ASSERT_TRUE(f) << f.error().message;
  EXPECT_EQ(f->arrays[0].data, (std::vector<uint8_t>{1, 0, 0xfe, 0xff, 3, 0, 4, 0}));
  EXPECT_EQ(f->arrays[1].data, (std::vector<uint8_t>{0xc0, 0x3f, 0xc0, 0x3f, 0xc0, 0x3f}));
}

// Each case: what is replaced in the good file, by what, the message, its line.
struct Bad {
  const char *from, *to, *message;
  uint32_t line;
};

class BadLaunch : public testing::TestWithParam<Bad> {};

TEST_P(BadLaunch, IsNamedWithItsLine) {
  std::string text = kGood;
  size_t at = text.find(GetParam().from);
  ASSERT_NE(at, std::string::npos);
  text.replace(at, std::string(GetParam().from).size(), GetParam().to);
  auto file = parse_launch(text, "L.toml");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().kind, DiagKind::Invalid);
  EXPECT_NE(file.error().message.find(GetParam().message), std::string::npos)
      << file.error().message;
  EXPECT_EQ(file.error().loc.file, "L.toml");
  EXPECT_EQ(file.error().loc.line, GetParam().line);
}

INSTANTIATE_TEST_SUITE_P(
    All, BadLaunch,
    testing::Values(
        Bad{"dynamic_smem", "dynamic_shmem", "unknown key \"dynamic_shmem\"", 5},
        Bad{"[8, 2]", "[8, 2, 1, 1]", "one to three numbers", 3},
        Bad{"[8, 2]", "[8, -2]", "grid is -2", 3}, Bad{"block = 256", "", "needs \"block\"", 1},
        Bad{"block = 256", "block = 2.5", "block must be an integer", 4},
        Bad{"\"out\"", "\"output\"", "role is \"output\"", 9},
        Bad{"\"f32\"", "\"f33\"", "unknown dtype", 10},
        Bad{"shape = [16, 128]", "shape = [16, 0]", "shape is 0", 11},
        Bad{"shape = [16, 128]", "shape = [1099511627776, 9]", "larger than", 11},
        Bad{"shape = [16, 128]", "shape = [16, 128]\ninit = \"one\"", "init is \"one\"", 12},
        Bad{"shape = [16, 128]", "shape = [2]\ninit = \"data\"\ndata = [1.0]", "data gives 1", 13},
        Bad{"shape = [16, 128]", "shape = [1]\nfill = 1.0", "goes with init", 12},
        Bad{"\"float32\"", "\"int32\"", "symbolic integers need", 13},
        Bad{"\"i32\"", "\"int\"", "unknown type", 19},
        Bad{"value = 2048", "", "either \"value\" or", 18},
        Bad{"value = 2048", "symbolic = true", "only floating-point", 19}));

TEST(ParseLaunch, SyntaxErrorsHaveTheirPlace) {
  auto file = parse_launch("grid = 1\nblock = = 2\n", "L.toml");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().kind, DiagKind::Syntax);
  EXPECT_EQ(file.error().loc.line, 2u);
}

TEST(LaunchProgram, LaysOutParameters) {
  auto p = launch_program(good(), module());
  ASSERT_TRUE(p) << p.error().message;
  ASSERT_EQ(p->steps.size(), 1u);
  const auto& step = std::get<LaunchStep>(p->steps[0].what);
  EXPECT_EQ(step.kernel, "_Z5scalePfPKfif");
  ASSERT_EQ(step.params.size(), 24u);
  ASSERT_EQ(step.slots.size(), 2u);
  EXPECT_EQ(step.slots[0].offset, 0u);
  EXPECT_EQ(step.slots[0].buffer, 0);
  EXPECT_EQ(step.slots[1].offset, 8u);
  EXPECT_EQ(step.slots[1].buffer, 1);
  EXPECT_EQ(step.params[17], 2048 >> 8);
  EXPECT_EQ(step.params[23], 0x3f);  // 0.5f
  EXPECT_EQ(p->outputs.size(), 1u);
  ASSERT_EQ(p->arguments.size(), 1u);
  EXPECT_EQ(p->arguments[0].name, "x");
  EXPECT_EQ(p->buffers[1].role, Role::Input);
  // Above 4 GiB and 4 GiB apart at least.
  EXPECT_GE(p->buffers[0].address, uint64_t{1} << 32);
  EXPECT_GE(p->buffers[1].address - p->buffers[0].address - p->buffers[0].bytes, uint64_t{1} << 32);
}

TEST(LaunchProgram, StructsAreNaturallyAligned) {
  auto f = parse_launch(
      "kernel = \"packed\"\ngrid = 1\nblock = 1\nparams = [[\"n\", \"x\", 2.0], \"y\"]\n"
      "[arrays.x]\nrole = \"inout\"\ndtype = \"f32\"\nshape = [4]\n"
      "[arrays.y]\nrole = \"const\"\ndtype = \"f32\"\nshape = [4]\nfill = 0\n"
      "[arrays.w]\nrole = \"param\"\ndtype = \"f32\"\nshape = [4]\nsymbol = \"weights\"\n"
      "[scalars.n]\ntype = \"i32\"\nvalue = 7\n",
      "L.toml");
  ASSERT_TRUE(f) << f.error().message;
  auto p = launch_program(*f, module());
  ASSERT_TRUE(p) << p.error().message;
  const auto& step = std::get<LaunchStep>(p->steps[0].what);
  EXPECT_EQ(step.params[0], 7);
  EXPECT_EQ(step.slots[0].offset, 8u);
  EXPECT_EQ(step.params[19], 0x40);  // 2.0f at 16
  EXPECT_EQ(step.slots[1].offset, 24u);
  EXPECT_EQ(p->mutated.size(), 1u);
  EXPECT_EQ(p->modules[0].symbols, (std::vector<std::pair<std::string, int>>{{"weights", 2}}));
}

TEST(LaunchProgram, SymbolicScalarIsAnInput) {
  LaunchFile f = good();
  f.scalars.push_back({"alpha", Ty::F32, {}, true, {}});
  f.launches[0].params[3].what = std::string("alpha");
  auto p = launch_program(f, module());
  ASSERT_TRUE(p) << p.error().message;
  const auto& slot = std::get<LaunchStep>(p->steps[0].what).slots.back();
  EXPECT_EQ(slot.kind, program::ParamSlot::Kind::Scalar);
  EXPECT_EQ(slot.offset, 20u);
  EXPECT_EQ(p->scalars.at(slot.scalar).buffer, 2);
  EXPECT_EQ(p->arguments.back().name, "alpha");
}

constexpr const char* kSides = R"(
kernel = "scale"
grid = 2
block = 32
dynamic_smem = 64
params = ["y", "x", 7, "a"]

[reference]
block = 64
params = ["y", "z", 7, 0.5]

[functions]
my_exp = "expf"

[arrays.y]
role = "out"
dtype = "f32"
shape = [64]

[arrays.x]
role = "in"
dtype = "f32"
shape = [64]

[arrays.z]
role = "scratch"
dtype = "f32"
shape = [64]

[scalars.a]
type = "f32"
symbolic = true
)";

TEST(LaunchProgram, TheReferenceMayLaunchDifferently) {
  auto f = parse_launch(kSides, "L.toml");
  ASSERT_TRUE(f) << f.error().message;
  auto c = launch_program(*f, module(), LaunchSide::Candidate);
  auto r = launch_program(*f, module(), LaunchSide::Reference);
  ASSERT_TRUE(c) << c.error().message;
  ASSERT_TRUE(r) << r.error().message;
  const auto& cl = std::get<LaunchStep>(c->steps[0].what);
  const auto& rl = std::get<LaunchStep>(r->steps[0].what);
  EXPECT_EQ(cl.block[0], 32u);
  EXPECT_EQ(rl.block[0], 64u);
  EXPECT_EQ(rl.grid[0], 2u);  // not given: as the candidate
  EXPECT_EQ(rl.dynamic_smem, 64u);
  EXPECT_EQ(cl.slots[1].buffer, 1);
  EXPECT_EQ(rl.slots[1].buffer, 2);
  // Both have the same buffers and arguments; scratch is none of them.
  ASSERT_EQ(c->arguments.size(), 2u);
  ASSERT_EQ(r->arguments.size(), 2u);
  EXPECT_EQ(c->outputs.size(), 1u);
  EXPECT_TRUE(c->mutated.empty());
  EXPECT_EQ(c->buffers[2].role, Role::Temp);
  EXPECT_EQ(c->buffers[2].init, Init::Poison);
  EXPECT_EQ(c->modules[0].functions,
            (std::vector<std::pair<std::string, std::string>>{{"my_exp", "expf"}}));
}

TEST(LaunchProgram, SeveralLaunchesOfTheReference) {
  const std::string one = "kernel = \"scale\"\ngrid = 1\nblock = 1\nparams = [\"y\", 0, 1, 1.0]\n";
  const std::string arrays = "[arrays.y]\nrole = \"out\"\ndtype = \"f32\"\nshape = [1]\n";
  auto f = parse_launch("[[launch]]\n" + one + "[[reference.launch]]\n" + one +
                            "[[reference.launch]]\n" + one + arrays,
                        "L.toml");
  ASSERT_TRUE(f) << f.error().message;
  EXPECT_EQ(f->launches.size(), 1u);
  EXPECT_EQ(f->reference.size(), 2u);
  f = parse_launch(
      "[[launch]]\n" + one + "[[launch]]\n" + one + "[reference]\nblock = 2\n" + arrays, "L.toml");
  ASSERT_FALSE(f);
  EXPECT_NE(f.error().message.find("[[reference.launch]]"), std::string::npos);
}

TEST(LaunchProgram, MistakesBetweenTheSidesAreNamed) {
  auto error = [](const std::string& from, const std::string& to) {
    std::string text = kSides;
    text.replace(text.find(from), from.size(), to);
    auto f = parse_launch(text, "L.toml");
    if (!f) return f.error().message;
    for (LaunchSide side : {LaunchSide::Candidate, LaunchSide::Reference}) {
      auto p = launch_program(*f, module(), side);
      if (!p) return p.error().message;
    }
    return std::string("no error");
  };
  EXPECT_EQ(error("grid = 2", "grid = 3"), "no error");
  EXPECT_NE(error("expf", "expo").find("\"expo\" is no function"), std::string::npos);
  EXPECT_NE(error("block = 64", "blocks = 64").find("unknown key"), std::string::npos);
  EXPECT_NE(error("\"y\", \"z\", 7", "\"x\", \"z\", 7").find("array y is no parameter"),
            std::string::npos);
  EXPECT_NE(error("\"z\", 7, 0.5", "\"x\", 7, 0.5").find("array z is no parameter"),
            std::string::npos);
  EXPECT_NE(error("role = \"scratch\"", "role = \"scratch\"\ninit = \"symbolic\"")
                .find("scratch array must be zero or poison"),
            std::string::npos);
}

TEST(LaunchProgram, MistakesAreNamed) {
  auto message = [](const LaunchFile& f) {
    auto p = launch_program(f, module());
    return p ? std::string() : p.error().message;
  };
  LaunchFile f = good();
  f.launches[0].kernel = "nope";
  EXPECT_NE(message(f).find("kernels there: scale, packed"), std::string::npos) << message(f);
  f = good();
  f.launches[0].kernel = "";
  EXPECT_NE(message(f).find("not unique"), std::string::npos) << message(f);
  f = good();
  f.launches[0].params.pop_back();
  EXPECT_NE(message(f).find("has 4 parameters, \"params\" has 3"), std::string::npos) << message(f);
  f = good();
  std::swap(f.launches[0].params[0], f.launches[0].params[2]);
  EXPECT_NE(message(f).find("p0"), std::string::npos) << message(f);
  f = good();
  f.launches[0].params[2].what = 0.5;
  EXPECT_NE(message(f).find("is no integer"), std::string::npos) << message(f);
  f = good();
  f.launches[0].params[2].what = int64_t{1} << 33;
  EXPECT_NE(message(f).find("does not fit"), std::string::npos) << message(f);
  f = good();
  f.launches[0].params[1].what = std::string("y");
  EXPECT_NE(message(f).find("array x is no parameter"), std::string::npos) << message(f);
  f = good();
  f.arrays[0].role = ArrayRole::In;
  EXPECT_NE(message(f).find("nothing to check"), std::string::npos) << message(f);
}

}  // namespace
}  // namespace assay::check
