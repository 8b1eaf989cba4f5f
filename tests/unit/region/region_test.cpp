#include <gtest/gtest.h>

#include "region/build.h"
#include "region/markers.h"
#include "region/ptx_code.h"
#include "region/roles.h"
#include "region/sass.h"
#include "region/source.h"
#include "region/waits.h"

namespace assay::region {
namespace {

TEST(Sass, ClassesAndWidths) {
  EXPECT_EQ(sass_class("LDG.E.128.CONSTANT"), Class::GlobalLoad);
  EXPECT_EQ(sass_class("HGMMA.64x64x16.F32"), Class::Tensor);
  EXPECT_EQ(sass_class("UTMALDG.2D"), Class::Tma);
  EXPECT_EQ(sass_class("NOSUCH.X"), Class::Other);
  EXPECT_EQ(access_bytes("LDG.E.128.CONSTANT"), 16u);
  EXPECT_EQ(access_bytes("STS.64"), 8u);
  EXPECT_EQ(access_bytes("LDG.E.U8"), 1u);
  EXPECT_EQ(access_bytes("LDS.U16"), 2u);
  EXPECT_EQ(access_bytes("LDG.E"), 4u);
  EXPECT_EQ(access_bytes("FADD"), 0u);
  EXPECT_EQ(access_bytes("LDG.E.1280"), 4u);  // only whole words count
}

std::vector<Sass> code_with(size_t n, std::vector<std::pair<size_t, size_t>> branches) {
  std::vector<Sass> code(n);
  for (Sass& s : code) s.opcode = "FADD";
  for (auto [from, to] : branches) {
    code[from].opcode = "BRA";
    code[from].target = static_cast<int64_t>(to * kSassBytes);
  }
  return code;
}

TEST(Sass, LoopsAreRangesOfBackwardBranches) {
  // 2..7 around 3..5; the forward branch at 1 is none; two branches to 2 are one loop.
  const auto code = code_with(10, {{1, 9}, {5, 3}, {6, 2}, {7, 2}});
  const auto loops = code_loops(code);
  ASSERT_EQ(loops.size(), 2u);
  EXPECT_EQ(loops[0].first, 2u);
  EXPECT_EQ(loops[0].last, 7u);
  EXPECT_EQ(loops[1].parent, 0);
  EXPECT_EQ(loop_depths(code), (std::vector<uint32_t>{0, 0, 1, 2, 2, 2, 1, 1, 0, 0}));
}

TEST(Copies, RepeatedKeys) {
  EXPECT_EQ(count_copies({5, 7, 5, 7, 5, 7, 5, 7}), 4u);
  EXPECT_EQ(count_copies({5, 5, 7, 5, 5, 7}), 2u);
  EXPECT_EQ(count_copies({5, 5, 5, 5}), 1u);  // one kind alone says nothing
  EXPECT_EQ(fitting_copies({5, 5, 5, 5}, 2), 2u);
  EXPECT_EQ(fitting_copies({5, 5, 5, 5}, 3), 1u);
  EXPECT_EQ(count_copies({5, 7, 5}), 1u);
  EXPECT_EQ(count_copies({}), 1u);
  EXPECT_EQ(assign_copies({5, 0, 7, 5, 0, 7}, 2), (std::vector<uint32_t>{0, 0, 0, 1, 1, 1}));
}

TEST(Source, BaseNames) {
  EXPECT_EQ(base_name("f(float*, int)"), "f");
  EXPECT_EQ(base_name("void (anonymous namespace)::g<(int)4>(int (*)(int))"),
            "void (anonymous namespace)::g<(int)4>");
  EXPECT_EQ(base_name("plain"), "plain");
  EXPECT_EQ(demangle("_Z5tiledPf"), "tiled(float*)");
  EXPECT_EQ(demangle("triton_kernel"), "triton_kernel");
}

TEST(Markers, ScopesEndWithTheirBraces) {
  const auto scopes = marked_scopes({
      "#define ASSAY_REGION(name)",       // 1: no marker
      "void f() {",                       // 2
      "  ASSAY_REGION(\"outer\");",       // 3
      "  { ASSAY_REGION( \"in{ner\" );",  // 4
      "    g('{', \"}\"); // }",          // 5
      "    /* } */",                      // 6
      "  }",                              // 7
      "  h();",                           // 8
      "}",                                // 9
      "// ASSAY_REGION(\"comment\")",     // 10
  });
  ASSERT_EQ(scopes.size(), 2u);
  EXPECT_EQ(scopes[0].name, "in{ner");
  EXPECT_EQ(scopes[0].first, 4u);
  EXPECT_EQ(scopes[0].last, 7u);
  EXPECT_EQ(scopes[1].name, "outer");
  EXPECT_EQ(scopes[1].first, 3u);
  EXPECT_EQ(scopes[1].last, 9u);
}

TEST(Markers, HostileText) {
  EXPECT_TRUE(marked_scopes({"ASSAY_REGION"}).empty());
  EXPECT_TRUE(marked_scopes({"ASSAY_REGION("}).empty());
  EXPECT_TRUE(marked_scopes({"ASSAY_REGION(\"open"}).empty());
  EXPECT_TRUE(marked_scopes({"}}}}", "\"", "'"}).empty());
  EXPECT_EQ(marked_scopes({"ASSAY_REGION(\"to the end\")", "x"}).size(), 1u);
}

const char* kHead = ".version 9.0\n.target sm_90a\n.address_size 64\n";

struct Parsed {
  ptx::Module module;
  const ptx::Function* f = nullptr;
  ptx::Cfg cfg;
};

Parsed parse(const std::string& body) {
  auto m = ptx::parse(kHead + body, "test");
  EXPECT_TRUE(m) << format_diag(m.error());
  Parsed p;
  if (!m) return p;
  p.module = std::move(*m);
  p.f = &p.module.functions[0];
  p.cfg = ptx::build_cfg(*p.f);
  return p;
}

// Each instruction is a region of its own, so that sites stand for instructions.
Waits waits_of(const Parsed& p) {
  std::vector<int32_t> regions(p.f->body.size());
  for (size_t k = 0; k < regions.size(); ++k) regions[k] = static_cast<int32_t>(k);
  return find_waits(p.module, *p.f, p.cfg, regions);
}

std::string edges(const Waits& w) {
  std::string out;
  for (const Edge& e : w.edges)
    out += w.sites[e.wait].what + " <- " + w.sites[e.issue].what + (e.certain ? "" : " ?") + "\n";
  return out;
}

TEST(Waits, CommitGroups) {
  const auto p = parse(R"(.visible .entry k(.param .u64 p) {
  .reg .b64 %rd<2>; .reg .b32 %r<2>; .shared .align 16 .b8 s[64];
  ld.param.u64 %rd1, [p]; mov.u32 %r1, s;
  cp.async.cg.shared.global [%r1], [%rd1], 16;
  cp.async.commit_group;
  cp.async.wait_group 0;
  cp.async.cg.shared.global [%r1+16], [%rd1], 16;
  cp.async.commit_group;
  cp.async.wait_group 1;
  ret; })");
  EXPECT_EQ(edges(waits_of(p)),
            "cp.async.wait_group 0 <- cp.async\n"
            "cp.async.wait_group 1 <- cp.async ?\n"
            "cp.async.wait_group 1 <- cp.async ?\n");
}

TEST(Waits, BarrierIsForWhatCameSinceTheLast) {
  const auto p = parse(R"(.visible .entry k() {
  .reg .b32 %r<3>; .shared .align 4 .b8 s[64];
  st.shared.u32 [s], 1;
  bar.sync 0;
  ld.shared.u32 %r1, [s];
  bar.sync 0;
  ret; })");
  EXPECT_EQ(edges(waits_of(p)), "bar.sync <- st.shared\nbar.sync <- ld.shared\n");
}

