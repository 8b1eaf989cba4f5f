#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "ptx/form.h"
#include "ptx/module.h"

namespace assay::ptx {
namespace {

std::string text_file(const std::string& name) {
  std::ifstream in(std::string(ASSAY_SOURCE_DIR) + "/tests/text/ptx/parse/" + name);
  EXPECT_TRUE(in.good()) << name;
  std::stringstream s;
  s << in.rdbuf();
  return s.str();
}

// A module with one kernel of this body; registers of all kinds are declared.
std::string kernel(const std::string& body, const std::string& top = "") {
  return ".version 9.0\n.target sm_90\n.address_size 64\n" + top +
         ".visible .entry k(.param .u64 k_p0, .param .u32 k_p1)\n{\n"
         ".reg .pred %p<10>;\n.reg .b16 %rs<10>;\n.reg .b32 %r<10>;\n.reg .b64 %rd<10>;\n"
         ".reg .f32 %f<10>;\n.reg .f64 %fd<10>;\n" +
         body + "\nret;\n}\n";
}

// The first error of the body, as text; empty: none.
std::string error_of(const std::string& body) {
  auto m = parse(kernel(body), "t.ptx");
  return m ? "" : format_diag(m.error());
}

const Instr& first(const Module& m) { return m.functions[0].body[0]; }

TEST(Table, EveryRowCompiles) {
  for (const std::string& e : table_errors()) ADD_FAILURE() << e;
}

TEST(Parse, BasicModule) {
  auto m = parse(text_file("basic.ptx"), "basic.ptx");
  ASSERT_TRUE(m) << format_diag(m.error());
  EXPECT_EQ(m->version, 90);
  EXPECT_EQ(m->sm, 90u);
  const Function* f = m->find_function("kernel");
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->params[2].offset, 12u);
  EXPECT_EQ(f->param_bytes, 36u);
  EXPECT_EQ(f->directives.maxntid[0], 256u);
  EXPECT_TRUE(f->params[0].is_ptr);
  EXPECT_TRUE(f->diagnostics.empty());
  const Variable* where = m->find_variable("where");
  ASSERT_NE(where, nullptr);
  ASSERT_EQ(where->relocations.size(), 1u);
  EXPECT_EQ(where->relocations[0].addend, 4);
  EXPECT_TRUE(where->relocations[0].generic);
  const Variable* scale = m->find_variable("scale");
  EXPECT_EQ(scale->size, 16u);
  EXPECT_EQ(scale->init[15], 0xBF);  // -1.5f
  EXPECT_TRUE(m->find_variable("smem")->is_dynamic());
  // The two call sequences declare the same names.
  EXPECT_EQ(f->locals[2].name, "param0");
  EXPECT_EQ(f->locals[4].name, "param0_s1");
}

TEST(Parse, PrintIsInverse) {
  auto m = parse(text_file("basic.ptx"), "basic.ptx");
  ASSERT_TRUE(m);
  const std::string text = print(*m);
  auto again = parse(text, "printed");
  ASSERT_TRUE(again) << format_diag(again.error()) << text;
  EXPECT_TRUE(same(*m, *again));
  EXPECT_EQ(print(*again), text);
}

TEST(Parse, Modifiers) {
  auto m = parse(kernel("cvt.rzi.ftz.sat.s32.f32 %r1, %f1;"), "t");
  ASSERT_TRUE(m) << format_diag(m.error());
  const Instr& i = first(*m);
  EXPECT_EQ(i.op, Op::Cvt);
  EXPECT_EQ(i.mods.round(), Rounding::Rzi);
  EXPECT_TRUE(i.mods.ftz());
  EXPECT_TRUE(i.mods.sat());
  EXPECT_EQ(i.types[0], Ty::S32);
  EXPECT_EQ(i.types[1], Ty::F32);
}

// Their own rows of the table, and a modifier all the same.
TEST(Parse, SaturationOfIntegers) {
  auto m = parse(kernel("add.sat.s32 %r1, %r2, %r3; sub.sat.s32 %r1, %r2, %r3;"
                        "mad.hi.sat.s32 %r1, %r2, %r3, %r1; mad24.hi.sat.s32 %r1, %r2, %r3, %r1;"
                        "add.s32 %r1, %r2, %r3;"),
                 "t");
  ASSERT_TRUE(m) << format_diag(m.error());
  const auto& body = m->functions[0].body;
  for (size_t i = 0; i < 4; ++i) EXPECT_TRUE(body[i].mods.sat()) << i;
  EXPECT_FALSE(body[4].mods.sat());
}

TEST(Parse, FormsByOperands) {
  auto m = parse(kernel("mov.b32 %r1, %r2; mov.b32 %r1, {%rs1, %rs2}; mov.b32 {%rs1, _}, %r1;"
                        "mov.b32 %r1, %f1; mov.b32 %r1, 0f3F800000; mov.u32 %r1, %laneid;"),
                 "t");
  ASSERT_TRUE(m) << format_diag(m.error());
  const auto& body = m->functions[0].body;
  EXPECT_EQ(body[0].op, Op::Mov);
  EXPECT_EQ(body[1].op, Op::MovPack);
  EXPECT_EQ(body[2].op, Op::MovUnpack);
  EXPECT_EQ(body[4].op, Op::Mov);
  EXPECT_EQ(m->functions[0].operands(body[4])[1].imm, 0x3F800000);
}

TEST(Parse, FloatConstantsTakeTheirOperandsWidth) {
  auto m = parse(kernel("add.f32 %f1, %f1, 1.5; add.f64 %fd1, %fd1, 1.5;"), "t");
  ASSERT_TRUE(m) << format_diag(m.error());
  const Function& f = m->functions[0];
  EXPECT_EQ(f.operands(f.body[0])[2].imm, 0x3FC00000);
  EXPECT_EQ(f.operands(f.body[1])[2].imm, 0x3FF8000000000000);
}

TEST(Parse, WrongOperandsAreInvalid) {
  EXPECT_NE(error_of("add.f32 %f1, %f2;").find("invalid"), std::string::npos);
  EXPECT_NE(error_of("add.f32 %f1, %f2, %fd1;").find("operand 3"), std::string::npos);
  EXPECT_NE(error_of("add.s32 %r1, %r2, %p1;").find("operand 3"), std::string::npos);
  EXPECT_NE(error_of("add.s32 %r1, %r2, %q1;").find("unknown register '%q1'"), std::string::npos);
  EXPECT_NE(error_of("add.s32 %r1, %r2, %r10;").find("unknown register"), std::string::npos);
  EXPECT_NE(error_of("bra nowhere;").find("not defined"), std::string::npos);
  EXPECT_NE(error_of("ld.global.v2.f32 {%f1, %f2, %f3}, [%rd1];").find("vector of 2"),
            std::string::npos);
  EXPECT_NE(error_of("setp.lt.and.s32 %p1, %r1, %r2;").find("operands"), std::string::npos);
  EXPECT_NE(error_of("add.rn.s32 %r1, %r2, %r3;").find("no form"), std::string::npos);
  EXPECT_NE(error_of("shl.b32 %r1, %r2, 0f3F800000;").find("operand 3"), std::string::npos);
}

TEST(Parse, UnknownIsUnsupportedNotWrong) {
  std::vector<Diag> all;
  auto m = parse(kernel("frob.b32 %r1, %r2;\nadd.s32 %r1, %r2, %r3;\ncvt.e9m9.f32 %r1, %f1;"), "t",
                 &all);
  ASSERT_TRUE(m);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].kind, DiagKind::Unsupported);
  EXPECT_EQ(all[1].kind, DiagKind::Unsupported);
  EXPECT_EQ(m->functions[0].diagnostics.size(), 2u);
}

