#include "tensor/elem_set.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

namespace assay::tensor {
namespace {

std::vector<int64_t> elements(const ElemSet& s) {
  std::vector<int64_t> v;
  s.for_each([&](int64_t e) { v.push_back(e); });
  return v;
}

std::vector<int64_t> elements(const std::set<int64_t>& s) { return {s.begin(), s.end()}; }

TEST(ElemSet, InsertReportsNewElements) {
  ElemSet s;
  EXPECT_TRUE(s.insert(5));
  EXPECT_FALSE(s.insert(5));
  EXPECT_TRUE(s.contains(5));
  EXPECT_FALSE(s.contains(6));
  EXPECT_FALSE(s.contains(5 + ElemSet::kPage));
  EXPECT_EQ(s.count(), 1);
}

TEST(ElemSet, WholeTensorsAreFullPages) {
  ElemSet s;
  s.insert_range(3, 200'000'000);
  EXPECT_EQ(s.count(), 200'000'000);
  EXPECT_FALSE(s.insert(4096));
  EXPECT_EQ(s.front(), 3);
  EXPECT_EQ(s.back(), 200'000'002);
  int runs = 0;
  s.for_each_run([&](int64_t first, int64_t n) {
    ++runs;
    EXPECT_EQ(first, 3);
    EXPECT_EQ(n, 200'000'000);
  });
  EXPECT_EQ(runs, 1);
}

// Random operations against std::set.
TEST(ElemSet, AgreesWithStdSet) {
  std::mt19937 rng(7);
  auto number = [&](int64_t n) { return static_cast<int64_t>(rng() % n); };
  for (int trial = 0; trial < 60; ++trial) {
    ElemSet a, b;
    std::set<int64_t> sa, sb;
    for (int step = 0; step < 12; ++step) {
      ElemSet& s = step % 2 ? a : b;
      std::set<int64_t>& ss = step % 2 ? sa : sb;
      int64_t stride = number(4) == 0 ? 1 : number(40) - 10;
      int64_t n = stride == 1 ? number(20000) : number(400);
      int64_t first = number(30000);
      s.insert_range(first, n, stride);
      for (int64_t k = 0; k < n; ++k) ss.insert(first + k * stride);
    }
    ASSERT_EQ(elements(a), elements(sa));
    ASSERT_EQ(a.count(), static_cast<int64_t>(sa.size()));
    ElemSet u = a, i = a, d = a;
    u.unite(b);
    i.intersect(b);
    d.subtract(b);
    std::set<int64_t> su = sa, si, sd;
    su.insert(sb.begin(), sb.end());
    for (int64_t e : sa) (sb.count(e) ? si : sd).insert(e);
    ASSERT_EQ(elements(u), elements(su));
    ASSERT_EQ(elements(i), elements(si));
    ASSERT_EQ(elements(d), elements(sd));
    ASSERT_EQ(u.count(), static_cast<int64_t>(su.size()));
    ASSERT_EQ(i.count(), static_cast<int64_t>(si.size()));
    ASSERT_EQ(d.count(), static_cast<int64_t>(sd.size()));
    ASSERT_TRUE(i.is_subset_of(a) && a.is_subset_of(u));
    for (int k = 0; k < 10; ++k) {
      const int64_t first = number(45000) - 5000, n = number(3) == 0 ? number(30) : number(40000);
      const ElemSet w = a.within(first, n);
      const std::set<int64_t> sw(sa.lower_bound(first), sa.lower_bound(first + n));
      ASSERT_EQ(elements(w), elements(sw));
      ASSERT_EQ(w.count(), static_cast<int64_t>(sw.size()));
    }
    ASSERT_EQ(u == a, sb.size() == si.size());
    if (!su.empty()) {
      ASSERT_EQ(u.front(), *su.begin());
      ASSERT_EQ(u.back(), *su.rbegin());
    }
    for (int k = 0; k < 100; ++k) {
      int64_t e = number(60000) - 5000;
      ASSERT_EQ(a.contains(e), sa.count(e) == 1);
    }
  }
}

TEST(ElemSet, NegativeElementsAndCopies) {
  ElemSet s;
  s.insert_range(-10, 20);
  ElemSet copy = s;
  s.insert(100);
  EXPECT_EQ(copy.count(), 20);
  EXPECT_EQ(copy.front(), -10);
  copy.clear();
  EXPECT_TRUE(copy.empty());
  EXPECT_EQ(s.count(), 21);
}

TEST(ElemSet, CursorFindsWhatTheSetContains) {
  ElemSet set;
  set.insert_range(4090, 20);        // over the end of a page
  set.insert_range(3 * 4096, 4096);  // a full page
  set.insert(-5);
  ElemSet::Cursor cursor(set);
  for (const int64_t e : {-5, -6, 0, 4089, 4090, 4096, 4109, 4110, 12287, 12288, 16383, 16384, -5})
    EXPECT_EQ(cursor.contains(e), set.contains(e)) << e;
}

}  // namespace
}  // namespace assay::tensor
