#include "check/argument_order.h"

#include <gtest/gtest.h>

namespace assay::check {
namespace {

using Sources = std::vector<std::string>;

program::Program module_with(const Sources& sources) {
  program::Program p;
  p.form = "module";
  for (const std::string& s : sources) {
    program::Argument a;
    a.name = a.source = s;
    p.arguments.push_back(a);
  }
  return p;
}

Sources sources(const ArgumentList& list) {
  Sources out;
  for (const auto& a : list.arguments) out.push_back(a.source);
  return out;
}

const Sources kConv = {"input:0", "parameter:bias", "parameter:conv.weight", "parameter:conv.bias"};
const Sources kPartsFirst = {"input:0", "parameter:conv.weight", "parameter:conv.bias",
                             "parameter:bias"};

TEST(ArgumentOrder, FullNamesDecide) {
  const auto lists = argument_lists(module_with(kConv), {"x", "convWeight", "conv_bias", "bias"});
  EXPECT_EQ(sources(lists[0]), kPartsFirst);
  EXPECT_TRUE(lists[0].by_name && lists[0].reordered);
}

TEST(ArgumentOrder, LastPartsAndTheOneLeftSuggest) {
  // "bias" is the module's own, "weight" the only weight, "b" what is left.
  const auto lists = argument_lists(module_with(kConv), {"x", "weight", "b", "bias"});
  EXPECT_EQ(sources(lists[0]), kPartsFirst);
  EXPECT_FALSE(lists[0].by_name);
  EXPECT_EQ(sources(lists[1]), kConv);
}

TEST(ArgumentOrder, WithoutUsableNamesPyTorchsFirst) {
  for (const Sources& names :
       {Sources{}, Sources{"x", "a", "b", "c"}, Sources{"x", "conv_weight"}}) {
    const auto lists = argument_lists(module_with(kConv), names);
    EXPECT_EQ(sources(lists[0]), kConv);
    EXPECT_FALSE(lists[0].reordered);
    EXPECT_EQ(sources(lists.back()), kPartsFirst);
    EXPECT_TRUE(permuted(lists.back().arguments, lists[0].arguments));
    EXPECT_EQ(sources(lists[1]), Sources{"input:0"});  // parameters are the candidate's to take
    EXPECT_FALSE(permuted(lists[1].arguments, lists[0].arguments));
  }
}

TEST(ArgumentOrder, FunctionalReferencesFixTheOrder) {
  program::Program p = module_with(kConv);
  p.form = "functional";
  const auto lists = argument_lists(p, {"x", "conv_weight", "conv_bias", "bias"});
  ASSERT_EQ(lists.size(), 1u);
  EXPECT_EQ(sources(lists[0]), kConv);
}

}  // namespace
}  // namespace assay::check
