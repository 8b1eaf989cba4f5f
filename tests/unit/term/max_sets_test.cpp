// Sets behind maxima: the same leaves give the same image, in whatever order and by whatever tree.
#include "term/max_sets.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace assay::term {
namespace {

std::vector<double> images(size_t n) {
  std::vector<double> out;
  for (size_t k = 0; k < n; ++k) out.push_back(to_element(mix64(k + 1)));
  return out;
}

double chain(MaxSets& sets, const std::vector<double>& leaves) {
  double image = leaves[0];
  for (size_t k = 1; k < leaves.size(); ++k) image = sets.join(image, leaves[k]).image;
  return image;
}

TEST(MaxSets, OrderAndTreeDoNotMatter) {
  for (const size_t n : {3u, 64u, 65u, 1000u}) {
    SCOPED_TRACE(n);
    MaxSets sets(7);
    const std::vector<double> up = images(n);
    const std::vector<double> down(up.rbegin(), up.rend());
    const auto half = up.begin() + static_cast<std::ptrdiff_t>(n / 2);
    const double left = chain(sets, {up.begin(), half}), right = chain(sets, {half, up.end()});
    const double image = chain(sets, up);
    EXPECT_EQ(image, chain(sets, down));
    EXPECT_EQ(image, sets.join(left, right).image);
    EXPECT_EQ(image, sets.join(right, left).image);
    EXPECT_EQ(image, sets.join_all(down));
    EXPECT_NE(image, sets.join_all({up.begin() + 1, up.end()}));
  }
}

TEST(MaxSets, RepetitionsAreDropped) {
  for (const size_t n : {2u, 60u, 5000u}) {
    SCOPED_TRACE(n);
    MaxSets sets(7);
    const std::vector<double> once = images(n);
    std::vector<double> often = once;
    for (int k = 0; k < 9; ++k) often.insert(often.end(), once.rbegin(), once.rend());
    std::vector<double> unique = often;
    MaxSets::make_unique(unique);
    EXPECT_EQ(unique.size(), n);
    EXPECT_EQ(sets.join_all(often), sets.join_all(once));
    if (n > MaxSets::kKept) continue;
    EXPECT_TRUE(std::is_sorted(unique.begin(), unique.end()));
    EXPECT_EQ(chain(sets, often), sets.join_all(once));
    EXPECT_EQ(sets.leaves(sets.join_all(once)), unique);
  }
  MaxSets sets(7);
  EXPECT_EQ(sets.join_all({5, 5, 5}), 5);
}

TEST(MaxSets, AClosedFormNamesItsPair) {
  MaxSets sets(7);
  const auto [pair, of_leaves] = sets.join(1, 2);
  EXPECT_TRUE(of_leaves);
  sets.alias(pair, 77);
  EXPECT_EQ(sets.join(2, 1).image, 77);
  EXPECT_EQ(sets.join(77, 1).image, 77);
  EXPECT_EQ(sets.join(77, 3).image, sets.join_all({3, 2, 1}));
  EXPECT_FALSE(sets.join(77, 3).of_leaves);
}

}  // namespace
}  // namespace assay::term
