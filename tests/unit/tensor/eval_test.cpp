#include "tensor/eval.h"

#include <gtest/gtest.h>

#include <cmath>

#include "steps.h"

namespace assay::tensor {
namespace {

using test::DType;
using test::OpStep;
using test::StepData;
using test::StepMaker;
using Shape = std::vector<int64_t>;

TEST(Eval, InPlaceReadsOldContents) {
  // y = x^T copied into x: every element must come from the old x.
  StepMaker m;
  auto x = m.view({3, 3});
  auto xt = x;
  std::swap(xt.strides[0], xt.strides[1]);
  OpStep step{"aten::copy_", {x, xt}, {x}};
  auto op = lower(step);
  ASSERT_TRUE(op);
  StepData data(step);
  for (int k = 0; k < 9; ++k) data.floats(0)[k] = static_cast<float>(k);
  ASSERT_TRUE(evaluate(*op, data.spans()));
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      EXPECT_EQ(data.floats(0)[i * 3 + j], static_cast<float>(j * 3 + i));
    }
  }
}

TEST(Eval, ASubsetWritesNothingElse) {
  StepMaker m;
  auto step = m.step("aten::softmax", {m.view({4, 6}), int64_t{1}});
  ASSERT_TRUE(step);
  auto op = lower(*step);
  ASSERT_TRUE(op);
  StepData data(*step);
  for (int k = 0; k < 24; ++k) data.floats(0)[k] = 0.25f * static_cast<float>(k % 7);
  StepData whole = data;
  ASSERT_TRUE(evaluate(*op, whole.spans()));
  std::vector<ElemSet> wanted(op->tensors.size());
  int out = step->outputs[0].buffer;
  for (size_t t = 0; t < op->tensors.size(); ++t) {
    if (!op->tensors[t].is_temp && op->tensors[t].view.buffer == out) wanted[t].insert(8);
  }
  ASSERT_TRUE(evaluate(*op, data.spans(), wanted));
  for (int k = 0; k < 24; ++k) {
    EXPECT_EQ(data.floats(out)[k], k == 8 ? whole.floats(out)[k] : 0.0f) << k;
  }
  // Only row 1 of the input is wanted.
  StepDemand d = step_demand(*op, wanted);
  EXPECT_EQ(d.operands[0].count(), 6);
  EXPECT_EQ(d.operands[0].front(), 6);
}

TEST(Eval, IndicesOutsideTheTableAreInvalid) {
  StepMaker m;
  auto step = m.step("aten::embedding", {m.view({5, 2}), m.view({3}, DType::I64)});
  ASSERT_TRUE(step);
  auto op = lower(*step);
  ASSERT_TRUE(op);
  StepData data(*step);
  data.ints(1)[2] = 4;
  EXPECT_TRUE(evaluate(*op, data.spans()));
  data.ints(1)[2] = 5;
  auto r = evaluate(*op, data.spans());
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().kind, DiagKind::Invalid);
  data.ints(1)[2] = -1;
  EXPECT_FALSE(evaluate(*op, data.spans()));
}

TEST(Eval, BuffersThatAreTooSmallAreInvalid) {
  StepMaker m;
  auto step = m.step("aten::relu", {m.view({8})});
  ASSERT_TRUE(step);
  auto op = lower(*step);
  StepData data(*step);
  data.bytes[0].resize(28);
  EXPECT_FALSE(evaluate(*op, data.spans()));
  StepData none(*step);
  none.bytes.clear();
  EXPECT_FALSE(evaluate(*op, none.spans()));
}

// Sums are pairwise: a long sum of equal terms stays within a few units in the last place.
TEST(Eval, LongSumsAreAccurate) {
  StepMaker m;
  const int64_t n = 1 << 20;
  auto step = m.step("aten::sum", {m.view({n})});
  ASSERT_TRUE(step);
  auto op = lower(*step);
  ASSERT_TRUE(op);
  StepData data(*step);
  for (int64_t k = 0; k < n; ++k) data.floats(0)[k] = 0.1f;
  ASSERT_TRUE(evaluate(*op, data.spans()));
  double exact = static_cast<double>(0.1f) * static_cast<double>(n);
  EXPECT_NEAR(data.floats(step->outputs[0].buffer)[0], exact, exact * 1e-6);
}

TEST(Eval, NanWinsExtremaAndTheFirstIndexWinsTies) {
  StepMaker m;
  auto step = m.step("aten::max", {m.view({2, 5}), int64_t{1}, false});
  ASSERT_TRUE(step);
  auto op = lower(*step);
  ASSERT_TRUE(op);
  StepData data(*step);
  const float rows[10] = {1, 3, 2, 3, 0, 1, NAN, 7, NAN, 2};
  std::copy(rows, rows + 10, data.floats(0));
  ASSERT_TRUE(evaluate(*op, data.spans()));
  int values = step->outputs[0].buffer, indices = step->outputs[1].buffer;
  EXPECT_EQ(data.floats(values)[0], 3);
  EXPECT_TRUE(std::isnan(data.floats(values)[1]));
  EXPECT_EQ(data.ints(indices)[0], 1);
  EXPECT_EQ(data.ints(indices)[1], 1);
}

}  // namespace
}  // namespace assay::tensor
