// assay_tensor_eval PROGRAM.json OUT.bin: runs the operator steps of a Program in order, in IEEE
// arithmetic, and appends the elements of each step's outputs (row-major) to OUT.bin.
// For each step one JSON line on stdout: {"step", "error": text or null, "bytes": written}.
//
// Each step is checked twice over: its outputs against infer(), and a pseudo-random subset of the
// output elements, evaluated on demand, against the whole evaluation.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>

#include "program/program.h"
#include "tensor/eval.h"
#include "tensor/nest.h"

namespace assay::tensor {
namespace {

using program::OpStep;
using program::Program;
using program::TensorView;

using Memory = std::vector<std::vector<uint8_t>>;

BufferBytes spans(Memory& memory) { return {memory.begin(), memory.end()}; }

Status check_infer(const OpStep& step) {
  ASSAY_TRY(std::vector<OutputSpec> specs, infer(step.op, step.args));
  for (size_t k = 0; k < std::min(specs.size(), step.outputs.size()); ++k) {
    const TensorView& v = step.outputs[k];
    if (v.buffer >= 0 && (specs[k].shape != v.shape || specs[k].dtype != v.dtype)) {
      return fail(DiagKind::Internal, fmt::format("infer: output {} differs", k));
    }
  }
  return {};
}

// Evaluates some elements of each output in `before` and compares them with `after`.
Status check_subset(const Lowered& op, Memory before, Memory& after, std::mt19937& rng) {
  std::vector<ElemSet> wanted(op.tensors.size());
  std::vector<bool> written(op.tensors.size(), false);
  for (const Nest& n : op.nests) written[static_cast<size_t>(n.write.operand)] = true;
  for (size_t t = 0; t < op.tensors.size(); ++t) {
    const TensorView& v = op.tensors[t].view;
    if (!written[t] || op.tensors[t].is_temp || v.numel() == 0) continue;
    for (int k = 0; k < 5; ++k)
      wanted[t].insert(v.element(static_cast<int64_t>(rng() % v.numel())));
  }
  ASSAY_CHECK(evaluate(op, spans(before), wanted));
  for (size_t t = 0; t < op.tensors.size(); ++t) {
    const TensorView& v = op.tensors[t].view;
    size_t width = program::dtype_bytes(v.dtype);
    bool same = true;
    wanted[t].for_each([&](int64_t e) {
      size_t at = static_cast<size_t>(e) * width, b = static_cast<size_t>(v.buffer);
      same = same && std::memcmp(&before[b][at], &after[b][at], width) == 0;
    });
    if (!same) return fail(DiagKind::Internal, fmt::format("subset of tensor {} differs", t));
  }
  return {};
}

Status run_step(const OpStep& step, Memory& memory, std::mt19937& rng) {
  ASSAY_CHECK(check_infer(step));
  ASSAY_TRY(Lowered op, lower(step));
  Memory before = memory;
  ASSAY_CHECK(evaluate(op, spans(memory)));
  return check_subset(op, std::move(before), memory, rng);
}

int64_t write_outputs(const OpStep& step, const Memory& memory, std::ostream& out) {
  int64_t total = 0;
  for (const TensorView& v : step.outputs) {
    if (v.buffer < 0) continue;
    size_t width = program::dtype_bytes(v.dtype);
    for (int64_t k = 0; k < v.numel(); ++k) {
      const uint8_t* p =
          memory[static_cast<size_t>(v.buffer)].data() + static_cast<size_t>(v.element(k)) * width;
      out.write(reinterpret_cast<const char*>(p), static_cast<std::streamsize>(width));
      total += static_cast<int64_t>(width);
    }
  }
  return total;
}

// A step with its buffers renumbered 0, 1, ... (a file may hold thousands of steps).
struct LocalStep {
  OpStep step;
  std::vector<int> buffers;  // numbers in the Program
  void renumber(TensorView* v) {
    if (v->buffer < 0) return;
    auto at = std::find(buffers.begin(), buffers.end(), v->buffer);
    if (at == buffers.end()) at = buffers.insert(at, v->buffer);
    v->buffer = static_cast<int>(at - buffers.begin());
  }
  explicit LocalStep(const OpStep& from) : step(from) {
    for (program::Arg& a : step.args) {
      if (auto* v = std::get_if<TensorView>(&a)) renumber(v);
      if (auto* l = std::get_if<std::vector<TensorView>>(&a)) {
        for (TensorView& v : *l) renumber(&v);
      }
    }
    for (TensorView& v : step.outputs) renumber(&v);
  }
};

int run(const std::string& in, const std::string& out_path) {
  std::ifstream file(in, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  auto program = program::from_json(text);
  if (text.empty()) {
    std::cerr << "cannot read " << in << "\n";
    return 4;
  }
  if (!program) {
    std::cerr << format_diag(program.error()) << "\n";
    return 4;
  }
  std::ofstream out(out_path, std::ios::binary);
  std::mt19937 rng(1);
  std::vector<std::vector<uint8_t>> state(program->buffers.size());
  for (size_t k = 0; k < state.size(); ++k) {
    state[k] = program->buffers[k].data;
    // Poison: all ones, a NaN in every float type.
    state[k].resize(program->buffers[k].bytes,
                    program->buffers[k].init == program::Init::Zero ? 0 : 0xff);
  }
  for (size_t k = 0; k < program->steps.size(); ++k) {
    auto* step = std::get_if<OpStep>(&program->steps[k].what);
    nlohmann::json line = {{"step", k}, {"error", nullptr}, {"bytes", 0}};
    if (step == nullptr) {
      line["error"] = "not an operator";
    } else {
      LocalStep local(*step);
      Memory memory;
      for (int b : local.buffers) memory.push_back(state[static_cast<size_t>(b)]);
      Status status = run_step(local.step, memory, rng);
      if (status) {
        line["bytes"] = write_outputs(local.step, memory, out);
        for (size_t b = 0; b < memory.size(); ++b) {
          state[static_cast<size_t>(local.buffers[b])] = std::move(memory[b]);
        }
      } else {
        line["error"] = format_diag(status.error());
      }
    }
    std::cout << line.dump() << "\n";
  }
  return 0;
}

}  // namespace
}  // namespace assay::tensor

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: assay_tensor_eval PROGRAM.json OUT.bin\n";
    return 4;
  }
  return assay::tensor::run(argv[1], argv[2]);
}
