#include "tests/unit/host/helpers.h"

namespace assay::host::test {
namespace {

const char* const kVectorAdd = R"(
#include <torch/extension.h>
__global__ void add(const float* a, const float* b, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = a[i] + expf(b[i]);
}
torch::Tensor forward(torch::Tensor a, torch::Tensor b) {
  TORCH_CHECK(a.is_cuda() && a.sizes() == b.sizes(), "shapes differ: ", a.sizes(), " and ", b.sizes());
  auto out = torch::empty_like(a);
  int n = a.numel();
  add<<<(n + 255) / 256, 256>>>(a.data_ptr<float>(), b.data_ptr<float>() + 3, out.data_ptr<float>(), n);
  return out;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward, "vector add"); }
)";

TEST(Record, VectorAdd) {
  Scratch s;
  RecordRequest r;
  add_tensor(&r, "a", {30, 100});
  add_tensor(&r, "b", {30, 100});
  r.entry = "forward";
  auto p = record_text(s, r, kVectorAdd);
  ASSERT_OK(p);
  ASSERT_EQ(p->steps.size(), 1u);
  auto& l = std::get<program::LaunchStep>(p->steps[0].what);
  EXPECT_EQ(l.kernel, "_Z3addPKfS0_Pfi");
  EXPECT_EQ(l.grid, (std::array<uint32_t, 3>{12, 1, 1}));
  EXPECT_EQ(l.block, (std::array<uint32_t, 3>{256, 1, 1}));
  ASSERT_EQ(l.slots.size(), 3u);
  EXPECT_EQ(l.slots[0].buffer, 0);
  EXPECT_EQ(l.slots[1].buffer, 1);
  EXPECT_EQ(l.slots[1].addend, 12);
  EXPECT_EQ(l.slots[1].offset, 8u);
  EXPECT_EQ(l.slots[2].buffer, 2);
  ASSERT_EQ(l.params.size(), 28u);
  EXPECT_EQ(l.params[24] + 256 * l.params[25], 3000);
  ASSERT_EQ(p->buffers.size(), 3u);
  EXPECT_EQ(p->buffers[0].name, "a");
  EXPECT_EQ(p->buffers[0].role, program::Role::Input);
  EXPECT_EQ(p->buffers[2].role, program::Role::Temp);
  EXPECT_EQ(p->buffers[2].init, program::Init::Poison);
  for (size_t k = 0; k < 3; ++k) {
    EXPECT_GT(p->buffers[k].address, 1ull << 32);
    for (size_t j = 0; j < k; ++j)
      EXPECT_GE(p->buffers[k].address - p->buffers[j].address, 1ull << 32);
  }
  ASSERT_EQ(p->outputs.size(), 1u);
  EXPECT_EQ(p->outputs[0].buffer, 2);
  EXPECT_EQ(p->outputs[0].shape, (std::vector<int64_t>{30, 100}));
  ASSERT_EQ(p->modules.size(), 1u);
  EXPECT_NE(p->modules[0].semantic_ptx.find("assay_expf"), std::string::npos);
  EXPECT_EQ(p->modules[0].real_ptx.find("assay_expf"), std::string::npos);
  EXPECT_NE(p->modules[0].real_ptx.find(".loc"), std::string::npos);
  EXPECT_TRUE(p->notes.empty());
}

TEST(Record, ArgumentsThatDoNotFit) {
  Scratch s;
  RecordRequest r;
  add_tensor(&r, "a", {4});
  auto p = record_text(s, r, kVectorAdd);
  ASSERT_FALSE(p.has_value());
  EXPECT_EQ(p.error().kind, DiagKind::Invalid);
  EXPECT_NE(p.error().message.find("forward(Tensor, Tensor)"), std::string::npos)
      << p.error().message;
  r.arguments.push_back({"b", 2.0, ""});
  p = record_text(s, r, kVectorAdd);
  ASSERT_FALSE(p.has_value());
  EXPECT_NE(p.error().message.find("(Tensor, float)"), std::string::npos) << p.error().message;
  r.arguments.pop_back();
  add_tensor(&r, "b", {5});
  p = record_text(s, r, kVectorAdd);
  ASSERT_FALSE(p.has_value());
  EXPECT_NE(p.error().message.find("shapes differ: [4] and [5]"), std::string::npos)
      << p.error().message;
  r.entry = "backward";
  p = record_text(s, r, kVectorAdd);
  ASSERT_FALSE(p.has_value());
  EXPECT_NE(p.error().message.find("no function 'backward'; it has: forward"), std::string::npos);
}

TEST(Record, CompilerErrorsNameTheLine) {
  Scratch s;
  RecordRequest r;
  add_tensor(&r, "a", {4});
  auto p = record_text(s, r, "#include <torch/extension.h>\nint f() {\n  return undeclared;\n}\n");
  ASSERT_FALSE(p.has_value());
  EXPECT_EQ(p.error().kind, DiagKind::Invalid);
  EXPECT_EQ(p.error().loc.line, 3u) << p.error().message;
  EXPECT_NE(p.error().message.find("undeclared"), std::string::npos);
  r.extra_flags = {"-Xcompiler", "-O2", "--compiler-bindir=/tmp/evil"};
  p = record_text(s, r, kVectorAdd);
  ASSERT_FALSE(p.has_value());
  EXPECT_NE(p.error().message.find("--compiler-bindir"), std::string::npos);
}

}  // namespace
}  // namespace assay::host::test
