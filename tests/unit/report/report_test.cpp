#include "report/report.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

namespace assay::report {
namespace {

using check::VerdictKind;

// A refutation with everything in it; the kernel's source line is a real file.
check::Verdict refuted(const std::string& source) {
  check::Verdict v;
  v.kind = VerdictKind::Refuted;
  v.summary = "the output differs";
  v.candidate = "k.cu";
  v.reference = "ref.py";
  check::ShapeResult shape;
  shape.kind = VerdictKind::Refuted;
  shape.outputs.push_back({"out", {30, 1001}, 30030, 4096, 4000, ""});
  check::LocationResult r;
  r.location = {0, "out", {29, 1000}};
  r.kind = VerdictKind::Refuted;
  r.cls = "value";
  r.reason = "the tail is left out";
  r.candidate = 1.5;
  r.reference = 2.5;
  r.candidate_ieee = 1.25;
  r.reference_ieee = 2.5;
  r.rho = 0.25;
  r.count = 78;
  r.loc = {source, 2, 3};
  r.differing = "x + y";
  r.witness = check::Witness{};
  r.witness->seed = 7;
  r.witness->draws.push_back({0, "x", "uniform(-1,1)", 2, 0});
  r.witness->overrides.push_back({1, "y", {3, 4}, std::numeric_limits<double>::infinity()});
  r.witness->script = "import numpy\n";
  r.witness->replayed = true;
  r.witness->replay = "IEEE cone, real build";
  shape.results.push_back(r);
  v.shapes.push_back(shape);
  v.findings.push_back({"accuracy", check::Severity::Low, "serial sum", {}});
  v.domain = {"all finite x"};
  v.assumptions = {"no aliasing"};
  v.snaps = {{"0.70710677f", "sqrt(1/2)"}};
  v.error_bound = std::ldexp(1.0, -50);
  v.timings = {{"compile", 1.5}, {"trace", 0.25}};
  v.peak_memory = uint64_t{120} << 20;
  return v;
}

class ReportTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "assay-report-XXXXXX").string();
    dir_ = mkdtemp(pattern.data());
    source_ = (dir_ / "k.cu").string();
    std::ofstream(source_) << "void k() {\n\t out[i] = x[i];\x1b[31m\n}\n";
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }
  std::filesystem::path dir_;
  std::string source_;
};

TEST_F(ReportTest, ShowsARefutationInFull) {
  EXPECT_EQ(text(refuted(source_), {}),
            "refuted: the output differs\n"
            "  candidate       k.cu\n"
            "  reference       ref.py\n"
            "  out[30, 1001]   4,000 of 30,030 elements proved, 4,096 looked at\n"
            "refuted[value]: out[29, 1000]: the tail is left out\n"
            " --> " +
                source_ +
                ":2:3\n"
                "  |\n"
                "2 | \t out[i] = x[i];?[31m\n"
                "  | \t ^\n"
                "  likewise        77 other locations\n"
                "  input           x: uniform(-1,1)\n"
                "                  y[3, 4] = inf\n"
                "                  seed 7\n"
                "  replayed        IEEE cone, real build\n"
                "  script          --script FILE writes Python that shows it in PyTorch\n"
                "  candidate       1.5 (float arithmetic: 1.25)\n"
                "  reference       2.5\n"
                "  relative gap    0.25 of the condition scale\n"
                "  what differs    x + y\n"
                "warning[accuracy]: serial sum (low)\n"
                "  cost            1.75 s, 120 MiB\n");
}

TEST_F(ReportTest, ShowsTheScopeOfAProof) {
  check::Verdict v = refuted(source_);
  v.kind = VerdictKind::Proved;
  v.shapes.clear();
  EXPECT_EQ(text(v, {}),
            "proved: the output differs\n"
            "  candidate       k.cu\n"
            "  reference       ref.py\n"
            "warning[accuracy]: serial sum (low)\n"
            "  for all         all finite x\n"
            "  assuming        no aliasing\n"
            "  literals        0.70710677f = sqrt(1/2)\n"
            "  certainty       a wrong proof has a chance below 2^-50\n"
            "  cost            1.75 s, 120 MiB\n");
}

TEST_F(ReportTest, AlteredShapesAreShownWhereTheyDiffer) {
  check::Verdict v = refuted(source_);
  v.shapes.push_back(v.shapes[0]);
  v.shapes[1].change = "n=17";
  EXPECT_EQ(text(v, {}).find("at n=17: refuted\n  out"), std::string::npos);
  EXPECT_NE(text(v, {}).find("at n=17: refuted\n"), std::string::npos);
  v.shapes[0].kind = VerdictKind::Proved;
  v.shapes[0].results.clear();
  EXPECT_NE(text(v, {}).find("at n=17: refuted\n  out[30, 1001]"), std::string::npos);
  EXPECT_NE(text(v, {}).find("refuted[value]: out[29, 1000]"), std::string::npos);
}

TEST_F(ReportTest, SaysNothingTwice) {
  check::Verdict v = refuted(source_);
  v.summary = "value: the tail is left out at out[29, 1000]";
  v.shapes[0].results[0].cls = "refuted";
  EXPECT_NE(text(v, {}).find("\nrefuted: out[29, 1000]\n"), std::string::npos) << text(v, {});
}

