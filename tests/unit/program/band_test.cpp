#include <gtest/gtest.h>

#include "program/philox.h"
#include "program/witness.h"

namespace assay::program {
namespace {

// Columns 2 and 3 of a [3, 5] input.
Draw banded() { return {Draw::Kind::Uniform, 0.5, 1, 1, 1, {1, 5, 2, 4, -16}}; }

TEST(Band, ScalesTheElementsInside) {
  double plain[15], band[15];
  Draw without = banded();
  without.band = {};
  draw_values(7, 3, without, DType::F32, 0, 15, plain);
  draw_values(7, 3, banded(), DType::F32, 0, 15, band);
  for (int k = 0; k < 15; ++k)
    EXPECT_EQ(band[k], plain[k] * (k % 5 == 2 || k % 5 == 3 ? -16 : 1)) << k;
  double part[4];
  draw_values(7, 3, banded(), DType::F32, 6, 4, part);  // any element alone
  for (int k = 0; k < 4; ++k) EXPECT_EQ(part[k], band[6 + k]);
}

TEST(Band, RowsOfAMatrix) {
  double plain[15], band[15];
  Draw draw{Draw::Kind::Constant, 2, 2, 1, 1, {5, 3, 1, 2, 0}};
  draw_values(7, 3, draw, DType::F32, 0, 15, band);
  draw.band = {};
  draw_values(7, 3, draw, DType::F32, 0, 15, plain);
  for (int k = 0; k < 15; ++k) EXPECT_EQ(band[k], k / 5 == 1 ? 0 : plain[k]) << k;
}

TEST(Band, SurvivesJson) {
  Witness w;
  WitnessInput in;
  in.source = "input:0";
  in.view.shape = {3, 5};
  in.view.strides = {5, 1};
  in.elements = 15;
  in.draw = banded();
  w.inputs.push_back(in);
  in.draw.band = {};
  w.inputs.push_back(in);
  const auto back = witness_from_json(witness_to_json(w));
  ASSERT_TRUE(back.has_value()) << back.error().message;
  EXPECT_EQ(back->inputs[0].draw, banded());
  EXPECT_EQ(back->inputs[1].draw, in.draw);
  std::string text = witness_to_json(w);
  text.replace(text.find("[1,5,2,4"), 8, "[0,5,2,4");
  EXPECT_FALSE(witness_from_json(text).has_value());
}

}  // namespace
}  // namespace assay::program
