// Static state of host code, and outputs that no kernel computes.
#include "tests/unit/host/helpers.h"

namespace assay::host::test {
namespace {

const char* const kSource = R"(
#include <torch/extension.h>
#include <map>
__global__ void scale(const float* x, const float* w, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * w[i];
}
__global__ void copy(const float* w, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = w[i];
}
using T = torch::Tensor;
void run(T x, T w, T y) {
  int n = x.numel();
  scale<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), n);
}
T plain(T x, T w) { auto y = torch::empty_like(x); run(x, w, y); return y; }
T by_pointer(T x, T w) {
  static std::map<void*, T> cache;
  auto it = cache.find(x.data_ptr());
  if (it != cache.end()) return it->second;
  return cache[x.data_ptr()] = plain(x, w);
}
T once(T x, T w) { static T y = plain(x, w); return y; }
T scratch(T x, T w) {
  static T t = torch::empty_like(x);
  run(x, w, t);
  auto y = torch::empty_like(x);
  run(t, w, y);
  return y;
}
T packed(T x, T w) {
  static T p;
  int n = w.numel();
  if (!p.defined()) {
    p = torch::empty_like(w);
    copy<<<(n + 255) / 256, 256>>>(w.data_ptr<float>(), p.data_ptr<float>(), n);
  }
  return plain(x, p);
}
T second_throws(T x, T w) {
  static int calls = 0;
  TORCH_CHECK(calls++ == 0, "only once");
  return plain(x, w);
}
T library(T x, T w) { return torch::relu(x) * w; }
T half_library(T x, T w) { return torch::relu(plain(x, w)); }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("plain", &plain); m.def("by_pointer", &by_pointer); m.def("once", &once);
  m.def("scratch", &scratch); m.def("packed", &packed); m.def("second_throws", &second_throws);
  m.def("library", &library); m.def("half_library", &half_library);
}
)";

class Repeat : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    scratch_ = new Scratch;
    source_ = scratch_->write("kernel.cu", kSource);
  }
  static void TearDownTestSuite() { delete scratch_; }
  static Result<Recording> run(const std::string& entry, bool repeat = true) {
    RecordRequest r;
    add_tensor(&r, "x", {1000});
    add_tensor(&r, "w", {1000}, program::DType::F32, program::Role::Parameter);
    r.sources = {source_};
    r.entry = entry;
    r.repeat = repeat;
    return record(r);
  }
  static Scratch* scratch_;
  static std::string source_;
};
Scratch* Repeat::scratch_ = nullptr;
std::string Repeat::source_;

TEST_F(Repeat, NothingIsKept) {
  auto r = run("plain");
  ASSERT_OK(r);
  EXPECT_TRUE(r->later.empty());
  EXPECT_TRUE(r->program.notes.empty());
  EXPECT_EQ(r->program.steps.size(), 1u);
}

TEST_F(Repeat, ACacheByPointerShowsInTheThirdCall) {
  auto r = run("by_pointer");
  ASSERT_OK(r);
  ASSERT_EQ(r->later.size(), 1u);
  const LaterCall& call = r->later[0];
  EXPECT_NE(call.what.find("third"), std::string::npos);
  EXPECT_EQ(call.differs, "1 steps in the first call, 0 in this one");
  EXPECT_TRUE(call.from_inputs);
  // Two launches, then the new contents of x; x is what is copied in, the rest are earlier inputs.
  ASSERT_EQ(call.program.steps.size(), 3u);
  const auto& copy = std::get<program::CopyStep>(call.program.steps[2].what);
  EXPECT_EQ(copy.dst, 0);
  EXPECT_EQ(std::get<program::TensorView>(call.program.arguments[0].value).buffer, copy.src);
  ASSERT_EQ(call.program.arguments.size(), 4u);
  EXPECT_EQ(call.program.arguments[3].source, "earlier");
  EXPECT_TRUE(has_note(r->program, "shared-output"));
}

TEST_F(Repeat, OneResultForAllCalls) {
  auto r = run("once");
  ASSERT_OK(r);
  ASSERT_EQ(r->later.size(), 2u);
  for (const LaterCall& call : r->later) {
    EXPECT_TRUE(call.from_inputs);
    EXPECT_FALSE(call.differs.empty());
    EXPECT_FALSE(call.program.modules.at(0).semantic_ptx.empty());
  }
}

TEST_F(Repeat, ScratchThatIsKeptIsLookedAt) {
  auto r = run("scratch");
  ASSERT_OK(r);
  ASSERT_EQ(r->later.size(), 2u);
  EXPECT_EQ(r->later[0].differs, "");
  EXPECT_FALSE(has_note(r->program, "shared-output"));
}

TEST_F(Repeat, WeightsAreTransformedOnce) {
  auto r = run("packed");
  ASSERT_OK(r);
  ASSERT_EQ(r->later.size(), 2u);
  EXPECT_TRUE(r->later[0].from_parameters);
  EXPECT_EQ(r->later[0].differs, "2 steps in the first call, 1 in this one");
}

TEST_F(Repeat, AFailureOfALaterCallIsANote) {
  auto r = run("second_throws");
  ASSERT_OK(r);
  EXPECT_TRUE(has_note(r->program, "static-state"));
  EXPECT_FALSE(has_note(run("second_throws", false)->program, "static-state"));
}

TEST_F(Repeat, AnOutputThatNoKernelComputes) {
  auto r = run("library", false);
  ASSERT_OK(r);
  ASSERT_TRUE(has_note(r->program, "harness-cheat"));
  EXPECT_NE(r->program.notes[0].message.find("(aten::relu, aten::mul.Tensor)"), std::string::npos)
      << r->program.notes[0].message;
  r = run("half_library", false);
  ASSERT_OK(r);
  EXPECT_FALSE(has_note(r->program, "harness-cheat"));
}

}  // namespace
}  // namespace assay::host::test
