#include "elf/cubin.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "elf/bytes.h"
#include "elf/lines.h"
#include "tests/unit/elf/made_cubin.h"

namespace assay::elf {
namespace {

TEST(Bytes, ReadsPastTheEndAsFailure) {
  Bytes in("\x01\x02");
  EXPECT_EQ(in.u8(), 1);
  EXPECT_EQ(in.u32(), 0u);
  EXPECT_TRUE(in.failed());
  EXPECT_EQ(in.u8(), 0);  // and stays failed
}

TEST(Bytes, Leb128) {
  const std::string data("\xe5\x8e\x26\x7f\x80\x01", 6);
  Bytes in(data);
  EXPECT_EQ(in.uleb(), 624485u);
  EXPECT_EQ(in.sleb(), -1);
  EXPECT_EQ(in.uleb(), 128u);
  EXPECT_TRUE(in.done());
  Bytes cut(std::string_view("\x80", 1));
  cut.uleb();
  EXPECT_TRUE(cut.failed());
}

TEST(Cubin, KernelWithResources) {
  auto cubin = read_cubin(made_cubin(), "made");
  ASSERT_TRUE(cubin) << format_diag(cubin.error());
  EXPECT_EQ((*cubin)->sm, 90u);
  ASSERT_EQ((*cubin)->functions.size(), 1u);
  const CubinFunction& f = (*cubin)->functions[0];
  EXPECT_EQ(f.name, "kernel");
  EXPECT_TRUE(f.is_kernel);
  EXPECT_EQ(f.size, 64u);
  EXPECT_EQ(f.registers, 32u);
  EXPECT_EQ(f.frame_bytes, 8u);
  EXPECT_EQ(f.barriers, 1u);
  EXPECT_EQ(f.parameter_bytes, 28u);
  EXPECT_EQ(f.required_threads, (std::array<uint32_t, 3>{128, 2, 1}));
}

// Rows: line 10 at 0; line 12 at 16; line 3 of the function "inner", called at row 2, at 32.
TEST(Lines, InlinedRowsKnowTheirCall) {
  auto cubin = read_cubin(made_cubin(), "made");
  ASSERT_TRUE(cubin);
  auto table = read_lines(**cubin, ".debug_line", "made");
  ASSERT_TRUE(table) << format_diag(table.error());
  EXPECT_EQ(table->damaged, 0u);
  const uint32_t code = (*cubin)->functions[0].section;
  auto at = table->find(code, 16);
  ASSERT_NE(at.row, nullptr);
  EXPECT_EQ(at.row->line, 12u);
  EXPECT_EQ(table->files[at.row->file], "/src/a.cu");
  EXPECT_EQ(at.row->called_at, -1);
  at = table->find(code, 47);  // the row holds up to the next
  ASSERT_NE(at.row, nullptr);
  EXPECT_EQ(at.row->line, 3u);
  EXPECT_EQ(at.row->function, "inner");
  ASSERT_EQ(at.row->called_at, 1);
  EXPECT_EQ(at.sequence->rows[1].line, 12u);
  EXPECT_EQ(table->find(code, 64).row, nullptr);     // behind the sequence
  EXPECT_EQ(table->find(code + 1, 0).row, nullptr);  // another section
}

TEST(Lines, CallsOfLaterRowsAreCountedAsDamage) {
  MadeCubin made;
  made.call_row = 9;
  auto cubin = read_cubin(made_cubin(made), "made");
  ASSERT_TRUE(cubin);
  auto table = read_lines(**cubin, ".debug_line", "made");
  ASSERT_TRUE(table);
  EXPECT_EQ(table->damaged, 1u);
  EXPECT_EQ(table->find((*cubin)->functions[0].section, 32).row->called_at, -1);
}

TEST(Lines, OtherDwarfVersionIsUnsupported) {
  MadeCubin made;
  made.dwarf = 5;
  auto cubin = read_cubin(made_cubin(made), "made");
  ASSERT_TRUE(cubin);
  auto table = read_lines(**cubin, ".debug_line", "made");
  ASSERT_FALSE(table);
  EXPECT_EQ(table.error().kind, DiagKind::Unsupported);
}

void expect_refused(std::string bytes, DiagKind kind, const std::string& words) {
  auto cubin = read_cubin(std::move(bytes), "bad.cubin");
  ASSERT_FALSE(cubin);
  EXPECT_EQ(cubin.error().kind, kind);
  EXPECT_NE(cubin.error().message.find(words), std::string::npos) << cubin.error().message;
  EXPECT_EQ(cubin.error().loc.file, "bad.cubin");
}

TEST(Cubin, WhatIsNoCubinIsSaid) {
  expect_refused("", DiagKind::Invalid, "no ELF file");
  expect_refused("// some text", DiagKind::Invalid, "no ELF file");
  expect_refused(std::string("\x50\xed\x55\xba\x01\x00", 6), DiagKind::Invalid, "fat binary");
  std::string host = made_cubin();
  host[18] = 62;  // EM_X86_64
  expect_refused(host, DiagKind::Invalid, "machine 62");
  std::string small = made_cubin();
  small[4] = 1;
  expect_refused(small, DiagKind::Unsupported, "64-bit");
}

TEST(Cubin, SectionsBehindTheEnd) {
  std::string bytes = made_cubin();
  uint64_t at;
  std::memcpy(&at, &bytes[40], 8);
  const uint64_t far = ~uint64_t{0} - 8;
  std::memcpy(&bytes[at + 64 + 24], &far, 8);  // offset of section 1
  expect_refused(bytes, DiagKind::Invalid, "section 1 lies behind its end");
  std::memcpy(&bytes[40], &far, 8);
  expect_refused(bytes, DiagKind::Invalid, "section headers lie behind its end");
}

// Every prefix, and seeded changes of bytes: an answer or an error with words, never a crash.
TEST(Cubin, CutOffAndAlteredFiles) {
  const std::string whole = made_cubin();
  const auto read_all = [](std::string bytes) {
    auto cubin = read_cubin(std::move(bytes), "bad");
    if (!cubin) {
      EXPECT_FALSE(cubin.error().message.empty());
      return false;
    }
    for (const char* name : {".debug_line", ".nv_debug_line_sass"}) {
      auto table = read_lines(**cubin, name, "bad");
      EXPECT_TRUE(table || !table.error().message.empty());
    }
    embedded_ptx(**cubin);
    return true;
  };
  ASSERT_TRUE(read_all(whole));
  for (size_t n = 0; n < whole.size(); ++n) EXPECT_FALSE(read_all(whole.substr(0, n))) << n;
  std::mt19937 random(7);
  for (int k = 0; k < 20000; ++k) {
    std::string bytes = whole;
    for (int c = 0; c < 3; ++c) bytes[random() % bytes.size()] = static_cast<char>(random());
    read_all(std::move(bytes));
  }
}

}  // namespace
}  // namespace assay::elf