TEST(Parse, TensorFormsAreUnsupportedByName) {
  auto m = parse(kernel("wgmma.fence.sync.aligned;\n"
                        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, "
                        "{%r1, %r2, %r3, %r4}, {%r5, %r6}, {%f1, %f2, %f3, %f4};"),
                 "t");
  ASSERT_TRUE(m) << format_diag(m.error());
  const Function& f = m->functions[0];
  ASSERT_EQ(f.diagnostics.size(), 2u);
  EXPECT_NE(f.diagnostics[1].message.find("mma.sync.aligned.m16n8k16"), std::string::npos);
  EXPECT_EQ(f.body[1].op, Op::Mma);
}

TEST(Parse, AllErrorsAreCollected) {
  std::vector<Diag> all;
  auto m = parse(kernel("add.s32 %r1;\nadd.s32 %r1, %r2, %r3;\nfoo bar;\nmov.u32 %r1, {%r2;\n"
                        "add.s32 %r99, %r2, %r3;\nbra gone;"),
                 "t", &all);
  EXPECT_FALSE(m);
  EXPECT_EQ(all.size(), 5u);
}

TEST(Parse, ScopesNestAndShadow) {
  auto m = parse(kernel("{ .reg .b32 %r1; .reg .pred q; mov.u32 %r1, 5; L: setp.eq.s32 q, %r1, 0;"
                        " @q bra L; }\n{ .reg .b32 %r1; L: bra L; mov.u32 %r1, 6; }\n"
                        "mov.u32 %r1, 7;"),
                 "t");
  ASSERT_TRUE(m) << format_diag(m.error());
  const Function& f = m->functions[0];
  const auto dest = [&](int k) { return f.operands(f.body[k])[0].reg; };
  EXPECT_NE(dest(0), dest(4));
  EXPECT_NE(dest(0), dest(5));
  EXPECT_NE(dest(4), dest(5));
  EXPECT_EQ(f.reg_name(dest(5)), "%r1");
  EXPECT_EQ(f.labels[0].target, 1u);
  EXPECT_EQ(f.labels[1].target, 3u);
  EXPECT_EQ(f.operands(f.body[3])[0].symbol.index, 1);
  auto again = parse(print(*m), "printed");
  ASSERT_TRUE(again) << format_diag(again.error()) << print(*m);
  EXPECT_TRUE(same(*m, *again));
}

