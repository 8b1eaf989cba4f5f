#pragma once
// Random valid Programs and a structural comparison through their JSON text.
#include <random>

#include "program/program.h"

namespace assay::program {

class RandomProgram {
 public:
  explicit RandomProgram(uint32_t seed) : rng_(seed) {}

  Program make() {
    Program p;
    p.name = text();
    const int buffers = 1 + below(6);
    for (int i = 0; i < buffers; ++i) p.buffers.push_back(buffer());
    const int modules = 1 + below(2);
    for (int i = 0; i < modules; ++i) {
      p.modules.push_back(
          {text(), text() + "// real", text(), {{"table", below(buffers)}}, {{text(), "expf"}}});
    }
    p.scalars.push_back({"s", DType::U8, "identity(buffer 0 [0])", 0, 0, "affine", 0.1, -0.0});
    p_ = &p;
    for (int i = below(5); i > 0; --i) p.arguments.push_back({text(), arg(), "input:0"});
    for (int i = below(8); i > 0; --i) p.steps.push_back(step());
    for (int i = below(3); i > 0; --i) p.outputs.push_back(view());
    for (int i = below(3); i > 0; --i) p.mutated.push_back(view());
    if (!p.steps.empty() && coin()) p.unjoined.push_back(below(static_cast<int>(p.steps.size())));
    p.notes.push_back({"host-read", "low", text(), -1, {"a.cu", 7, 3}});
    p.form = coin() ? "functional" : "";
    p.function = p.form.empty() ? "" : "module_fn";
    p.init_args.push_back({"0", double{1e-5}, "scalar"});
    p.changed.push_back({"batch_size", below(100)});
    return p;
  }

 private:
  int below(int n) { return static_cast<int>(rng_() % static_cast<uint32_t>(n)); }
  bool coin() { return below(2) == 0; }
  std::string text() {
    std::string out;
    for (int i = below(12); i > 0; --i) out.push_back(static_cast<char>(1 + below(126)));
    return out + (coin() ? "\u00e9" : "");
  }
  double real() {
    const double special[] = {0.0, -0.0, 1.0, 1e-5, 1.0 / 3, 1e300, INFINITY, -INFINITY};
    return special[below(8)];
  }
  Buffer buffer() {
    Buffer b;
    b.name = text();
    b.bytes = 8 * (1 + static_cast<uint64_t>(below(40)));
    b.dtype = static_cast<DType>(below(10));
    b.role = static_cast<Role>(below(5));
    b.init = static_cast<Init>(below(4));
    b.address = coin() ? 0 : 0x7f0000000000 + static_cast<uint64_t>(below(1000)) * 512;
    if (b.init == Init::Data || coin()) {
      for (uint64_t i = 0; i < b.bytes; ++i) b.data.push_back(static_cast<uint8_t>(below(256)));
    }
    if (coin()) b.example_range = {real(), real()};
    return b;
  }
  TensorView view() {
    if (below(5) == 0) return {};
    TensorView v;
    v.buffer = below(static_cast<int>(p_->buffers.size()));
    v.dtype = static_cast<DType>(below(10));
    const auto n = static_cast<int64_t>(p_->buffers[v.buffer].bytes / dtype_bytes(v.dtype));
    const int64_t cols = 1 + below(static_cast<int>(n));
    v.shape = {n / cols, 1 + below(3), cols};
    v.strides = {cols, 0, 1};
    if (coin()) std::swap(v.shape[0], v.shape[2]), std::swap(v.strides[0], v.strides[2]);
    return v;
  }
  Arg arg() {
    switch (below(10)) {
      case 0:
        return std::monostate{};
      case 1:
        return view();
      case 2:
        return std::vector<TensorView>{view(), view()};
      case 3:
        return int64_t{below(1000)} - 500;
      case 4:
        return real();
      case 5:
        return coin();
      case 6:
        return text();
      case 7:
        return std::vector<int64_t>(below(3), INT64_MIN);
      case 8:
        return std::vector<double>(below(3), real());
      default:
        return static_cast<DType>(below(10));
    }
  }
  Step step() {
    Step s;
    const int last = static_cast<int>(p_->steps.size()) - 1;
    switch (below(4)) {
      case 0: {
        OpStep op{"aten::" + text(), {}, {view()}};
        for (int i = below(5); i > 0; --i) op.args.push_back(arg());
        s.what = op;
        break;
      }
      case 1: {
        LaunchStep l;
        l.module = below(static_cast<int>(p_->modules.size()));
        l.kernel = text();
        l.grid = {4294967295u, 2, 3};
        l.params.resize(24, 0x5a);
        l.slots = {{ParamSlot::Kind::Pointer, 0, 8, 0, -16, -1},
                   {ParamSlot::Kind::Scalar, 20, 4, -1, 0, 0}};
        l.cooperative = coin();
        s.what = l;
        break;
      }
      case 2:
        if (coin()) {
          s.what = CopyStep{0, -1, 1, 0, 3, {1, 2, 3}};
        } else {
          s.what = CopyStep{0, 0, 4, 0, 4, {}};
        }
        break;
      default:
        s.what = FillStep{0, 4, 4, 0xffffffffu, 4};
    }
    s.stream = below(3);
    s.implicit_order = coin();
    if (last >= 0) s.after = {last};
    if (coin()) s.loc = {"k.cu", 12, 0};
    return s;
  }

  std::mt19937 rng_;
  Program* p_ = nullptr;
};

}  // namespace assay::program
