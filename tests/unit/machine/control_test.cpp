// Control, barriers, failures and undefined values, on small hand-written kernels.
#include <gtest/gtest.h>

#include "machine/flow.h"
#include "tests/unit/machine/machine_test_util.h"

namespace assay::machine::test {
namespace {

// kernel k(out: u64 pointer at param 0, in: u64 pointer at param 8), with the usual registers.
std::string kernel(const std::string& body, const std::string& before = "",
                   const std::string& decls = "") {
  return ".version 8.0\n.target sm_90\n.address_size 64\n" + before +
         "\n.visible .entry k(.param .u64 p0, .param .u64 p1) {\n"
         ".reg .pred %p<8>;\n.reg .b32 %r<24>;\n.reg .b64 %rd<12>;\n.reg .f32 %f<12>;\n" +
         decls +
         "ld.param.u64 %rd1, [p0];\nld.param.u64 %rd2, [p1];\nmov.u32 %r1, %tid.x;\n"
         "mul.wide.u32 %rd3, %r1, 4;\nadd.s64 %rd4, %rd1, %rd3;\nadd.s64 %rd5, %rd2, %rd3;\n" +
         body + "\nret;\n}\n";
}

struct Rig {
  ptx::Module module;
  std::vector<uint8_t> out = std::vector<uint8_t>(64 * 4, 0xcd), in = std::vector<uint8_t>(64 * 4);
  std::vector<BufferEnv> env;
  Launch launch;
  Kernel kernel;
  std::vector<Diag> diags;
  Diag error;

