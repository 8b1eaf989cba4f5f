#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "program/witness.h"

namespace assay::program {
namespace {

using Words4 = std::array<uint32_t, 4>;

// Known answers of Random123's kat_vectors, philox4x32 with 10 rounds.
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (Words4{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const uint32_t f = 0xffffffff;
  EXPECT_EQ(philox4x32({f, f, f, f}, {f, f}),
            (Words4{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words4{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, RunsAreTheSameAsSingleBlocks) {
  const uint64_t seed = 0x0123456789abcdef, input = 0x1000000002;
  for (uint64_t first : {uint64_t{0}, uint64_t{5}, uint64_t{0xfffffff8}}) {
    uint32_t words[53];
    philox_words(seed, input, first, 53, words);
    for (uint64_t j = 0; j < 53; ++j) {
      const uint64_t e = first + j;
      const Words4 want =
          philox4x32({static_cast<uint32_t>(e), static_cast<uint32_t>(e >> 32), 2, 0x10},
                     {0x89abcdef, 0x01234567});
      EXPECT_EQ(words[j], want[0]) << e;
    }
  }
}

std::vector<double> draw(const Draw& d, DType t, size_t n, uint64_t first = 0) {
  std::vector<double> out(n);
  draw_values(7, 3, d, t, first, n, out.data());
  return out;
}

TEST(Draws, RangesAndKinds) {
  using K = Draw::Kind;
  double sum = 0;
  for (double v : draw({K::Uniform, -2, 6, 1, 1}, DType::F32, 100000)) {
    EXPECT_TRUE(v >= -2 && v < 6 && static_cast<float>(v) == v);
    sum += v;
  }
  EXPECT_NEAR(sum / 100000, 2, 0.05);
  for (double v : draw({K::Grid, -1, 0, 1, 3}, DType::F16, 1000)) EXPECT_LE(std::fabs(v), 1);
  int seen[5] = {};
  for (double v : draw({K::Integers, 3, 8, 1, 1}, DType::I64, 10000))
    ++seen[static_cast<int>(v) - 3];
  for (int count : seen) EXPECT_NEAR(count, 2000, 200);
  for (double v : draw({K::Constant, 0.1, 0, 1, 1}, DType::BF16, 3)) EXPECT_EQ(v, 0.10009765625);
}

TEST(Draws, AnyRangeIsPartOfTheWhole) {
  const Draw d{Draw::Kind::Uniform, -1, 1, 1, 1};
  const auto all = draw(d, DType::BF16, 5000);
  const auto part = draw(d, DType::BF16, 3000, 1237);
  for (size_t j = 0; j < part.size(); ++j) EXPECT_EQ(part[j], all[1237 + j]);
}

Witness sample() {
  Witness w;
  w.seed = 0xfedcba9876543210;
  w.evaluate = true;
  w.changed = {{"batch_size", 3}, {"get_inputs()[1]", 2.0}};
  WitnessInput in;
  in.source = "input:0";
  in.number = 5;
  in.view = {-1, DType::F16, 2, {3, 4}, {4, 1}};
  in.elements = 16;
  in.draw = {Draw::Kind::Grid, -1, 2, 0.25, 9};
  in.overrides = {{3, INFINITY}, {7, -0.0}};
  w.inputs = {in};
  w.output = 1;
  w.element = 11;
  w.mutated = "state:running_mean";
  return w;
}

TEST(Witnesses, RoundTrip) {
  const Witness w = sample();
  const std::string text = witness_to_json(w);
  const auto back = witness_from_json(text);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(witness_to_json(*back), text);
  EXPECT_EQ(back->seed, w.seed);
  EXPECT_EQ(back->changed, w.changed);
  EXPECT_EQ(back->inputs[0].draw, w.inputs[0].draw);
  EXPECT_EQ(back->inputs[0].overrides[0].second, INFINITY);
  EXPECT_TRUE(std::signbit(back->inputs[0].overrides[1].second));
  EXPECT_EQ(witness_from_json("{").error().kind, DiagKind::Syntax);
  for (const char* bad : {"{}", "[]", R"({"seed":"x"})"}) {
    EXPECT_EQ(witness_from_json(bad).error().kind, DiagKind::Invalid);
  }
}

TEST(Witnesses, OverridesWin) {
  const Witness w = sample();
  double v[6];
  witness_values(w, w.inputs[0], 2, 6, v);
  EXPECT_EQ(v[1], INFINITY);
  EXPECT_EQ(v[5], 0);
  double plain[6];
  draw_values(w.seed, 5, w.inputs[0].draw, DType::F16, 2, 6, plain);
  EXPECT_EQ(v[0], plain[0]);
}

// The same hashes stand in tests/python/test_witness.py, computed with numpy.
TEST(Draws, AgreeWithNumpy) {
  const Draw draws[] = {{Draw::Kind::Uniform, -0.7, 3.3, 1, 1},
                        {Draw::Kind::Grid, -8, 0, 0.3, 33},
                        {Draw::Kind::Uniform, -1e-40, 1e-39, 1, 1},
                        {Draw::Kind::Integers, -5, 100000, 1, 1}};
  const uint64_t want[4][4] = {
      {0xff7b0791e5f59063, 0xbe6e1391e5f59063, 0x5ede393fe5f59063, 0xafce5c794c09b113},
      {0xf2939391e5f59063, 0xcb4b7391e5f59063, 0xef2aa70ba5f59063, 0xca566b492603a5ee},
      {0x8c333391e5f59063, 0x4cfb3391e5f59063, 0x367f2de3e5f59063, 0xd0c4ef5e63307816},
      {0x9a963b91e5f59063, 0x2e111391e5f59063, 0xe973ea11e5f59063, 0xe973ea11e5f59063}};
  const DType dtypes[] = {DType::F16, DType::BF16, DType::F32, DType::F64};
  for (int i = 0; i < 4; ++i) {
    for (int t = 0; t < 4; ++t) {
      uint64_t hash = 1469598103934665603u;  // FNV-1a over the doubles' bits
      double values[1000];
      draw_values(0x1122334455667788, 9, draws[i], dtypes[t], 12, 1000, values);
      for (double v : values) {
        uint64_t bits = 0;
        std::memcpy(&bits, &v, 8);
        hash = (hash ^ bits) * 1099511628211u;
      }
      EXPECT_EQ(hash, want[i][t]) << i << " " << dtype_name(dtypes[t]);
    }
  }
}

}  // namespace
}  // namespace assay::program