TEST_F(ReportTest, LimitsUnprovedLocationsUnlessVerbose) {
  check::Verdict v = refuted(source_);
  v.shapes[0].results.resize(5, v.shapes[0].results[0]);
  std::string brief = text(v, {}), full = text(v, {.verbose = true});
  EXPECT_NE(brief.find("and 4 more results like these"), std::string::npos);
  EXPECT_EQ(full.find("more results"), std::string::npos);
  EXPECT_NE(full.find("import numpy"), std::string::npos);
  EXPECT_NE(full.find("compile 1.50, trace 0.25"), std::string::npos);
}

TEST_F(ReportTest, SaysSoWhereAWitnessWasNotReplayed) {
  check::Verdict v = refuted(source_);
  v.shapes[0].results[0].witness->replayed = false;
  EXPECT_NE(text(v, {}).find("no: not confirmed by a run"), std::string::npos);
}

TEST_F(ReportTest, ColoursOnlyWhenAsked) {
  check::Verdict v = refuted(source_);
  EXPECT_EQ(text(v, {}).find('\x1b'), std::string::npos);
  EXPECT_NE(text(v, {.color = true}).find("\x1b[1;31mrefuted:\x1b[0m"), std::string::npos);
}

TEST_F(ReportTest, JsonHoldsEverything) {
  auto j = nlohmann::json::parse(json(refuted(source_), 1));
  EXPECT_EQ(j["schema_version"], kJsonSchemaVersion);
  EXPECT_EQ(j["exit_code"], 1);
  EXPECT_EQ(j["verdict"], "refuted");
  const auto& r = j["shapes"][0]["results"][0];
  EXPECT_EQ(r["index"], (std::vector<int64_t>{29, 1000}));
  EXPECT_EQ(r["candidate"], 1.5);
  EXPECT_EQ(r["candidate_ieee"], 1.25);
  EXPECT_EQ(r["count"], 78);
  EXPECT_EQ(r["loc"]["line"], 2);
  EXPECT_EQ(r["witness"]["seed"], 7);
  EXPECT_EQ(r["witness"]["overrides"][0]["value"], "inf");
  EXPECT_EQ(r["witness"]["draws"][0]["scale"], 2);
  EXPECT_EQ(j["shapes"][0]["outputs"][0]["proved"], 4000);
  EXPECT_EQ(j["findings"][0]["severity"], "low");
  EXPECT_TRUE(j["findings"][0]["loc"].is_null());
  EXPECT_EQ(j["snaps"][0]["ideal"], "sqrt(1/2)");
  EXPECT_EQ(j["timings"][1]["phase"], "trace");
  EXPECT_EQ(j["peak_memory_bytes"], 120u << 20);
}

TEST_F(ReportTest, JsonSurvivesForeignBytes) {
  auto j = nlohmann::json::parse(json(Diag{DiagKind::Invalid, "bad \xff\xfe byte", {}}, 4));
  EXPECT_EQ(j["error"]["kind"], "invalid");
  EXPECT_EQ(j["exit_code"], 4);
}

TEST_F(ReportTest, DiagnosticPointsAtTheStatementWithoutAColumn) {
  EXPECT_EQ(text(Diag{DiagKind::Unsupported, "wgmma", {source_, 1, 0}}, {}),
            "error[unsupported]: wgmma\n --> " + source_ +
                ":1\n"
                "  |\n1 | void k() {\n  | ^~~~~~~~~~\n");
}

TEST_F(ReportTest, NoExcerptBeyondTheFileOrOfAFolder) {
  EXPECT_EQ(excerpt({source_, 99, 1}, {}), "");
  EXPECT_EQ(excerpt({dir_.string(), 1, 1}, {}), "");
  EXPECT_EQ(excerpt({"/dev/zero", 1, 1}, {}), "");
  EXPECT_EQ(excerpt({source_, 2, 500}, {}).substr(0, 4), "  |\n");
}

TEST(Clean, ReplacesWhatSteersATerminal) {
  EXPECT_EQ(clean("a\x1b[2Jb\tc\n\x7f"), "a?[2Jb\tc\n?");
  EXPECT_EQ(clean("\xc3\xa9 \xe2\x89\xa4 \xff \xc2\x9b"), "\xc3\xa9 \xe2\x89\xa4 ? ?");
  EXPECT_EQ(clean("\xe2\x89"), "??");
}

TEST(Numbers, AreGrouped) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(1234567890), "1,234,567,890");
}

TEST(ExitCode, FollowsTheKindOfTrouble) {
  EXPECT_EQ(exit_code({DiagKind::Syntax, "", {}}), 4);
  EXPECT_EQ(exit_code({DiagKind::Invalid, "", {}}), 4);
  EXPECT_EQ(exit_code({DiagKind::Io, "", {}}), 4);
  EXPECT_EQ(exit_code({DiagKind::Unsupported, "", {}}), 3);
  EXPECT_EQ(exit_code({DiagKind::Limit, "", {}}), 2);
  EXPECT_EQ(exit_code({DiagKind::Internal, "", {}}), 5);
}

}  // namespace
}  // namespace assay::report
