#include "report/scripts.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace assay::report {
namespace {

class ScriptsTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "assay-script-XXXXXX").string();
    dir_ = mkdtemp(pattern.data());
    std::ofstream(dir_ / "ref.py") << "\n";
    verdict_.candidate = (dir_ / "k.cu").string();
    verdict_.reference = (dir_ / "ref.py").string();
    program::TensorView view{0, program::DType::F32, 0, {4, 8}, {8, 1}};
    verdict_.sides.arguments = {{"x", view, "input:0"}};
    verdict_.sides.entry = "run";
    check::ShapeResult shape;
    shape.changed = {{"rows", 4}};
    shape.outputs = {{"out", {4, 8}, 32, 32, 0, ""}, {"mean", {8}, 8, 8, 0, "state:mean"}};
    check::LocationResult result;
    result.location = {0, "out", {2, 3}};
    result.witness.emplace();
    result.witness->inputs.emplace();
    program::WitnessInput input;
    input.source = "input:0";
    input.view = view;
    input.elements = 32;
    result.witness->inputs->inputs = {input};
    shape.results = {result};
    verdict_.shapes = {shape};
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }
  check::LocationResult& result() { return verdict_.shapes[0].results[0]; }
  std::string script() {
    result().witness->script.clear();
    add_scripts(verdict_);
    return result().witness->script;
  }

  std::filesystem::path dir_;
  check::Verdict verdict_;
};

TEST_F(ScriptsTest, NamesFilesShapeAndLocation) {
  std::string text = script();
  EXPECT_NE(text.find((dir_ / "ref.py").string()), std::string::npos);
  EXPECT_NE(text.find("\"run\""), std::string::npos) << text;
  EXPECT_NE(text.find("OUTPUT, ELEMENT, MUTATED = 0, 19, \"\""), std::string::npos) << text;
  EXPECT_NE(text.find("\"rows\": 4"), std::string::npos) << text;
}

TEST_F(ScriptsTest, LocationsOfMutatedTensorsNameTheirSource) {
  result().location = {1, "mean", {5}};
  EXPECT_NE(script().find("OUTPUT, ELEMENT, MUTATED = 1, 5, \"state:mean\""), std::string::npos);
}

TEST_F(ScriptsTest, ExportedReferenceMeansTheFileBesideIt) {
  verdict_.reference = (dir_ / "ref.json").string();
  EXPECT_NE(script().find((dir_ / "ref.py").string()), std::string::npos);
  verdict_.reference = (dir_ / "other.json").string();
  EXPECT_EQ(script(), "");
}

TEST_F(ScriptsTest, NoneForWhatPyTorchCannotRun) {
  verdict_.candidate = (dir_ / "k.ptx").string();
  EXPECT_EQ(script(), "");
}

TEST_F(ScriptsTest, ArgumentsAreThoseOfTheShape) {
  verdict_.sides.arguments.push_back({"alpha", 1.0, "scalar"});
  verdict_.shapes[0].arguments = verdict_.sides.arguments;
  verdict_.shapes[0].arguments.back().value = 0.75;
  const std::string text = script();
  EXPECT_NE(text.find("        0.75,\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("        1.0,\n"), std::string::npos);
}

TEST_F(ScriptsTest, NoneWhereAnArgumentIsNotDescribed) {
  verdict_.sides.arguments[0].source = "input:9";
  EXPECT_EQ(script(), "");
}

}  // namespace
}  // namespace assay::report
