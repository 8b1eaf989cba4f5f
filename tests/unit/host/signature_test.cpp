#include "host/signature.h"

#include <gtest/gtest.h>

namespace assay::host {
namespace {

using Names = std::vector<std::string>;

TEST(Signature, NamesOfTheBoundFunction) {
  const char* source = R"--(
    torch::Tensor run(torch::Tensor x, int64_t n);  // declared first
    // torch::Tensor run(torch::Tensor comment) {}
    torch::Tensor run(const torch::Tensor &x, const std::map<int, std::pair<int, float>>& table,
                      c10::optional<torch::Tensor> bias_ = c10::nullopt, float eps = 1 < 2 ? 1e-5f : 0,
                      std::vector<int64_t> size = {1, 2}) { return helper(run(x, 1)); }
    PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &run, "run(a, b)"); })--";
  EXPECT_EQ(parameter_names(source, "forward"), (Names{"x", "table", "bias_", "eps", "size"}));
}

TEST(Signature, AlsoUnboundLambdaAndQualified) {
  EXPECT_EQ(parameter_names("at::Tensor forward(at::Tensor a,\n at::Tensor b)\n{\n}", "forward"),
            (Names{"a", "b"}));
  EXPECT_EQ(parameter_names("m.def(\"f\", [&](at::Tensor in, int k) { return g(in); });", "f"),
            (Names{"in", "k"}));
  EXPECT_EQ(parameter_names("namespace n { int go(int w) { return w; } }\n"
                            "m.def( \"f\" , &n::go);",
                            "f"),
            (Names{"w"}));
}

TEST(Signature, NothingWhereItIsNotClear) {
  EXPECT_EQ(parameter_names("int f(int a) { } int f(float b) { } m.def(\"f\", &f);", "f"), Names());
  EXPECT_EQ(parameter_names("int f(int a", "f"), Names());
  EXPECT_EQ(parameter_names("m.def(\"f\", [", "f"), Names());
  EXPECT_EQ(parameter_names("", ""), Names());
  EXPECT_EQ(parameter_names("int f(void) { }", "f"), Names());
  EXPECT_EQ(parameter_names("int f(at::Tensor, int b) { }", "f"), (Names{"", "b"}));
}

}  // namespace
}  // namespace assay::host
