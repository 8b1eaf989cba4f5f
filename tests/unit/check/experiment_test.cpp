#include "check/experiment.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "check/pages.h"

namespace assay::check {
namespace {

std::vector<SymbolInfo> two_arguments() {
  std::vector<SymbolInfo> out(2);
  for (size_t k = 0; k < 2; ++k) {
    out[k].symbol = 7 + k;
    out[k].elements = 8 * 300;
    out[k].view.shape = {8, 300};
    out[k].view.strides = {300, 1};
  }
  return out;
}

std::vector<double> row(const Experiment& e, uint64_t symbol, int64_t first) {
  int64_t elements[term::kRow];
  std::iota(elements, elements + term::kRow, first);
  std::vector<double> out(term::kRow);
  e.values(symbol, Ty::F32, elements, 0xffffffffu, out.data());
  return out;
}

TEST(Experiment, RowsAndSingleElementsAreTheGenerator) {
  const auto symbols = two_arguments();
  Experiment e(symbols, 3);
  e.set_all({Draw::Kind::Uniform, -2, 5, 1, 1, {}});
  // Across blocks, then single elements before and behind what is known, then all at once.
  for (const int64_t first : {50, 0, 7, 1000}) {
    for (const int64_t single : {first + 40, first + 39, first - 1}) {
      if (single < 0) continue;
      double want = 0;
      program::draw_values(3, 8, e.draw_of(8), program::DType::F32, static_cast<uint64_t>(single),
                           1, &want);
      EXPECT_EQ(e.value(8, single), want) << single;
    }
    std::vector<double> want(term::kRow);
    program::draw_values(3, 8, e.draw_of(8), program::DType::F32, static_cast<uint64_t>(first),
                         want.size(), want.data());
    EXPECT_EQ(row(e, 8, first), want) << first;
  }
}

TEST(Experiment, OverridesStandInRowsOfTheirArgumentAlone) {
  const auto symbols = two_arguments();
  Experiment e(symbols, 3);
  const std::vector<double> before = row(e, 7, 20), other = row(e, 8, 20);
  e.override_value(7, 25, 1.5);
  e.override_value(7, 19, 9);
  std::vector<double> want = before;
  want[5] = 1.5;
  EXPECT_EQ(row(e, 7, 20), want);
  EXPECT_EQ(row(e, 8, 20), other);
}

TEST(Experiment, FoldedValuesArePositive) {
  const auto symbols = two_arguments();
  Experiment e(symbols, 3);
  e.set_all({Draw::Kind::Uniform, -1, 1, 1, 1, {}});
  row(e, 7, 0);  // known before it is folded
  const auto folded = e.folded();
  ASSERT_TRUE(folded.has_value());
  for (const double v : row(*folded, 7, 0)) EXPECT_GE(v, 0);
  EXPECT_GE(folded->value(7, 3), 0);
}

TEST(Experiment, SomeInputsVaryTogether) {
  const auto symbols = two_arguments();
  bool outer = false, inner = false;
  for (const Experiment& e : structured_experiments(symbols, {}, {}, {}, 1)) {
    auto negative = [&](int64_t r, int64_t c) {
      return e.value(7, r * 300 + c) < 0 && e.value(8, r * 300 + c) < 0;
    };
    auto positive = [&](int64_t r, int64_t c) {
      return e.value(7, r * 300 + c) > 0 && e.value(8, r * 300 + c) > 0;
    };
    outer = outer || (negative(0, 299) && negative(3, 0) && positive(4, 0) && positive(7, 299));
    inner = inner || (negative(0, 149) && negative(7, 0) && positive(0, 150) && positive(7, 299));
  }
  EXPECT_TRUE(outer);
  EXPECT_TRUE(inner);
}

TEST(Pages, KeepTheirFillUntilWritten) {
  const uint64_t bytes = (uint64_t{9} << 20) + 5;  // several tiles, the last one in part
  for (const auto fill : {Pages::Fill::Zero, Pages::Fill::Ones}) {
    const uint8_t want = fill == Pages::Fill::Ones ? 0xff : 0;
    Pages a(bytes, fill), b(bytes, fill);
    ASSERT_NE(a.data(), nullptr);
    EXPECT_EQ(a.bytes(), bytes);
    for (const uint64_t at : {uint64_t{0}, uint64_t{4} << 20, bytes - 1}) {
      EXPECT_EQ(a.data()[at], want);
      a.data()[at] = 42;
      EXPECT_EQ(b.data()[at], want);
    }
    Pages c = std::move(a);
    EXPECT_EQ(c.data()[bytes - 1], 42);
  }
  EXPECT_EQ(Pages(~uint64_t{0}, Pages::Fill::Zero).data(), nullptr);
}

}  // namespace
}  // namespace assay::check
