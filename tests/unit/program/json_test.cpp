#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/program/random_program.h"

namespace assay::program {
namespace {

TEST(DTypes, NamesRoundTrip) {
  for (int i = 0; i < 10; ++i) {
    const auto t = static_cast<DType>(i);
    EXPECT_EQ(parse_dtype(dtype_name(t)), t);
    EXPECT_EQ(parse_dtype(std::string("torch.") + dtype_name(t)), t);
  }
  EXPECT_EQ(parse_dtype("f32"), DType::F32);
  EXPECT_EQ(parse_dtype("complex64"), std::nullopt);
  EXPECT_EQ(dtype_bytes(DType::Bool), 1u);
  EXPECT_EQ(dtype_bytes(DType::BF16), 2u);
  EXPECT_TRUE(dtype_is_float(DType::F64));
  EXPECT_FALSE(dtype_is_float(DType::I64));
}

TEST(Views, ElementsOfATransposedSlice) {
  TensorView v{0, DType::F32, 5, {3, 2}, {1, 10}};
  EXPECT_EQ(v.numel(), 6);
  EXPECT_FALSE(v.is_contiguous());
  EXPECT_EQ(v.element(0), 5);
  EXPECT_EQ(v.element(1), 15);
  EXPECT_EQ(v.element(4), 7);
}

TEST(Views, Contiguity) {
  EXPECT_TRUE((TensorView{0, DType::F32, 3, {}, {}}).is_contiguous());
  EXPECT_TRUE((TensorView{0, DType::F32, 0, {2, 1, 4}, {4, 99, 1}}).is_contiguous());
  EXPECT_TRUE((TensorView{0, DType::F32, 0, {0, 3}, {1, 7}}).is_contiguous());
  EXPECT_FALSE((TensorView{0, DType::F32, 0, {2, 4}, {0, 1}}).is_contiguous());
}

TEST(Json, RandomProgramsRoundTrip) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    const Program p = RandomProgram(seed).make();
    const auto text = to_json(p);
    ASSERT_TRUE(text) << text.error().message;
    const auto back = from_json(*text);
    ASSERT_TRUE(back) << "seed " << seed << ": " << back.error().message << "\n" << *text;
    EXPECT_EQ(*to_json(*back), *text) << "seed " << seed;
    EXPECT_EQ(back->form, p.form) << "seed " << seed;
    EXPECT_EQ(back->function, p.function) << "seed " << seed;
    EXPECT_EQ(back->unjoined, p.unjoined) << "seed " << seed;
    ASSERT_EQ(back->steps.size(), p.steps.size());
    for (size_t i = 0; i < p.steps.size(); ++i) {
      EXPECT_EQ(back->steps[i].what.index(), p.steps[i].what.index());
    }
  }
}

TEST(Json, ArgumentKindsStayApart) {
  Program p;
  p.buffers.push_back({"x", 16, DType::F32, Role::Input, Init::Symbolic, 0, {}, {}});
  const TensorView x{0, DType::F32, 0, {4}, {1}};
  const std::vector<Arg> args = {std::monostate{},
                                 x,
                                 std::vector<TensorView>{x, TensorView{}},
                                 int64_t{1},
                                 1.0,
                                 -0.0,
                                 true,
                                 std::string("mean"),
                                 std::vector<int64_t>{},
                                 std::vector<double>{},
                                 DType::F16,
                                 double{INFINITY},
                                 double{NAN},
                                 int64_t{INT64_MIN}};
  p.steps.push_back({OpStep{"aten::test", args, {x}}, 0, {}, true, {}});
  const auto back = from_json(*to_json(p));
  ASSERT_TRUE(back) << back.error().message;
  const auto& got = std::get<OpStep>(back->steps[0].what).args;
  ASSERT_EQ(got.size(), args.size());
  for (size_t i = 0; i < args.size(); ++i) EXPECT_EQ(got[i].index(), args[i].index()) << i;
  EXPECT_EQ(std::get<double>(got[4]), 1.0);
  EXPECT_TRUE(std::signbit(std::get<double>(got[5])));
  EXPECT_EQ(std::get<double>(got[11]), INFINITY);
  EXPECT_TRUE(std::isnan(std::get<double>(got[12])));
  EXPECT_EQ(std::get<int64_t>(got[13]), INT64_MIN);
  EXPECT_EQ(std::get<std::vector<TensorView>>(got[2])[1].buffer, -1);
  EXPECT_EQ(std::get<DType>(got[10]), DType::F16);
}

struct BadText {
  const char* text;
  DiagKind kind;
  const char* message;
};
class JsonErrors : public testing::TestWithParam<BadText> {};

TEST_P(JsonErrors, AreDiags) {
  const auto got = from_json(GetParam().text);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().kind, GetParam().kind);
  EXPECT_NE(got.error().message.find(GetParam().message), std::string::npos) << got.error().message;
}

