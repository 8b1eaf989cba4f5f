#include "machine/disjoint_bits.h"

#include <gtest/gtest.h>

#include <numeric>

namespace assay::machine {
namespace {

class DisjointBits : public ::testing::Test {
 protected:
  NodeId data(Ty type) {
    InputPayload p;
    p.buffer = 0;
    p.type = type;
    return b_.input(p);
  }
  NodeId lanes(Ty type) {
    std::array<uint64_t, kLanes> v;
    std::iota(v.begin(), v.end(), uint64_t{0});
    return b_.const_vec(type, v);
  }
  NodeId shl(NodeId n, uint64_t by) {
    return b_.apply(Fn::Shl, b_.type_of(n), {}, 0, n, b_.constant(Ty::U32, by));
  }
  TraceBuilder b_;
};

TEST_F(DisjointBits, ARowTimes32AndALane) {
  const NodeId row = data(Ty::S64), lane = lanes(Ty::S64);
  EXPECT_TRUE(disjoint_bits(b_, shl(row, 5), lane));
  EXPECT_TRUE(disjoint_bits(b_, lane, shl(row, 5)));
  EXPECT_FALSE(disjoint_bits(b_, shl(row, 4), lane));
  EXPECT_FALSE(disjoint_bits(b_, row, lane));
}

TEST_F(DisjointBits, MaskedDataBelowAMultiple) {
  const NodeId x = data(Ty::U32), y = data(Ty::U32);
  const NodeId low = b_.apply(Fn::And, Ty::U32, {}, 0, x, b_.constant(Ty::U32, 7));
  const NodeId high = b_.apply(Fn::IMul, Ty::U32, {}, 0, y, b_.constant(Ty::U32, 24));
  EXPECT_TRUE(disjoint_bits(b_, high, low));
  EXPECT_FALSE(
      disjoint_bits(b_, high, b_.apply(Fn::And, Ty::U32, {}, 0, x, b_.constant(Ty::U32, 8))));
}

TEST_F(DisjointBits, SignExtensionSetsHighBits) {
  const NodeId x = data(Ty::S32), wide = shl(data(Ty::S64), 32);
  Mods m;
  m.type2 = Ty::S32;
  EXPECT_FALSE(disjoint_bits(b_, wide, b_.apply(Fn::CvtII, Ty::S64, m, 0, x)));
  const NodeId small = b_.apply(Fn::And, Ty::S32, {}, 0, x, b_.constant(Ty::S32, 0xff));
  EXPECT_TRUE(disjoint_bits(b_, wide, b_.apply(Fn::CvtII, Ty::S64, m, 0, small)));
}

}  // namespace
}  // namespace assay::machine
