#include "report/witness_script.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace assay::report {
namespace {

using program::Draw;
using program::DType;
using program::TensorView;

std::string read(const std::string& path) {
  std::ifstream file(std::string(ASSAY_SOURCE_DIR) + "/" + path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

WitnessScript sample() {
  WitnessScript s;
  s.witness.seed = 0xfedcba9876543210;
  s.witness.changed = {{"n", 6}, {"slope", -0.75}};
  s.witness.inputs.push_back({"input:0", 0, {0, DType::F32, 0, {4, 6}, {6, 1}}, 24, Draw{}, {}});
  s.witness.inputs.push_back({"parameter:w",
                              1,
                              {1, DType::F32, 0, {6, 6}, {6, 1}},
                              36,
                              Draw{Draw::Kind::Grid, -1, 0, 0.25, 9},
                              {{7, 64}, {8, -0.0}}});
  s.witness.inputs.push_back({"parameter:scale",
                              2,
                              {2, DType::F32, 0, {6}, {1}},
                              6,
                              Draw{Draw::Kind::Constant, 3, 0, 1, 1},
                              {}});
  s.witness.output = 0;
  s.witness.element = 13;
  const TensorView transposed{1, DType::F32, 0, {6, 6}, {1, 6}};
  s.arguments = {{"x", s.witness.inputs[0].view, "input:0"},
                 {"p['w']", transposed, "parameter:w"},
                 {"p['scale']", s.witness.inputs[2].view, "parameter:scale"},
                 {"both", std::vector<TensorView>{transposed, TensorView{}}, "parameter:w"},
                 {"eps", 1e-5, "scalar"},
                 {"dims", std::vector<int64_t>{0, 1}, "scalar"},
                 {"flag", true, "scalar"},
                 {"bias", std::monostate{}, "none"}};
  s.functional = true;
  s.ref_path = "ref \"x\".py";
  s.candidate_path = "kernel.cu";
  s.reference_value = 1.5;
  s.candidate_value = INFINITY;
  return s;
}

// The golden script is run by tests/python/test_witness.py. ASSAY_UPDATE=1 writes it.
TEST(WitnessScripts, Golden) {
  const auto text = witness_script(sample());
  ASSERT_TRUE(text) << text.error().message;
  const std::string path = "tests/python/golden_witness.txt";
  if (std::getenv("ASSAY_UPDATE")) {
    std::ofstream(std::string(ASSAY_SOURCE_DIR) + "/" + path) << *text;
  }
  EXPECT_EQ(*text, read(path));
}

TEST(WitnessScripts, GeneratorIsTheOneOfThePackage) {
  const std::string package = read("python/assay/philox.py");
  const size_t begin = package.find("DTYPES = ");
  const size_t end = package.find("\n\n\n# --- end of generator");
  ASSERT_NE(begin, std::string::npos);
  ASSERT_NE(end, std::string::npos);
  const auto text = witness_script(sample());
  ASSERT_TRUE(text);
  EXPECT_NE(text->find(package.substr(begin, end - begin)), std::string::npos);
}

TEST(WitnessScripts, ArgumentsWithoutInputAreErrors) {
  WitnessScript s = sample();
  s.witness.inputs.pop_back();
  const auto text = witness_script(s);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().kind, DiagKind::Invalid);
}

}  // namespace
}  // namespace assay::report
