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

TEST(Snap, ConstantsTimesAPowerOfTwoAndOverTheRootOfADimension) {
  const Snapper s({64, 96});
  // The scale of an attention with heads of 64 and 96, folded into the base of exp2.
  EXPECT_EQ(ideal(s, static_cast<float>(1.4426950408889634 / std::sqrt(64.0))), "log2(e)/sqrt(64)");
  EXPECT_EQ(ideal(s, static_cast<float>(-1.4426950408889634 / std::sqrt(96.0))),
            "-log2(e)/sqrt(96)");
  EXPECT_EQ(ideal(s, 1.44269504f * (1.0f / std::sqrt(96.0f))), "log2(e)/sqrt(96)");
  EXPECT_EQ(ideal(s, 0.0356774081f), "0.044715*sqrt(2/pi)");
  EXPECT_EQ(ideal(s, 0.0713548163f), "2*0.044715*sqrt(2/pi)");
  EXPECT_EQ(s.snap(Ty::F32, 1.4426950408889634 / 8).text, "log2(e)/sqrt(64)");  // rounded first
  EXPECT_EQ(s.snap(Ty::F32, M_SQRT1_2).text, "sqrt(1/2)");
  const Ideal& i = s.snap(Ty::F32, static_cast<double>(static_cast<float>(M_LOG2E / 8)));
  EXPECT_EQ(i.value, M_LOG2E / 8);
  EXPECT_EQ(ideal(Snapper({}), static_cast<float>(M_LOG2E / std::sqrt(96.0))), "0.14724445");
}

TEST(Snap, FunctionsOfSmallNumbersThatACompilerFolded) {
  const Snapper s({64});
  EXPECT_EQ(ideal(s, std::tanh(1.0f)), "tanh(1)");
  EXPECT_EQ(ideal(s, std::exp(-0.5f)), "exp(-0.5)");
  EXPECT_EQ(ideal(s, -std::erf(0.5f)), "-erf(0.5)");
  EXPECT_EQ(ideal(s, std::log(3.0f)), "log(3)");
  EXPECT_EQ(ideal(s, 2 * std::tanh(1.0f)), "2*tanh(1)");
  EXPECT_EQ(s.snap(Ty::F64, std::exp(2.0)).text, "exp(2)");
  EXPECT_EQ(ideal(s, std::nextafter(std::tanh(1.0f), 1.0f)), "0.76159424");  // no rounding of it
  EXPECT_NE(s.snap(Ty::F16, 0.76171875).text, "tanh(1)");                    // too short to be sure
}

TEST(Snap, OtherNumbersStayWhatTheyAre) {
  const Snapper s({64, 9});
  EXPECT_EQ(ideal(s, 1.0f / 49), "1/49");
  EXPECT_EQ(ideal(s, 0.37796447f), "0.37796447");  // 7 is no dimension here
  EXPECT_FALSE(s.snap(Ty::F32, 3).snapped);        // the root of 9
  EXPECT_FALSE(s.snap(Ty::F32, 0.125).snapped);
}

}  // namespace
}  // namespace assay::term
