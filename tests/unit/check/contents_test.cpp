// Contents by congruence, and what the host alone has put into buffers.
#include "check/contents.h"

#include <gtest/gtest.h>

#include "check/known.h"

namespace assay::check {
namespace {

using program::Arg;
using program::DType;
using program::OpStep;
using program::Program;
using program::TensorView;

// Buffers of 4 x 4 floats; buffer 0 is an input.
struct Net {
  Program program;

  explicit Net(int buffers) {
    for (int k = 0; k < buffers; ++k) {
      program::Buffer b;
      b.bytes = 64;
      program.buffers.push_back(b);
    }
    program.buffers[0].init = program::Init::Symbolic;
    program.buffers[0].role = program::Role::Input;
    program.arguments.push_back({"x", view(0), "input:0"});
  }
  static TensorView view(int buffer) { return {buffer, DType::F32, 0, {4, 4}, {4, 1}}; }
  static TensorView transposed(int buffer) { return {buffer, DType::F32, 0, {4, 4}, {1, 4}}; }
  void op(const std::string& name, std::vector<Arg> args, const TensorView& out) {
    program::Step step;
    step.what = OpStep{name, std::move(args), {out}};
    program.steps.push_back(std::move(step));
  }
  void fill(int buffer, int64_t offset, uint64_t bytes, uint32_t value) {
    program::Step step;
    step.what = program::FillStep{buffer, offset, bytes, value, 1};
    program.steps.push_back(std::move(step));
  }
  void from_host(int buffer, int64_t offset, std::vector<uint8_t> data) {
    program::Step step;
    program::CopyStep copy;
    copy.dst = buffer;
    copy.dst_offset = offset;
    copy.bytes = data.size();
    copy.host_data = std::move(data);
    step.what = std::move(copy);
    program.steps.push_back(std::move(step));
  }
  Side side() {
    auto s = prepare(program);
    EXPECT_TRUE(s) << s.error().message;
    return s ? std::move(*s) : Side{};
  }
};

// The name of what the last step leaves in `buffer`.
int last(Net& net, ContentNames& names, int buffer, const std::vector<Cut>& cuts = {}) {
  Side side = net.side();
  const auto all = op_contents(side, cuts, names);
  return all.at({net.program.steps.size() - 1, buffer});
}

TEST(Contents, SameOperatorsOfSameTensorsAreOneWhereverTheyLie) {
  Net a(3), b(4);
  a.op("aten::relu", {Net::view(0)}, Net::view(1));
  a.op("aten::neg", {Net::view(1)}, Net::view(2));
  b.op("aten::relu", {Net::view(0)}, Net::view(3));
  b.op("aten::neg", {Net::view(3)}, Net::view(3));  // in place
  ContentNames names;
  EXPECT_EQ(last(a, names, 2), last(b, names, 3));
}

TEST(Contents, AttributesViewsAndOperatorsTellApart) {
  ContentNames names;
  const auto made = [&](const std::string& op, std::vector<Arg> args) {
    Net net(2);
    net.op(op, std::move(args), Net::view(1));
    return last(net, names, 1);
  };
  const int plain = made("aten::leaky_relu", {Net::view(0), 0.1});
  EXPECT_EQ(plain, made("aten::leaky_relu", {Net::view(0), 0.1}));
  EXPECT_NE(plain, made("aten::leaky_relu", {Net::view(0), 0.2}));
  EXPECT_NE(plain, made("aten::leaky_relu", {Net::transposed(0), 0.1}));
  EXPECT_NE(plain, made("aten::relu", {Net::view(0)}));
}

TEST(Contents, AWholeCopyIsWhatWasCopied) {
  ContentNames names;
  const auto made = [&](const std::string& op, const TensorView& from, const TensorView& to) {
    Net net(3);
    net.op("aten::relu", {Net::view(0)}, Net::view(1));
    net.op(op, op == "aten::clone" ? std::vector<Arg>{from, Arg{}} : std::vector<Arg>{from}, to);
    return last(net, names, 2);
  };
  Net plain(2);
  plain.op("aten::relu", {Net::view(0)}, Net::view(1));
  const int original = last(plain, names, 1);
  EXPECT_EQ(original, made("aten::clone", Net::view(1), Net::view(2)));
  EXPECT_NE(original, made("aten::clone", Net::transposed(1), Net::view(2)));
  EXPECT_NE(original, made("aten::clone", Net::view(1), Net::transposed(2)));
  EXPECT_NE(original, made("aten::clone", Net::view(0), Net::view(2)));
  EXPECT_NE(original, made("aten::neg", Net::view(1), Net::view(2)));
}

TEST(Contents, WhatWasOverwrittenIsSomethingElse) {
  ContentNames names;
  Net a(2), b(2);
  a.op("aten::relu", {Net::view(0)}, Net::view(1));
  b.op("aten::neg", {Net::view(0)}, Net::view(0));  // the input itself
  b.op("aten::relu", {Net::view(0)}, Net::view(1));
  EXPECT_NE(last(a, names, 1), last(b, names, 1));
}

TEST(Contents, UndefinedMemoryIsEqualToNothing) {
  ContentNames names;
  Net a(3);
  a.op("aten::relu", {Net::view(2)}, Net::view(1));
  EXPECT_NE(last(a, names, 1), last(a, names, 1));
}

TEST(Contents, PartOfABufferKeepsWhatWasThere) {
  ContentNames names;
  const TensorView row{1, DType::F32, 4, {4}, {1}}, input_row{0, DType::F32, 0, {4}, {1}};
  const auto made = [&](const std::string& before) {
    Net net(2);
    net.op(before, {Net::view(0)}, Net::view(1));
    net.op("aten::exp", {input_row}, row);
    return last(net, names, 1);
  };
  EXPECT_EQ(made("aten::relu"), made("aten::relu"));
  EXPECT_NE(made("aten::relu"), made("aten::neg"));
}

TEST(Contents, ProvedLemmasAreOneSymbol) {
  ContentNames names;
  Net a(3), b(3);
  a.op("aten::relu", {Net::view(0)}, Net::view(1));
  a.op("aten::neg", {Net::view(1)}, Net::view(2));
  b.op("aten::abs", {Net::view(0)}, Net::view(1));
  b.op("aten::neg", {Net::view(1)}, Net::view(2));
  EXPECT_NE(last(a, names, 2), last(b, names, 2));
  const std::vector<Cut> cuts{{{0, 0}, 1, 0, 16, 99}}, half{{{0, 0}, 1, 0, 8, 99}};
  EXPECT_EQ(last(a, names, 2, cuts), last(b, names, 2, cuts));
  EXPECT_NE(last(a, names, 2, half), last(b, names, 2, half));
}

TEST(Known, CopiesAndFillsOfTheHostAreKnown) {
  Net net(2);
  net.fill(1, 0, 64, 7);
  net.from_host(1, 8, {1, 2, 3, 4});
  const auto bytes = known_contents(net.program, 1, 2, {});
  ASSERT_TRUE(bytes);
  EXPECT_EQ((*bytes)[7], 7);
  EXPECT_EQ((*bytes)[8], 1);
  EXPECT_EQ((*bytes)[11], 4);
  EXPECT_EQ((*bytes)[12], 7);
  EXPECT_EQ((*known_contents(net.program, 1, 1, {}))[8], 7);  // before the copy
}

TEST(Known, WhatIsNotWrittenInFullIsNot) {
  Net net(2);
  net.from_host(1, 0, std::vector<uint8_t>(60, 1));
  EXPECT_FALSE(known_contents(net.program, 1, 1, {}));
  net.from_host(1, 60, std::vector<uint8_t>(4, 2));
  EXPECT_TRUE(known_contents(net.program, 1, 2, {}));
  EXPECT_FALSE(known_contents(net.program, 0, 2, {}));  // symbolic
}

TEST(Known, OperatorsAndLaunchesWriteWhatIsNot) {
  Net net(2);
  net.fill(1, 0, 64, 0);
  net.op("aten::relu", {Net::view(0)}, Net::view(1));
  EXPECT_FALSE(known_contents(net.program, 1, 2, {}));
  net.fill(1, 0, 64, 3);
  EXPECT_TRUE(known_contents(net.program, 1, 3, {}));
  program::Step step;
  program::LaunchStep launch;
  launch.module = 0;
  step.what = launch;
  net.program.steps.push_back(step);
  net.program.modules.emplace_back();
  EXPECT_TRUE(known_contents(net.program, 1, 4, {}));
  net.program.modules[0].symbols = {{"table", 1}};
  EXPECT_FALSE(known_contents(net.program, 1, 4, {}));  // a variable of the module
  EXPECT_TRUE(known_contents(net.program, 1, 4, {1}));  // in constant memory
  EXPECT_TRUE(written_before(net.program, 1, 4, {1}));  // by the host
}

}  // namespace
}  // namespace assay::check
