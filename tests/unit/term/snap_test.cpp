#include "term/snap.h"

#include <gtest/gtest.h>

#include <cmath>

namespace assay::term {
namespace {

std::string ideal(const Snapper& s, float literal) {
  return s.snap(Ty::F32, static_cast<double>(literal)).text;
}

TEST(Snap, RootsOfDimensionsComeBeforeRationals) {
  const Snapper s({8, 7, 67, 1091});
  // 1189/3363 and 7379/2789 round to the same floats.
  EXPECT_EQ(ideal(s, 0.353553385f), "1/sqrt(8)");
  EXPECT_EQ(ideal(s, 2.64575124f), "sqrt(7)");
  EXPECT_EQ(ideal(s, std::sqrt(1091.0f)), "sqrt(1091)");
  EXPECT_EQ(ideal(s, -0.353553385f), "-1/sqrt(8)");
}

TEST(Snap, AReciprocalOfARoundedRootIsTheSameIdeal) {
  const Snapper s({67});
  const float root = std::sqrt(67.0f);
  ASSERT_NE(1.0f / root, static_cast<float>(1.0 / std::sqrt(67.0)));
  EXPECT_EQ(ideal(s, 1.0f / root), "1/sqrt(67)");
  EXPECT_EQ(ideal(s, static_cast<float>(1.0 / std::sqrt(67.0))), "1/sqrt(67)");
}

TEST(Snap, OtherNumbersStayWhatTheyAre) {
  const Snapper s({64, 9});
  EXPECT_EQ(ideal(s, 1.0f / 49), "1/49");
  EXPECT_EQ(ideal(s, 0.35355338f), "1189/3363");  // 8 is no dimension here
  EXPECT_FALSE(s.snap(Ty::F32, 3).snapped);       // the root of 9
  EXPECT_FALSE(s.snap(Ty::F32, 0.125).snapped);
}

}  // namespace
}  // namespace assay::term
