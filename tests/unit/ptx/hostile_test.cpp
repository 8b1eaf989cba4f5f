// Text that no compiler wrote: a diagnostic, never a crash, a hang or a huge allocation.
#include <gtest/gtest.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "ptx/cfg.h"

namespace assay::ptx {
namespace {

const char kHead[] = ".version 9.0\n.target sm_90\n.address_size 64\n";

std::vector<std::string> samples() {
  std::vector<std::string> texts;
  const std::string folder = std::string(ASSAY_SOURCE_DIR) + "/tests/text/ptx/parse";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".ptx") continue;
    std::ifstream in(entry.path());
    std::stringstream s;
    s << in.rdbuf();
    texts.push_back(s.str());
  }
  EXPECT_FALSE(texts.empty());
  return texts;
}

// What is accepted must survive printing, and its graphs must be buildable.
void use(const std::string& text) {
  auto m = parse(text, "hostile");
  if (!m) {
    EXPECT_FALSE(m.error().message.empty());
    return;
  }
  auto again = parse(print(*m), "printed");
  ASSERT_TRUE(again) << format_diag(again.error()) << "\n" << text;
  EXPECT_TRUE(same(*m, *again)) << text;
  for (const Function& f : m->functions) build_cfg(f);
}

std::string repeat(std::string_view part, int n) {
  std::string text;
  for (int k = 0; k < n; ++k) text += part;
  return text;
}

DiagKind kind_of(const std::string& text) {
  auto m = parse(text, "hostile");
  EXPECT_FALSE(m) << text.substr(0, 200);
  return m ? DiagKind::Internal : m.error().kind;
}

std::string body(const std::string& text) {
  return std::string(kHead) + ".entry k()\n{\n.reg .b32 %r<4>;\n.reg .pred %p<3>;\n" + text +
         "\n}\n";
}

TEST(Hostile, EveryPrefix) {
  for (const std::string& text : samples()) {
    const size_t step = std::max<size_t>(1, text.size() / 1500);
    for (size_t n = 0; n < text.size(); n += step) use(text.substr(0, n));
  }
}

TEST(Hostile, RandomDamage) {
  std::mt19937 rng(11);
  const auto texts = samples();
  const std::string_view pieces[] = {"{",   "}", "(", ")",  ";",    ",",           ".",
                                     "%r1", "[", "]", "-",  "|",    "<9>",         "0f",
                                     "\"",  ":", "@", "/*", ".reg", ".loc 1 1 1\n"};
  for (int round = 0; round < 3000; ++round) {
    std::string text = texts[rng() % texts.size()];
    for (int edits = 1 + static_cast<int>(rng() % 4); edits > 0; --edits) {
      const size_t at = rng() % text.size();
      switch (rng() % 4) {
        case 0:
          text.erase(at, 1 + rng() % 20);
          break;
        case 1:
          text.insert(at, pieces[rng() % std::size(pieces)]);
          break;
        case 2:
          text[at] = static_cast<char>(rng());
          break;
        default:
          text.insert(at, text.substr(rng() % text.size(), rng() % 60));
          break;
      }
      if (text.empty()) text = ".";
    }
    use(text);
  }
}

TEST(Hostile, HugeCounts) {
  EXPECT_EQ(kind_of(body(".reg .b32 %q<4000000000>;")), DiagKind::Limit);
  EXPECT_EQ(kind_of(body(".reg .b32 %q<99999999999999999999999999>;")), DiagKind::Syntax);
  EXPECT_EQ(kind_of(std::string(kHead) + ".global .b8 x[99999999999][99999999999];"),
            DiagKind::Limit);
  // Large, but only a number.
  use(std::string(kHead) + ".global .b8 x[1000000000000] = {1, 2};");
  use(repeat(std::string(kHead), 1) + ".global .b8 x[0];");
}

TEST(Hostile, DeepNesting) {
  const int n = 200000;
  use(body(repeat("{", n)));
  use(body(repeat("{", n) + repeat("}", n)));
  use(body("mov.u32 %r1, " + repeat("(", n) + "1" + repeat(")", n) + ";"));
  use(body("mov.u32 %r1, " + repeat("-", n) + "1;"));
  use(body("mov.b64 %r1, " + repeat("{", n) + ";"));
  use(body("ld.u32 %r1, " + repeat("[%r1, [", n) + ";"));
  use(std::string(kHead) + ".global .b8 x[4] = " + repeat("{", n));
  use(std::string(kHead) + ".global .b8 x[4]" + repeat("[1]", n) + ";");
}

TEST(Hostile, OddBytes) {
  EXPECT_EQ(kind_of(std::string(kHead) + std::string("\0", 1)), DiagKind::Syntax);
  EXPECT_EQ(kind_of(""), DiagKind::Syntax);
  EXPECT_EQ(kind_of("hello"), DiagKind::Syntax);
  EXPECT_EQ(kind_of(std::string(kHead) + "/* never closed"), DiagKind::Syntax);
  EXPECT_EQ(kind_of(std::string(kHead) + ".file 1 \"open"), DiagKind::Syntax);
  use(std::string(kHead) + ".entry k() { ret; }");  // no newline at the end
  use(".version 9.0\r\n.target sm_90\r\n.entry k() { ret; }");
  use(std::string("\x7f") + "ELF\x02\x01\x01");
}

TEST(Hostile, ManyDiagnosticsAreCapped) {
  std::vector<Diag> all;
  EXPECT_FALSE(parse(body(repeat("add.s32 %r1;\n", 50000)), "t", &all));
  EXPECT_LE(all.size(), 1002u);
  EXPECT_GE(all.size(), 1000u);
}

// Long chains of one kind take time in proportion to their length.
TEST(Hostile, NoQuadraticTime) {
  const std::clock_t start = std::clock();  // CPU time: others may share the machine
  std::string labels, locs, scopes, loops;
  for (int k = 0; k < 30000; ++k) {
    const std::string n = std::to_string(k);
    labels += "L" + n + ": @%p1 bra L" + std::to_string(29999 - k) + ";\n";
    locs += ".loc 1 " + n + " 1, function_name f, inlined_at 1 " + std::to_string(k - (k > 0)) +
            " 1\nmov.u32 %r1, 1;\n";
    scopes += "{ .reg .b32 t; .param .b32 p; mov.u32 t, 1; L: bra L; }\n";
    loops += "L" + n + ":\n";
  }
  for (int k = 29999; k >= 0; --k) {
    loops += "mov.u32 %r1, 1;\n@%p1 bra L" + std::to_string(k) + ";\n";
  }
  use(body(labels + "ret;"));
  use(body(locs + "ret;"));
  use(body(scopes + "ret;"));
  use(body(loops + "ret;"));
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  EXPECT_LT(seconds, 60);  // well under a second without sanitizers
}

}  // namespace
}  // namespace assay::ptx