TEST(Parse, InlineChainsNameFunctions) {
  const std::string text =
      kernel(
          ".loc 1 10 3\nmov.u32 %r1, 1;\n"
          ".loc 2 20 5, function_name $L__info_string0, inlined_at 1 10 3\nmov.u32 %r2, 2;\n"
          ".loc 2 30 7, function_name $L__info_string1+1, inlined_at 2 20 5\nmov.u32 %r3, 3;") +
      ".file 1 \"a.cu\"\n.file 2 \"b.h\"\n"
      ".section .debug_str\n{\n$L__info_string0:\n.b8 95,97\n.b8 0\n"
      "$L__info_string1:\n.b8 120,98,99,0\n}\n";
  auto m = parse(text, "t");
  ASSERT_TRUE(m) << format_diag(m.error());
  const auto& body = m->functions[0].body;
  const auto chain = m->source_chain(body[2]);
  ASSERT_EQ(chain.size(), 3u);
  EXPECT_EQ(chain[0].file, "b.h");
  EXPECT_EQ(chain[0].line, 30u);
  EXPECT_EQ(chain[2].file, "a.cu");
  EXPECT_EQ(m->strings[m->locs[body[2].loc].function], "bc");
  EXPECT_EQ(m->strings[m->locs[body[1].loc].function], "_a");
  auto again = parse(print(*m), "printed");
  ASSERT_TRUE(again) << format_diag(again.error());
  EXPECT_TRUE(same(*m, *again));
}

TEST(Parse, ConstantExpressions) {
  auto m = parse(kernel("mov.u32 %r1, (1 << 4) | 3; mov.u32 %r1, 7 / 2 - -1; mov.u32 %r1, 0x1F;"
                        "mov.u32 %r1, 017; mov.u32 %r1, 0b101; mov.u32 %r1, 1 < 2 << 3;"
                        "mov.u32 %r1, WARP_SZ * 2; mov.s32 %r1, ~0; mov.u32 %r1, 5 % 3;"),
                 "t");
  ASSERT_TRUE(m) << format_diag(m.error());
  const Function& f = m->functions[0];
  const int64_t want[] = {19, 4, 31, 15, 5, 1, 64, -1, 2};
  for (int k = 0; k < 9; ++k) EXPECT_EQ(f.operands(f.body[k])[1].imm, want[k]) << k;
}

TEST(Parse, TablesOfBranches) {
  auto m = parse(kernel("ts: .branchtargets A, B, A;\nbrx.idx %r1, ts;\nA: mov.u32 %r1, 1;\n"
                        "B: mov.u32 %r2, 2;\n"
                        "proto: .callprototype (.param .b32 _) _ (.param .b64 _);\n"
                        "{ .param .b32 x; .param .b64 y; call (x), %rd1, (y), proto; }"),
                 "t");
  ASSERT_TRUE(m) << format_diag(m.error());
  const Function& f = m->functions[0];
  ASSERT_EQ(f.target_lists.size(), 1u);
  EXPECT_EQ(f.target_lists[0].targets[2].index, 0);
  EXPECT_EQ(f.operands(f.body[3]).size(), 4u);
  auto again = parse(print(*m), "printed");
  ASSERT_TRUE(again) << format_diag(again.error()) << print(*m);
  EXPECT_TRUE(same(*m, *again));
}

}  // namespace
}  // namespace assay::ptx