TEST(Waits, BarriersApartByTheirNumber) {
  const auto p = parse(R"(.visible .entry k() {
  bar.arrive 1, 64;
  bar.arrive 2, 64;
  bar.sync 2, 64;
  ret; })");
  const Waits w = waits_of(p);
  ASSERT_EQ(w.edges.size(), 1u);
  EXPECT_EQ(w.sites[w.edges[0].issue].object, "barrier 2");
  EXPECT_TRUE(w.edges[0].certain);
}

TEST(Waits, MbarriersApartByTheirAddress) {
  const auto p = parse(R"(.visible .entry k(.param .u32 i) {
  .reg .b32 %r<9>; .reg .b64 %rd<3>; .reg .pred %p<2>; .shared .align 8 .b8 bars[64];
  mov.u32 %r1, bars;
  add.s32 %r2, %r1, 8;
  mbarrier.arrive.shared::cta.b64 %rd1, [%r1];
  mbarrier.arrive.shared::cta.b64 %rd1, [%r2];
  mbarrier.try_wait.parity.shared::cta.b64 %p1, [bars+8], 0;
  ld.param.u32 %r3, [i];
  add.s32 %r4, %r1, %r3;
  mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r4], 0;
  ret; })");
  const Waits w = waits_of(p);
  // The first wait knows its barrier; the second may be at either.
  ASSERT_EQ(w.edges.size(), 3u);
  EXPECT_TRUE(w.edges[0].certain);
  EXPECT_EQ(w.sites[w.edges[0].issue].object, "mbarrier bars+8");
  EXPECT_FALSE(w.edges[1].certain);
  EXPECT_FALSE(w.edges[2].certain);
  EXPECT_EQ(w.sites[w.edges[1].wait].object, "mbarrier in bars");
}

TEST(Roles, BranchOnTheWarp) {
  const char* text = R"(.visible .entry k(.param .u64 p) {
  .reg .b32 %r<4>; .reg .b64 %rd<2>; .reg .pred %p<2>;
  ld.param.u64 %rd1, [p];
  mov.u32 %r1, %tid.x;
  shr.u32 %r2, %r1, SHIFT;
  setp.eq.s32 %p1, %r2, 0;
  @%p1 bra A;
  st.global.u32 [%rd1], %r1;
  bra C;
A: st.global.u32 [%rd1+4], %r1;
C: ret; })";
  std::string body = text;
  body.replace(body.find("SHIFT"), 5, "5");
  auto p = parse(body);
  const Roles r = find_roles(p.module, *p.f, p.cfg);
  ASSERT_EQ(r.roles.size(), 2u);
  EXPECT_EQ(r.roles[0].name, "warps where warp index = 0");
  EXPECT_EQ(r.roles[1].name, "warps where warp index != 0");
  EXPECT_EQ(r.of_block[p.cfg.block_of[0]], -1);
  EXPECT_EQ(r.of_block[p.cfg.block_of[p.f->body.size() - 1]], -1);
  // By four lanes: threads of one warp go apart, so there are no roles.
  body = text;
  body.replace(body.find("SHIFT"), 5, "3");
  p = parse(body);
  EXPECT_TRUE(find_roles(p.module, *p.f, p.cfg).roles.empty());
}

}  // namespace
}  // namespace assay::region