INSTANTIATE_TEST_SUITE_P(
    All, JsonErrors,
    testing::Values(
        BadText{"", DiagKind::Syntax, "not JSON"}, BadText{"{", DiagKind::Syntax, "not JSON"},
        BadText{"[]", DiagKind::Invalid, "object"},
        BadText{"{}", DiagKind::Invalid, "'schema' is missing"},
        BadText{R"({"schema":99})", DiagKind::Unsupported, "schema version 99"},
        BadText{R"({"schema":1,"buffers":3})", DiagKind::Invalid, "'buffers' is no array"},
        BadText{R"({"schema":1,"buffers":[{"bytes":-1}]})", DiagKind::Invalid, "'bytes'"},
        BadText{R"({"schema":1,"buffers":[{"bytes":4,"dtype":"complex64"}]})", DiagKind::Invalid,
                "complex64"},
        BadText{R"({"schema":1,"buffers":[{"bytes":8,"dtype":"bool","role":"input","init":"data",
                "data":"AAAA"}]})",
                DiagKind::Invalid, "3 bytes of data"},
        BadText{R"({"schema":1,"buffers":[{"bytes":8,"dtype":"bool","role":"input","init":"data",
                "data":"A=AA"}]})",
                DiagKind::Invalid, "base64"},
        BadText{R"({"schema":1,"buffers":[{"bytes":8,"dtype":"bool","role":"input","init":"data",
                "data_blob":"00"}]})",
                DiagKind::Invalid, "blob"},
        BadText{R"({"schema":1,"steps":[{"kind":"jump"}]})", DiagKind::Unsupported, "jump"},
        BadText{R"({"schema":1,"outputs":[{"buffer":0,"dtype":"bool","shape":[1],"strides":[1]}]})",
                DiagKind::Invalid, "a view on buffer 0"},
        BadText{R"({"schema":1,"unjoined":[0]})", DiagKind::Invalid, "an unjoined step"},
        BadText{R"({"schema":1,"steps":[{"kind":"op","op":"x","after":[0]}]})", DiagKind::Invalid,
                "order"},
        BadText{R"({"schema":1,"steps":[{"kind":"launch","module":0,"kernel":"k","grid":[1,1,1],
                "block":[1,1,1],"cluster":[1,1],"dynamic_smem":0,"max_dynamic_smem":0}]})",
                DiagKind::Invalid, "three"}));

Program one_buffer(uint64_t bytes) {
  Program p;
  p.buffers.push_back({"x", bytes, DType::F32, Role::Input, Init::Symbolic, 0, {}, {}});
  return p;
}

TEST(Validate, ViewsStayInsideTheirBuffer) {
  Program p = one_buffer(40);
  p.outputs = {{0, DType::F32, 0, {2, 5}, {5, 1}}};
  EXPECT_TRUE(validate(p));
  p.outputs = {{0, DType::F32, 1, {2, 5}, {5, 1}}};
  EXPECT_FALSE(validate(p));
  p.outputs = {{0, DType::F32, 9, {10}, {-1}}};
  EXPECT_TRUE(validate(p));
  p.outputs = {{0, DType::F32, 8, {10}, {-1}}};
  EXPECT_FALSE(validate(p));
  p.outputs = {{0, DType::F64, 0, {2, 5}, {5, 1}}};
  EXPECT_FALSE(validate(p));
  p.outputs = {{0, DType::F32, 0, {1000, 10}, {0, 1}}};
  EXPECT_TRUE(validate(p));
  p.outputs = {{0, DType::F32, 0, {int64_t{1} << 40, int64_t{1} << 40}, {0, 0}}};
  EXPECT_FALSE(validate(p));
  p.outputs = {{0, DType::F32, 0, {int64_t{1} << 40, int64_t{1} << 40, 0}, {0, 0, 0}}};
  EXPECT_FALSE(validate(p));
  p.outputs = {{0, DType::F32, 0, {3, 3}, {INT64_MAX, INT64_MAX}}};
  EXPECT_FALSE(validate(p));
  p.outputs = {{0, DType::F32, 77, {0}, {1}}};
  EXPECT_TRUE(validate(p));
}

TEST(Addresses, OverlapIsInvalidAndTheOthersKeepClear) {
  Program p = one_buffer(64);
  p.buffers.resize(4, p.buffers[0]);
  p.buffers[0].address = 0x1000'0000'0000;
  p.buffers[2].address = 0x1000'0000'0000 + 64;
  ASSERT_TRUE(validate(p));
  const auto at = device_addresses(p);
  EXPECT_EQ(at[0], p.buffers[0].address);
  EXPECT_EQ(at[2], p.buffers[2].address);
  EXPECT_GE(at[1], at[2] + 64 + (uint64_t{1} << 36));
  EXPECT_GE(at[3], at[1] + 64 + (uint64_t{1} << 36));
  p.buffers[2].address -= 1;
  EXPECT_FALSE(validate(p));
  p.buffers[2].address = ~uint64_t{0} - 8;
  EXPECT_FALSE(validate(p));
}

TEST(ProgramSets, RoundTripAndErrors) {
  ProgramSet set;
  set.programs = {one_buffer(4), one_buffer(8)};
  set.programs[1].changed = {{"batch_size", 17}, {"slope", 0.75}, {"eps", 1.0}};
  set.skipped = {{{{"dim", 5}}, "RuntimeError: 5 is not divisible by 4"}};
  const auto back = set_from_json(*set_to_json(set));
  ASSERT_TRUE(back) << back.error().message;
  ASSERT_EQ(back->programs.size(), 2u);
  EXPECT_EQ(back->programs[1].changed, set.programs[1].changed);
  ASSERT_EQ(back->skipped.size(), 1u);
  EXPECT_EQ(back->skipped[0].changed, set.skipped[0].changed);
  EXPECT_EQ(back->skipped[0].reason, set.skipped[0].reason);

  const auto single = set_from_json(*to_json(one_buffer(4)));
  ASSERT_TRUE(single);
  EXPECT_EQ(single->programs.size(), 1u);

  const auto error = set_from_json(R"({"error":{"kind":"unsupported","message":"no export"}})");
  ASSERT_FALSE(error);
  EXPECT_EQ(error.error().kind, DiagKind::Unsupported);
  EXPECT_EQ(error.error().message, "no export");
}

}  // namespace
}  // namespace assay::program
