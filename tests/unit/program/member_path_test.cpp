#include "program/member_path.h"

#include <gtest/gtest.h>

namespace assay::program {
namespace {

std::string text(const std::string& name) {
  std::string out;
  for (const Member& m : member_path(name))
    out += m.owner + (m.index ? " # " : " : ") + m.key + "; ";
  return out;
}

TEST(MemberPath, StepsOfNestedContainers) {
  EXPECT_EQ(text("x"), "");
  EXPECT_EQ(text("p['a']"), "p : a; ");
  EXPECT_EQ(text("p['a.b'][3]['w']"), "p : a.b; p['a.b'] # 3; p['a.b'][3] : w; ");
  EXPECT_EQ(text("xs[0][12]"), "xs # 0; xs[0] # 12; ");
  EXPECT_EQ(text("p['open"), "");  // no such name
}

}  // namespace
}  // namespace assay::program
