// Loads of a warp's only lane are traced another way than those of several: the formulas are alike.
#include <gtest/gtest.h>

#include "machine/trace_builder.h"
#include "tests/unit/machine/machine_test_util.h"

namespace assay::machine::test {
namespace {

// Thread t works on 64 bytes of each buffer, from 64 t on. p0, p1, p2 hold floats, p3 doubles.
const char* const kText =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry k(.param .u64 p0, .param .u64 p1, .param .u64 p2, .param .u64 p3) {\n"
    ".reg .pred %p<2>;\n.reg .b16 %h<4>;\n.reg .b32 %r<8>;\n.reg .b64 %rd<12>;\n"
    ".reg .f32 %f<24>;\n.reg .f64 %d<8>;\n"
    "ld.param.u64 %rd1, [p0];\nld.param.u64 %rd2, [p1];\nld.param.u64 %rd3, [p2];\n"
    "ld.param.u64 %rd4, [p3];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd5, %r1, 64;\n"
    "add.s64 %rd1, %rd1, %rd5;\nadd.s64 %rd2, %rd2, %rd5;\nadd.s64 %rd3, %rd3, %rd5;\n"
    "add.s64 %rd4, %rd4, %rd5;\n"
    // Three buffers in turn; what was stored is read again, alone and as half of a vector.
    "ld.global.f32 %f1, [%rd1];\nld.global.f32 %f2, [%rd2+4];\nld.global.f32 %f3, [%rd3+8];\n"
    "fma.rn.f32 %f4, %f1, %f2, %f3;\nst.global.f32 [%rd1+4], %f4;\n"
    "ld.global.f32 %f5, [%rd1+4];\nld.global.v2.f32 {%f6, %f7}, [%rd1];\n"
    "ld.global.v4.f32 {%f8, %f9, %f10, %f11}, [%rd1+16];\nld.global.f32 %f12, [%rd1+4];\n"
    "add.f32 %f13, %f5, %f6;\nmul.f32 %f13, %f13, %f7;\nsub.f32 %f14, %f9, %f11;\n"
    "fma.rn.f32 %f14, %f8, %f10, %f14;\n"
    // Doubles; floats as bits, as half of a double, in pieces; under a predicate.
    "ld.global.f64 %d1, [%rd4+8];\nld.global.v2.f64 {%d2, %d3}, [%rd4+16];\n"
    "fma.rn.f64 %d4, %d1, %d2, %d3;\nld.global.u32 %r2, [%rd2];\nmov.b32 %f15, %r2;\n"
    "ld.global.u32 %r3, [%rd4+12];\nld.global.u16 %h1, [%rd2+10];\ncvt.u32.u16 %r4, %h1;\n"
    "shl.b32 %r4, %r4, 16;\nmov.b32 %f16, %r4;\nsetp.eq.u32 %p1, %r1, 0;\n"
    "mov.f32 %f17, 0f3f800000;\n@%p1 ld.global.f32 %f17, [%rd2+12];\nmul.f32 %f17, %f17, %f15;\n"
    "st.global.v2.f32 [%rd3+32], {%f13, %f14};\nst.global.f32 [%rd3+40], %f17;\n"
    "st.global.f32 [%rd3+44], %f12;\nst.global.f64 [%rd4+32], %d4;\nst.global.u32 [%rd3+48], %r3;\n"
    "st.global.f32 [%rd3+52], %f16;\nret;\n}\n";

class Rig {
 public:
  Rig(uint32_t threads, const std::string& text) {
    auto module = ptx::parse(text, "test.ptx");
    EXPECT_TRUE(module) << (module ? "" : module.error().message);
    LaunchConstants& l = launch_.constants;
    l.block = {threads, 1, 1};
    l.num_buffers = 4;
    l.params.resize(32);
    for (size_t i = 0; i < 4; ++i) {
      const Ty type = i == 3 ? Ty::F64 : Ty::F32;
      fill(data[i], {type, 128 / bytes(type)}, static_cast<uint32_t>(7 + i));
      env[i].address = (i + 1) << 33;
      env[i].bytes = 128;
      env[i].type = type;
      env[i].data = data[i].data();
      std::memcpy(l.params.data() + 8 * i, &env[i].address, 8);
    }
    if (!module) return;
    auto k = decode(*module, "k", l);
    EXPECT_TRUE(k) << (k ? "" : k.error().message);
    if (k) kernel_ = std::move(*k);
  }
  Trace trace() {
    auto t = run_trace(kernel_, launch_, env, {});
    EXPECT_TRUE(t) << (t ? "" : t.error().message);
    return t ? std::move(*t) : Trace{};
  }
  uint64_t run() {
    auto stats = run_concrete(kernel_, launch_, env, {});
    EXPECT_TRUE(stats) << (stats ? "" : stats.error().message);
    return stats ? stats->fault_count : 0;
  }
  std::vector<BufferEnv> env = std::vector<BufferEnv>(4);
  std::array<std::vector<uint8_t>, 4> data;

 private:
  Launch launch_;
  Kernel kernel_;
};

std::string with(const std::string& op) {
  std::string text = kText;
  return text.replace(text.rfind("ret;"), 4, op + "\nret;");
}

TEST(LaneTrace, OneLaneAndTwoLeaveWhatTheRunLeaves) {
  for (const uint32_t threads : {1u, 2u}) {
    Rig rig(threads, kText);
    const Trace t = rig.trace();
    EXPECT_TRUE(t.faults.empty());
    const Replayed made = replay(t, rig.env);
    EXPECT_EQ(rig.run(), 0u);
    for (size_t b = 0; b < 4; ++b) EXPECT_EQ(made.data[b], rig.data[b]) << threads << " " << b;
    for (const auto& undef : made.undef) EXPECT_EQ(std::count(undef.begin(), undef.end(), true), 0);
  }
}

// An element that is loaded again is the node it was; one that was stored is no input.
TEST(LaneTrace, OneNodeAnElement) {
  const Trace t =
      Rig(1, with("ld.global.f32 %f18, [%rd1+20];\nst.global.f32 [%rd3+56], %f18;")).trace();
  std::map<std::pair<int, int64_t>, int> seen;
  for (const InputPayload& in : t.inputs) ++seen[{in.buffer, in.first}];
  for (const auto& [element, count] : seen)
    EXPECT_EQ(count, 1) << element.first << " " << element.second;
  EXPECT_EQ(seen.count({0, 1}), 0u);
  EXPECT_EQ(seen.count({0, 5}), 1u);
}

TEST(LaneTrace, OneLaneFaults) {
  const auto first = [](const std::string& op) {
    const Trace t = Rig(1, with(op + "\nst.global.f32 [%rd3+56], %f18;")).trace();
    EXPECT_EQ(t.faults.size(), 1u) << op;
    const auto last = std::find_if(t.stores.begin(), t.stores.end(), [](const StoreOut& s) {
      return s.buffer == 2 && s.element <= 14 && s.last() >= 14;
    });
    EXPECT_NE(last, t.stores.end());
    if (last != t.stores.end()) {
      EXPECT_EQ(t.ops[t.nodes[last->node].op].kind, NodeKind::Undef) << op;
    }
    return t.faults.empty() ? AccessFault{} : t.faults[0];
  };
  EXPECT_FALSE(first("ld.global.f32 %f18, [%rd2+128];").misaligned);
  EXPECT_FALSE(first("ld.global.f32 %f18, [%rd2+-4];").misaligned);
  EXPECT_FALSE(first("ld.global.v4.f32 {%f18, %f19, %f20, %f21}, [%rd2+124];").bytes != 16);
  EXPECT_TRUE(first("ld.global.f32 %f18, [%rd2+2];").misaligned);
  EXPECT_TRUE(first("ld.global.v2.f32 {%f18, %f19}, [%rd2+4];").misaligned);
}

// Each element of each stream is one node: in pages side by side, apart, and more than are kept.
TEST(LaneTrace, InputsOfManyStreams) {
  TraceBuilder b;
  std::map<NodeId, std::tuple<int, int64_t, int64_t>> what;
  const auto ask = [&](int buffer, int64_t stride, int64_t first) {
    InputPayload p;
    p.buffer = buffer;
    p.first = first;
    p.stride = stride;
    const NodeId n = b.input(p);
    const auto asked = std::make_tuple(buffer, stride, first);
    const InputPayload& made = b.trace.inputs[b.trace.nodes[n].a];
    EXPECT_EQ(std::make_tuple(made.buffer, made.stride, made.first), asked);
    EXPECT_EQ(what.try_emplace(n, asked).first->second, asked);
  };
  for (int again = 0; again < 2; ++again)
    for (int buffer = 0; buffer < 3; ++buffer)
      for (const int64_t stride : {0, 1, 16, 32})
        for (int64_t first = -70; first < 3000; ++first) ask(buffer, stride, first);
  EXPECT_EQ(what.size(), 3u * 4 * 3070);
  for (int again = 0; again < 2; ++again)
    for (int64_t k = 0; k < 40000; ++k) ask(3, 0, 64 * k + k % 64);
  EXPECT_GE(what.size(), 3u * 4 * 3070 + 40000);
  InputPayload in;
  in.buffer = 1;
  const NodeId n = b.input(in);
  EXPECT_EQ(b.input(in), n);
  in.version = 1;
  EXPECT_NE(b.input(in), n);
  in.version = 0;
  b.forget_inputs();
  EXPECT_NE(b.input(in), n);
}

}  // namespace
}  // namespace assay::machine::test