  bool load(const std::string& text, uint32_t threads, Ty type = Ty::F32) {
    auto m = ptx::parse(text, "test.ptx");
    EXPECT_TRUE(m) << (m ? "" : m.error().message);
    if (!m) return false;
    module = std::move(*m);
    env.resize(2);
    for (size_t i = 0; i < 2; ++i) {
      std::vector<uint8_t>& d = i ? in : out;
      env[i].address = (i + 1) << 33;
      env[i].bytes = d.size();
      env[i].data = d.data();
      env[i].type = type;
      env[i].content = i ? BufferEnv::Content::Symbolic : BufferEnv::Content::Poison;
    }
    LaunchConstants& l = launch.constants;
    l.block = {threads, 1, 1};
    l.num_buffers = 2;
    l.params.resize(16);
    std::memcpy(l.params.data(), &env[0].address, 8);
    std::memcpy(l.params.data() + 8, &env[1].address, 8);
    launch.step_limit = 3'000'000;
    auto k = decode(module, "k", l, &diags);
    if (!k) {
      error = k.error();
      return false;
    }
    kernel = std::move(*k);
    return true;
  }
  Result<RunStats> concrete(Observer* o = nullptr) {
    return run_concrete(kernel, launch, env, {}, o);
  }
  Result<Trace> trace() { return run_trace(kernel, launch, env, {}); }
  uint32_t word(size_t i) const {
    uint32_t v = 0;
    std::memcpy(&v, out.data() + 4 * i, 4);
    return v;
  }
  float number(size_t i) const { return __builtin_bit_cast(float, word(i)); }
  void set(size_t i, float v) { std::memcpy(in.data() + 4 * i, &v, 4); }
};

TEST(Control, LanesLoopTheirOwnNumberOfTimes) {
  Rig r;
  ASSERT_TRUE(r.load(kernel("mov.u32 %r2, 0;\nmov.u32 %r3, 0;\n"
                            "L: setp.ge.u32 %p1, %r3, %r1;\n@%p1 bra D;\n"
                            "add.u32 %r2, %r2, %r3;\nadd.u32 %r3, %r3, 1;\nbra L;\n"
                            "D: st.global.u32 [%rd4], %r2;\n"),
                     40));
  ASSERT_TRUE(r.concrete());
  for (uint32_t t = 0; t < 40; ++t) EXPECT_EQ(r.word(t), t * (t - 1) / 2) << t;
}

TEST(Control, NestedDivergenceMeetsAgain) {
  Rig r;
  ASSERT_TRUE(r.load(kernel("mov.u32 %r2, 1;\nand.b32 %r3, %r1, 1;\nsetp.eq.u32 %p1, %r3, 0;\n"
                            "@%p1 bra E;\nand.b32 %r4, %r1, 2;\nsetp.eq.u32 %p2, %r4, 0;\n"
                            "@%p2 bra F;\nadd.u32 %r2, %r2, 10;\nbra M;\nF: add.u32 %r2, %r2, 20;\n"
                            "M: add.u32 %r2, %r2, 100;\nbra D;\nE: mov.u32 %r2, 5;\n"
                            "D: activemask.b32 %r5;\nadd.u32 %r2, %r2, %r5;\n"
                            "st.global.u32 [%rd4], %r2;\n"),
                     32));
  ASSERT_TRUE(r.concrete());
  for (uint32_t t = 0; t < 32; ++t) {
    uint32_t want = t % 2 == 0 ? 5 : 101 + (t & 2 ? 10 : 20);
    EXPECT_EQ(r.word(t), want + 0xffffffffu) << t;  // all lanes are together at D
  }
}

TEST(Control, ExitedThreadsLeaveTheBarrier) {
  Rig r;
  ASSERT_TRUE(r.load(kernel("setp.gt.u32 %p1, %r1, 40;\n@%p1 bra X;\n"
                            "mov.u32 %r2, s;\nshl.b32 %r3, %r1, 2;\nadd.u32 %r2, %r2, %r3;\n"
                            "st.shared.u32 [%r2], %r1;\nbar.sync 0;\nld.shared.u32 %r4, [s+4];\n"
                            "st.global.u32 [%rd4], %r4;\nX:\n",
                            "", ".shared .align 4 .b8 s[256];\n"),
                     64));
  ASSERT_TRUE(r.concrete());
  EXPECT_EQ(r.word(40), 1u);
  EXPECT_EQ(r.word(41), 0xcdcdcdcdu);
}

TEST(Control, NamedBarrierCountsItsThreads) {
  // Warp 0 arrives, warp 1 waits for 64 threads and reads what warp 0 wrote before.
  Rig r;
  ASSERT_TRUE(r.load(kernel("setp.lt.u32 %p1, %r1, 32;\n@%p1 bra A;\nbar.sync 3, 64;\n"
                            "ld.shared.u32 %r4, [s];\nst.global.u32 [%rd4], %r4;\nbra X;\n"
                            "A: st.shared.u32 [s], 77;\nbar.arrive 3, 64;\nX:\n",
                            "", ".shared .align 4 .b8 s[4];\n"),
                     64));
  ASSERT_TRUE(r.concrete());
  EXPECT_EQ(r.word(32), 77u);
}

TEST(Control, BarrierReduction) {
  Rig r;
  ASSERT_TRUE(r.load(kernel("setp.lt.u32 %p1, %r1, 37;\nbarrier.red.popc.aligned.u32 %r2, 0, %p1;\n"
                            "barrier.red.and.aligned.pred %p2, 1, %p1;\n"
                            "barrier.red.or.aligned.pred %p3, 2, %p1;\n"
                            "selp.u32 %r3, 1000, 0, %p2;\nselp.u32 %r4, 100, 0, %p3;\n"
                            "add.u32 %r2, %r2, %r3;\nadd.u32 %r2, %r2, %r4;\n"
                            "st.global.u32 [%rd4], %r2;\n"),
                     64));
  ASSERT_TRUE(r.concrete());
  EXPECT_EQ(r.word(0), 137u);
  EXPECT_EQ(r.word(63), 137u);
}

TEST(Control, DeadlockAndStepLimitAreLimits) {
  Rig r;
  ASSERT_TRUE(r.load(kernel("setp.lt.u32 %p1, %r1, 32;\n@%p1 bar.sync 1, 96;\n"), 64));
  auto s = r.concrete();
  ASSERT_FALSE(s);
  EXPECT_EQ(s.error().kind, DiagKind::Limit);
  EXPECT_NE(s.error().message.find("barrier 1 has 32 threads"), std::string::npos)
      << s.error().message;
  Rig q;
  ASSERT_TRUE(q.load(kernel("L: bra L;\n"), 32));
  auto t = q.concrete();
  ASSERT_FALSE(t);
  EXPECT_EQ(t.error().kind, DiagKind::Limit);
}

TEST(Control, SpinningLanesLetOthersRun) {
  // Lane 0 waits for a flag that lane 1 of the same warp sets on the other side of a branch.
  for (const char* side : {"eq", "ne"}) {
    Rig r;
    bool waits_on_branch = side[0] == 'e';
    std::string wait =
        "W: ld.volatile.shared.u32 %r2, [s];\nsetp.eq.u32 %p2, %r2, 0;\n@%p2 bra W;\n";
    std::string set = "st.volatile.shared.u32 [s], 9;\n";
    std::string body = std::string("setp.") + side + ".u32 %p1, %r1, 0;\n@%p1 bra A;\n" +
                       (waits_on_branch ? set : wait) +
                       "bra D;\nA: " + (waits_on_branch ? wait : set) +
                       "D: ld.shared.u32 %r3, [s];\nst.global.u32 [%rd4], %r3;\n";
    ASSERT_TRUE(r.load(kernel(body, "", ".shared .align 4 .b8 s[4];\n"), 2));
    r.launch.step_limit = 200'000'000;
    ASSERT_TRUE(r.concrete()) << side;
    EXPECT_EQ(r.word(0), 9u);
  }
}

TEST(Nodes, HalvesStoredApartAreJoinedForAllLanesAtOnce) {
  Rig r;
  ASSERT_TRUE(r.load(kernel("ld.global.u16 %h1, [%rd5];\nld.global.u16 %h2, [%rd5+2];\n"
                            "mov.u32 %r2, s;\nshl.b32 %r3, %r1, 2;\nadd.u32 %r2, %r2, %r3;\n"
                            "st.shared.u16 [%r2], %h2;\nst.shared.u16 [%r2+2], %h1;\n"
                            "ld.shared.u32 %r4, [%r2];\nst.global.u32 [%rd4], %r4;\n",
                            "", ".shared .align 4 .b8 s[128];\n.reg .b16 %h<3>;\n"),
                     32, Ty::U16))
      << r.error.message;
  for (size_t i = 0; i < r.in.size(); ++i) r.in[i] = static_cast<uint8_t>(i * 7 + 1);
  auto t = r.trace();
  ASSERT_TRUE(t) << t.error().message;
  EXPECT_LT(t->nodes.size(), 24u);  // not a few for each lane
  Replayed after = replay(*t, r.env);
  ASSERT_TRUE(r.concrete());
  EXPECT_EQ(std::vector<uint8_t>(after.data[0].begin(), after.data[0].begin() + 128),
            std::vector<uint8_t>(r.out.begin(), r.out.begin() + 128));
}

TEST(Control, CarryChain) {
  Rig r;
  ASSERT_TRUE(r.load(kernel("mov.u32 %r2, 0xffffffff;\nadd.cc.u32 %r3, %r2, %r1;\n"
                            "addc.u32 %r4, %r1, 7;\nsub.cc.u32 %r5, %r1, 3;\nsubc.u32 %r6, 9, 0;\n"
                            "shl.b32 %r6, %r6, 8;\nadd.u32 %r4, %r4, %r6;\n"
                            "st.global.u32 [%rd4], %r4;\n"),
                     32));
  ASSERT_TRUE(r.concrete());
  for (uint32_t t = 0; t < 32; ++t) {
    EXPECT_EQ(r.word(t), t + 7 + (t ? 1 : 0) + ((9 - (t < 3 ? 1 : 0)) << 8)) << t;
  }
}

TEST(Failures, AllUnsupportedConstructsAreListed) {
  Rig r;
  EXPECT_FALSE(
      r.load(kernel("cp.async.commit_group;\ncp.async.wait_all;\nadd.u32 %r2, %r1, 1;\n"), 32));
  EXPECT_EQ(r.error.kind, DiagKind::Unsupported);
  EXPECT_EQ(r.diags.size(), 2u);
  EXPECT_NE(r.error.message.find("commit_group"), std::string::npos);
  EXPECT_NE(r.error.message.find("wait_all"), std::string::npos);
}

TEST(Failures, ShortParameterBlockAndUnknownEntryAreInvalid) {
  Rig r;
  ASSERT_TRUE(r.load(kernel(""), 32));
  LaunchConstants l = r.launch.constants;
  l.params.resize(8);
  auto k = decode(r.module, "k", l);
  ASSERT_FALSE(k);
  EXPECT_EQ(k.error().kind, DiagKind::Invalid);
  k = decode(r.module, "no_such_kernel", r.launch.constants);
  ASSERT_FALSE(k);
  EXPECT_EQ(k.error().kind, DiagKind::Invalid);
}

TEST(Failures, BarrierUnderSymbolicConditionIsUnsupported) {
  Rig r;
  ASSERT_TRUE(r.load(kernel("ld.global.f32 %f1, [%rd5];\nsetp.gt.f32 %p1, %f1, 0f00000000;\n"
                            "@%p1 bra B;\nbra X;\nB: bar.sync 0;\nX: st.global.f32 [%rd4], %f1;\n"),
                     32));
  auto t = r.trace();
  ASSERT_FALSE(t);
  EXPECT_EQ(t.error().kind, DiagKind::Unsupported);
  EXPECT_NE(t.error().message.find("barrier"), std::string::npos);
}

TEST(Failures, LoopWithoutConcreteEndIsUnsupported) {
  Rig r;
  ASSERT_TRUE(r.load(kernel("ld.global.f32 %f1, [%rd5];\n"
                            "L: mul.f32 %f1, %f1, 0f3F000000;\nsetp.gt.f32 %p1, %f1, 0f3F800000;\n"
                            "@%p1 bra L;\nst.global.f32 [%rd4], %f1;\n"),
                     32));
  auto t = r.trace();
  ASSERT_FALSE(t);
  EXPECT_EQ(t.error().kind, DiagKind::Unsupported);
  EXPECT_NE(t.error().message.find("loop"), std::string::npos);
}

bool undefined(const Trace& t, size_t store, UndefReason* reason) {
  const StoreOut& s = t.stores[store];
  const Node& n = t.nodes[s.node];
  *reason = static_cast<UndefReason>(n.b);
  return t.ops[n.op].kind == NodeKind::Undef;
}

TEST(Undefined, LanesThatStoreDifferentValuesToOnePlace) {
  Rig r;
  ASSERT_TRUE(r.load(kernel("ld.global.f32 %f1, [%rd5];\nst.global.f32 [%rd1], %f1;\n"), 4));
  auto t = r.trace();
  ASSERT_TRUE(t) << t.error().message;
  ASSERT_EQ(t->stores.size(), 1u);
  UndefReason why{};
  EXPECT_TRUE(undefined(*t, 0, &why));
  EXPECT_EQ(why, UndefReason::Conflict);
  ASSERT_FALSE(t->conflicts.empty());
  EXPECT_EQ(t->conflicts[0].buffer, 0);
  EXPECT_EQ(t->conflicts[0].byte, 0);
}

TEST(Undefined, LanesThatStoreTheSameValueAreNoConflict) {
  Rig r;
  ASSERT_TRUE(r.load(kernel("ld.global.f32 %f1, [%rd2];\nadd.f32 %f2, %f1, %f1;\n"
                            "mov.u32 %r2, 5;\nst.global.u32 [%rd1], %r2;\n"),
                     4));
  auto t = r.trace();
  ASSERT_TRUE(t);
  ASSERT_EQ(t->stores.size(), 1u);
  UndefReason why{};
  EXPECT_FALSE(undefined(*t, 0, &why));
  EXPECT_TRUE(t->conflicts.empty());
}

TEST(Undefined, ShuffleFromALaneThatTakesNoPart) {
  Rig r;
  ASSERT_TRUE(r.load(kernel("ld.global.f32 %f1, [%rd5];\nmov.b32 %r2, %f1;\n"
                            "setp.ge.u32 %p1, %r1, 16;\n@%p1 bra X;\n"
                            "shfl.sync.down.b32 %r3, %r2, 8, 31, -1;\n"
                            "st.global.b32 [%rd4], %r3;\nX:\n"),
                     32));
  auto t = r.trace();
  ASSERT_TRUE(t) << t.error().message;
  TraceValues v(*t, r.env);
  ASSERT_EQ(t->stores.size(), 1u);
  ASSERT_EQ(t->stores[0].count, 16u);
  for (uint32_t part = 0; part < 16; ++part) {
    const StoreOut s = t->store({0, part});
    EXPECT_EQ(v.undef(s.node, s.lane), s.element >= 8) << s.element;
  }
}

TEST(Undefined, MemoryThatNothingWrote) {
  Rig r;
  ASSERT_TRUE(r.load(kernel("ld.shared.f32 %f1, [s+4];\nst.global.f32 [%rd4], %f1;\n", "",
                            ".shared .align 4 .b8 s[64];\n"),
                     1));
  auto t = r.trace();
  ASSERT_TRUE(t);
  UndefReason why{};
  ASSERT_EQ(t->stores.size(), 1u);
  EXPECT_TRUE(undefined(*t, 0, &why));
  EXPECT_EQ(why, UndefReason::Uninitialised);
}

TEST(Undefined, OutOfBoundsIsAFault) {
  Rig r;
  ASSERT_TRUE(
      r.load(kernel("ld.global.f32 %f1, [%rd5+252];\nst.global.f32 [%rd4+252], %f1;\n"), 2));
  auto t = r.trace();
  ASSERT_TRUE(t);
  ASSERT_EQ(t->faults.size(), 2u);
  EXPECT_FALSE(t->faults[0].store);
  EXPECT_TRUE(t->faults[1].store);
  EXPECT_EQ(t->faults[1].lanes, 2u);
  auto c = r.concrete();
  ASSERT_TRUE(c);
  EXPECT_EQ(c->fault_count, 2u);
  EXPECT_EQ(c->faults[0].lane, 1u);
}

TEST(Nodes, CompareAndSelectBecomesMaximum) {
  Rig r;
  ASSERT_TRUE(r.load(kernel("ld.global.f32 %f1, [%rd5];\nld.global.f32 %f2, [%rd2];\n"
                            "setp.gt.f32 %p1, %f1, %f2;\nselp.f32 %f3, %f1, %f2, %p1;\n"
                            "st.global.f32 [%rd4], %f3;\n"),
                     32));
  auto t = r.trace();
  ASSERT_TRUE(t);
  const Op& op = t->ops[t->nodes[t->stores[0].node].op];
  EXPECT_EQ(op.kind, NodeKind::Apply);
  EXPECT_EQ(op.fn, Fn::Max);
  EXPECT_EQ(op.mods.imm, 1);
}

// Domains know integers without a width: only minimum and maximum say where a result saturates.
TEST(Nodes, IntegerSaturationIsAClamp) {
  for (const char* body :
       {"add.sat.s32 %r3, %r1, %r2;", "sub.sat.s32 %r3, %r1, %r2;", "cvt.sat.s8.s32 %r3, %r1;"}) {
    Rig r;
    ASSERT_TRUE(r.load(kernel("ld.global.s32 %r1, [%rd5];\nld.global.s32 %r2, [%rd2];\n" +
                              std::string(body) + "\nst.global.s32 [%rd4], %r3;\n"),
                       32, Ty::S32))
        << body;
    auto t = r.trace();
    ASSERT_TRUE(t) << body << t.error().message;
    int lower = 0, upper = 0;
    for (const Node& n : t->nodes) {
      const Op& op = t->ops[n.op];
      if (op.kind != NodeKind::Apply) continue;
      EXPECT_FALSE(op.mods.sat) << body;
      upper += op.fn == Fn::IMin;
      lower += op.fn == Fn::IMax;
    }
    EXPECT_EQ(lower, 1) << body;
    EXPECT_EQ(upper, 1) << body;
  }
}

TEST(Nodes, MathCallsKeepTheirName) {
  Rig r;
  std::string decl = ".extern .func (.param .b32 func_retval0) assay_expf (.param .b32 a0);\n";
  ASSERT_TRUE(r.load(
      kernel("ld.global.f32 %f1, [%rd5];\n{\n.param .b32 param0;\nst.param.b32 [param0], %f1;\n"
             ".param .b32 retval0;\ncall.uni (retval0), assay_expf, (param0);\n"
             "ld.param.b32 %f2, [retval0];\n}\nst.global.f32 [%rd4], %f2;\n",
             decl),
      32))
      << r.error.message;
  auto t = r.trace();
  ASSERT_TRUE(t) << t.error().message;
  const Node& n = t->nodes[t->stores[0].node];
  EXPECT_EQ(t->ops[n.op].fn, Fn::Exp);
  EXPECT_EQ(t->ops[t->nodes[n.a].op].kind, NodeKind::Input);
  r.set(3, 1.5f);
  ASSERT_TRUE(r.concrete());
  EXPECT_NEAR(r.number(3), 4.4816890f, 1e-6f);
}

// A function without a body computes what the launch says.
TEST(Decode, FunctionsWithoutBody) {
  const std::string decl = ".extern .func (.param .b32 func_retval0) my_exp (.param .b32 a0);\n";
  const std::string text = kernel(
      "ld.global.f32 %f1, [%rd5];\n{\n.param .b32 param0;\nst.param.b32 [param0], %f1;\n"
      ".param .b32 retval0;\ncall.uni (retval0), my_exp, (param0);\n"
      "ld.param.b32 %f2, [retval0];\n}\nst.global.f32 [%rd4], %f2;\n",
      decl);
  auto load = [&](Rig& r, const char* meaning) {
    if (meaning != nullptr) r.launch.constants.functions = {{"other", "sinf"}, {"my_exp", meaning}};
    return r.load(text, 32);
  };
  Rig unnamed, unknown, wide, two, good;
  EXPECT_FALSE(load(unnamed, nullptr));
  EXPECT_EQ(unnamed.error.kind, DiagKind::Unsupported);
  EXPECT_FALSE(load(unknown, "expo"));
  EXPECT_EQ(unknown.error.kind, DiagKind::Invalid);
  EXPECT_FALSE(load(wide, "exp"));  // of doubles
  EXPECT_EQ(wide.error.kind, DiagKind::Invalid);
  EXPECT_FALSE(load(two, "powf"));
  EXPECT_EQ(two.error.kind, DiagKind::Invalid);
  ASSERT_TRUE(load(good, "expf")) << good.error.message;
  auto t = good.trace();
  ASSERT_TRUE(t) << t.error().message;
  EXPECT_EQ(t->ops[t->nodes[t->stores[0].node].op].fn, Fn::Exp);
  good.set(3, 1.5f);
  ASSERT_TRUE(good.concrete());
  EXPECT_NEAR(good.number(3), 4.4816890f, 1e-6f);
}

// One lane's loads are affine too, and loads of one element are one node, within a CTA.
TEST(Nodes, LoadsOfOneElementAreOneNode) {
  const std::string body =
      "mov.u32 %r2, 0;\nL: ld.global.f32 %f1, [%rd2+8];\nadd.f32 %f2, %f2, %f1;\n"
      "add.u32 %r2, %r2, 1;\nsetp.lt.u32 %p1, %r2, 3;\n@%p1 bra L;\n"
      "st.global.f32 [%rd4], %f2;\n";
  Rig r;
  ASSERT_TRUE(r.load(kernel("mov.f32 %f2, 0f00000000;\n" + body), 1));
  auto t = r.trace();
  ASSERT_TRUE(t) << t.error().message;
  ASSERT_EQ(t->inputs.size(), 1u);
  EXPECT_TRUE(t->inputs[0].elements.empty());
  EXPECT_EQ(t->inputs[0].first, 2);
  EXPECT_EQ(t->inputs[0].stride, 0);
  r.launch.constants.grid = {2, 1, 1};
  t = r.trace();
  ASSERT_TRUE(t) << t.error().message;
  EXPECT_EQ(t->inputs.size(), 2u);
}

// Active lanes 8..15 read neighbours: affine, whatever the others would read.
TEST(Nodes, PartialMasksAreAffine) {
  Rig r;
  ASSERT_TRUE(r.load(kernel("setp.lt.u32 %p1, %r1, 8;\n@%p1 bra X;\nsetp.gt.u32 %p2, %r1, 15;\n"
                            "@%p2 bra X;\nld.global.f32 %f1, [%rd5];\n"
                            "st.global.f32 [%rd4], %f1;\nX:\n"),
                     32));
  auto t = r.trace();
  ASSERT_TRUE(t) << t.error().message;
  ASSERT_EQ(t->inputs.size(), 1u);
  EXPECT_TRUE(t->inputs[0].elements.empty());
  EXPECT_EQ(t->inputs[0].first, 0);
  EXPECT_EQ(t->inputs[0].stride, 1);
  ASSERT_EQ(t->stores.size(), 1u);
  EXPECT_EQ(t->stores[0].count, 8u);
}

// Words of one node in another order are a permutation; out of bounds, misaligned or of several
// nodes they go the long way.
TEST(Nodes, SharedWordsInAnotherOrder) {
  const std::string fill =
      "mov.u32 %r9, s;\nshl.b32 %r2, %r1, 2;\nadd.s32 %r3, %r9, %r2;\n"
      "ld.global.f32 %f1, [%rd5];\nst.shared.f32 [%r3], %f1;\n";
  const std::string out = "ld.shared.f32 %f2, [%r5];\nst.global.f32 [%rd4], %f2;\n";
  const std::string shared = ".shared .align 4 .b8 s[126];\n";
  auto from = [](const Trace& t, uint32_t part) {
    const StoreOut s = t.store({0, part});
    const Node& n = t.nodes[s.node];
    EXPECT_EQ(t.ops[n.op].kind, NodeKind::Perm);
    return t.perms[n.b][s.lane];
  };
  {
    Rig r;  // lane l reads word 5 l modulo 32, and the last word is whole
    ASSERT_TRUE(r.load(kernel(fill +
                                  "mul.lo.u32 %r4, %r2, 5;\nand.b32 %r4, %r4, 127;\n"
                                  "add.s32 %r5, %r9, %r4;\n" +
                                  out,
                              "", ".shared .align 4 .b8 s[128];\n"),
                       32));
    auto t = r.trace();
    ASSERT_TRUE(t) << t.error().message;
    ASSERT_EQ(t->stores.size(), 1u);
    EXPECT_TRUE(t->faults.empty());
    for (uint32_t l = 0; l < 32; ++l) EXPECT_EQ(from(*t, l), l * 5 % 32);
  }
  {
    Rig r;  // the last word lies half outside
    ASSERT_TRUE(r.load(
        kernel(fill + "xor.b32 %r4, %r2, 4;\nadd.s32 %r5, %r9, %r4;\n" + out, "", shared), 32));
    auto t = r.trace();
    ASSERT_TRUE(t) << t.error().message;
    ASSERT_EQ(t->faults.size(), 2u);  // the store of lane 31, the load of lane 30
    EXPECT_EQ(t->faults[0].lanes, 1u << 31);
    EXPECT_EQ(t->faults[1].lanes, 1u << 30);
  }
  {
    Rig r;  // lane 3 reads a byte further
    ASSERT_TRUE(r.load(kernel(fill +
                                  "xor.b32 %r4, %r2, 8;\nadd.s32 %r5, %r9, %r4;\n"
                                  "setp.eq.u32 %p1, %r1, 3;\n@%p1 add.s32 %r5, %r5, 1;\n" +
                                  out,
                              "", ".shared .align 4 .b8 s[128];\n"),
                       32));
    auto t = r.trace();
    ASSERT_TRUE(t) << t.error().message;
    ASSERT_EQ(t->faults.size(), 1u);
    EXPECT_TRUE(t->faults[0].misaligned);
    EXPECT_EQ(t->faults[0].lanes, 8u);
  }
  {
    Rig r;  // every other word holds another value
    ASSERT_TRUE(r.load(kernel(fill +
                                  "add.f32 %f3, %f1, %f1;\nand.b32 %r6, %r1, 1;\n"
                                  "setp.eq.u32 %p1, %r6, 1;\n@%p1 st.shared.f32 [%r3], %f3;\n"
                                  "xor.b32 %r4, %r2, 8;\nadd.s32 %r5, %r9, %r4;\n" +
                                  out,
                              "", ".shared .align 4 .b8 s[128];\n"),
                       32));
    auto t = r.trace();
    ASSERT_TRUE(t) << t.error().message;
    const StoreOut a = t->store({0, 0});
    const Node& n = t->nodes[a.node];
    EXPECT_EQ(t->ops[n.op].kind, NodeKind::Blend);
  }
}

// Elements of vectors lie apart; an entry holds those of one node.
TEST(Nodes, StoresOfVectorsAreOneEntryANode) {
  Rig r;
  ASSERT_TRUE(r.load(kernel("ld.global.f32 %f1, [%rd5];\nadd.f32 %f2, %f1, %f1;\n"
                            "shl.b32 %r2, %r1, 3;\nmul.wide.u32 %rd3, %r2, 1;\n"
                            "add.s64 %rd4, %rd1, %rd3;\nst.global.v2.f32 [%rd4], {%f1, %f2};\n"),
                     32));
  auto t = r.trace();
  ASSERT_TRUE(t) << t.error().message;
  ASSERT_EQ(t->stores.size(), 2u);
  for (uint32_t k = 0; k < 2; ++k) {
    EXPECT_EQ(t->stores[k].count, 32u);
    EXPECT_EQ(t->stores[k].last(), 62 + k);
    const StoreOut s = t->store({k, 5});
    EXPECT_EQ(s.element, 10 + k);
    EXPECT_EQ(s.lane, 5u);
    EXPECT_EQ(s.count, 1u);
  }
  EXPECT_NE(t->stores[0].node, t->stores[1].node);
}

TEST(Nodes, SymbolicParameterIsAnInput) {
  std::string text =
      ".version 8.0\n.target sm_90\n.address_size 64\n"
      ".visible .entry k(.param .u64 p0, .param .u64 p1, .param .f32 s) {\n.reg .f32 %f<4>;\n"
      ".reg .b64 %rd<4>;\nld.param.u64 %rd1, [p0];\nld.param.f32 %f1, [s];\n"
      "add.f32 %f2, %f1, %f1;\nst.global.f32 [%rd1], %f2;\nret;\n}\n";
  Rig r;
  auto m = ptx::parse(text, "t.ptx");
  ASSERT_TRUE(m);
  r.load(kernel(""), 1);
  LaunchConstants l = r.launch.constants;
  l.params.resize(20);
  l.symbolic.push_back({16, 4, 1, 9});  // stands for element 9 of buffer 1
  auto k = decode(*m, "k", l);
  ASSERT_TRUE(k) << k.error().message;
  auto t = run_trace(*k, r.launch, r.env, {});
  ASSERT_TRUE(t) << t.error().message;
  const Node& add = t->nodes[t->stores[0].node];
  const Node& in = t->nodes[add.a];
  ASSERT_EQ(t->ops[in.op].kind, NodeKind::Input);
  EXPECT_EQ(t->inputs[in.a].buffer, 1);
  EXPECT_EQ(t->inputs[in.a].first, 9);
  EXPECT_EQ(t->inputs[in.a].stride, 0);
}

TEST(Atomics, TicketsAreConcreteAcrossCtas) {
  // The CTA that draws the last ticket writes; ticket = old value of a zeroed counter.
  Rig r;
  ASSERT_TRUE(r.load(kernel("atom.global.add.u32 %r2, [%rd2], 1;\nsetp.ne.u32 %p1, %r2, 2;\n"
                            "@%p1 bra X;\nst.global.u32 [%rd4], %r2;\nX:\n"),
                     1, Ty::U32));
  r.env[1].content = BufferEnv::Content::Bytes;
  r.launch.constants.grid = {3, 1, 1};
  auto t = r.trace();
  ASSERT_TRUE(t) << t.error().message;
  ASSERT_EQ(t->ctas.size(), 3u);
  int writes = 0;
  for (const StoreOut& s : t->stores) writes += s.buffer == 0;
  EXPECT_EQ(writes, 1);
}

// Accesses that may happen: pc, kind, first address (0: unknown), lanes.
struct MayAccess : Observer {
  std::vector<std::array<uint64_t, 3>> seen;
  void unknown_access(const WarpAccess& a, bool conditional) override {
    EXPECT_TRUE(conditional || a.addr == nullptr);
    const auto lane = static_cast<size_t>(std::countr_zero(a.mask));
    seen.push_back({static_cast<uint64_t>(a.kind), a.addr == nullptr ? 0 : a.addr[lane], a.mask});
  }
};

TEST(Skeleton, WalksWhatABranchOnDataMayAccess) {
  // if (x > 0) { s[t + 1] = x; } else { if (x < -1) out[t] = 5 * x at an address from x; }
  Rig r;
  ASSERT_TRUE(r.load(
      kernel("ld.global.f32 %f1, [%rd5];\nshl.b32 %r2, %r1, 2;\nsetp.gt.f32 %p1, %f1, 0f00000000;\n"
             "@%p1 bra A;\nsetp.lt.f32 %p2, %f1, 0fBF800000;\n@!%p2 bra M;\n"
             "cvt.rzi.s32.f32 %r3, %f1;\nmul.wide.s32 %rd6, %r3, 4;\nadd.s64 %rd7, %rd1, %rd6;\n"
             "st.global.f32 [%rd7], %f1;\nst.global.f32 [%rd4], %f1;\nbra M;\n"
             "A: add.u32 %r4, %r2, 4;\nst.shared.f32 [%r4], %f1;\n"
             "M: bar.sync 0;\nld.shared.f32 %f2, [%r2];\nst.global.f32 [%rd4], %f2;\n",
             "", ".shared .align 4 .b8 s[256];\n"),
      32));
  MayAccess seen;
  ASSERT_TRUE(run_skeleton(slice(r.kernel, {}), r.launch, r.env, {}, seen));
  const auto write = static_cast<uint64_t>(AccessKind::Write);
  const std::vector<std::array<uint64_t, 3>> want = {
      {write, 0, ~0u}, {write, r.env[0].address, ~0u}, {write, 4, ~0u}};
  std::sort(seen.seen.begin(), seen.seen.end());
  EXPECT_EQ(seen.seen, (std::vector<std::array<uint64_t, 3>>{want[0], want[2], want[1]}));
}

TEST(Skeleton, AValueOfOneArmIsUnknownInTheOther) {
  // r2 = 8; if (x > 0) r2 = 16; else s[r2] = x; and after it s[r2] = x.
  Rig r;
  ASSERT_TRUE(r.load(
      kernel("ld.global.f32 %f1, [%rd5];\nmov.u32 %r2, 8;\nsetp.gt.f32 %p1, %f1, 0f00000000;\n"
             "@!%p1 bra E;\nmov.u32 %r2, 16;\nst.shared.f32 [%r2+4], %f1;\nbra M;\n"
             "E: st.shared.f32 [%r2], %f1;\nM: st.shared.f32 [%r2], %f1;\n",
             "", ".shared .align 4 .b8 s[256];\n"),
      32));
  MayAccess seen;
  ASSERT_TRUE(run_skeleton(slice(r.kernel, {}), r.launch, r.env, {}, seen));
  ASSERT_EQ(seen.seen.size(), 3u);
  for (const auto& a : seen.seen)
    EXPECT_TRUE(a[1] == 0 || a[1] == 20) << a[1];  // 8 is not sure where 16 was written before
}

struct EndlessSeen : Observer {
  int count = 0;
  void endless(uint32_t, uint32_t, uint32_t) override { ++count; }
};

// Times that the skeleton of a body finds a loop that never ends; -1: another error.
int endless_loops(const std::string& body, bool everything) {
  Rig r;
  if (!r.load(kernel(body, "", ".shared .align 4 .b8 s[256];\n"), 64)) return -1;
  SliceOptions options;
  options.global_loads = options.shared = options.sync = everything;
  options.loops = true;
  EndlessSeen seen;
  auto stats = run_skeleton(slice(r.kernel, options), r.launch, r.env, {}, seen);
  if (!stats && stats.error().message.find("never ends") == std::string::npos) return -1;
  EXPECT_EQ(static_cast<bool>(stats), seen.count == 0);
  return seen.count;
}

TEST(Endless, LoopsThatRepeatAState) {
  const std::string store = "st.global.u32 [%rd4], %r1;\n";
  const std::vector<std::pair<std::string, int>> bodies = {
      // A bound that stays out of reach, with and without a barrier in the loop.
      {"mov.u32 %r2, 1;\nL: setp.lt.u32 %p1, %r2, 5;\n@%p1 bra L;\n", 1},
      {"mov.u32 %r2, 1;\nL: bar.sync 0;\nsetp.lt.u32 %p1, %r2, 5;\n@%p1 bra L;\n", 1},
      // Only warp 1 turns for ever.
      {"L: setp.gt.u32 %p1, %r1, 31;\n@%p1 bra L;\n", 1},
      // A period of two turns.
      {"mov.u32 %r2, 1;\nL: xor.b32 %r2, %r2, 3;\nsetp.lt.u32 %p1, %r2, 5;\n@%p1 bra L;\n", 1},
      // 0 halved is 0.
      {"mov.u32 %r2, 64;\nL: shr.u32 %r2, %r2, 1;\nsetp.ge.u32 %p1, %r2, 0;\n@%p1 bra L;\n", 1},
      // No way out, with a branch on data and a barrier inside.
      {"ld.global.f32 %f1, [%rd5];\nsetp.ne.u32 %p1, %r1, 99;\n@!%p1 bra X;\n"
       "L: setp.gt.f32 %p2, %f1, 0f00000000;\n@%p2 bra M;\nst.shared.f32 [s], %f1;\n"
       "M: bar.sync 0;\nbra L;\nX:\n",
       1},
      // Loops that end: by counting, by halving, after many turns, by what memory holds.
      {"mov.u32 %r2, 0;\nL: add.u32 %r2, %r2, 1;\nsetp.lt.u32 %p1, %r2, 9000;\n@%p1 bra L;\n", 0},
      {"mov.u32 %r2, 64;\nL: shr.u32 %r2, %r2, 1;\nsetp.gt.u32 %p1, %r2, 0;\n@%p1 bra L;\n", 0},
      {"mov.u32 %r2, 0;\nL: add.u32 %r2, %r2, %r1;\nadd.u32 %r2, %r2, 1;\n"
       "setp.lt.u32 %p1, %r2, 20000;\n@%p1 bra L;\n",
       0},
      {"L: ld.volatile.global.u32 %r2, [%rd5];\nsetp.eq.u32 %p1, %r2, 0;\n@%p1 bra L;\n", 0},
  };
  for (const auto& [body, want] : bodies)
    for (bool everything : {false, true})
      EXPECT_EQ(endless_loops(body + store, everything), want) << body << everything;
}

TEST(Endless, BranchesInALoopWithoutExitMeetAgain) {
  // Even lanes and odd ones go apart and are together at the barrier in every turn.
  Rig r;
  ASSERT_TRUE(r.load(kernel("mov.u32 %r3, 0;\nL: and.b32 %r2, %r1, 1;\nsetp.eq.u32 %p1, %r2, 0;\n"
                            "@%p1 bra M;\nadd.u32 %r3, %r3, 1;\nM: activemask.b32 %r4;\n"
                            "st.global.u32 [%rd4], %r4;\nbar.sync 0;\nbra L;\n"),
                     32));
  r.launch.step_limit = 1000;
  EXPECT_FALSE(r.concrete());
  for (size_t t = 0; t < 32; ++t) EXPECT_EQ(r.word(t), ~0u) << t;
}

TEST(Trace, LanesThatStoreTheSameComputationDoNotConflict) {
  // Lanes t and t ^ 1 store to out[t / 2]: relu of in[t / 2], loaded twice, is one value; of in[t]
  // it is two.
  const auto conflicts = [](const char* element) {
    Rig r;
    EXPECT_TRUE(r.load(kernel(std::string("shr.u32 %r2, %r1, 1;\nmul.wide.u32 %rd6, %r2, 4;\n"
                                          "add.s64 %rd7, %rd1, %rd6;\nmul.wide.u32 %rd6, ") +
                              element +
                              ", 4;\nadd.s64 %rd8, %rd2, %rd6;\nand.b32 %r3, %r1, 1;\n"
                              "setp.eq.u32 %p1, %r3, 0;\n@%p1 bra E;\n"
                              "ld.global.f32 %f1, [%rd8];\nmax.f32 %f2, %f1, 0f00000000;\nbra M;\n"
                              "E: ld.global.f32 %f3, [%rd8];\nmax.f32 %f2, %f3, 0f00000000;\n"
                              "M: st.global.f32 [%rd7], %f2;\n"),
                       32));
    auto t = r.trace();
    EXPECT_TRUE(t);
    return t ? t->conflicts.size() : 99;
  };
  EXPECT_EQ(conflicts("%r2"), 0u);
  EXPECT_EQ(conflicts("%r1"), 16u);
}

}  // namespace
}  // namespace assay::machine::test
