#pragma once
// Making operator steps in tests: every tensor gets a buffer of its own, contiguous unless changed.
#include <random>
#include <string>
#include <vector>

#include "program/program.h"
#include "tensor/eval.h"
#include "tensor/nest.h"

namespace assay::tensor::test {

using program::Arg;
using program::DType;
using program::OpStep;
using program::TensorView;

class StepMaker {
 public:
  TensorView view(const std::vector<int64_t>& shape, DType dtype = DType::F32) {
    TensorView v;
    v.buffer = next_++;
    v.dtype = dtype;
    v.shape = shape;
    v.strides.assign(shape.size(), 1);
    for (size_t k = shape.size(); k-- > 1;) v.strides[k - 1] = v.strides[k] * shape[k];
    return v;
  }

  // A step with outputs as infer() says; fails the caller's check if infer does.
  Result<OpStep> step(std::string op, std::vector<Arg> args) {
    ASSAY_TRY(std::vector<OutputSpec> specs, infer(op, args));
    OpStep s{std::move(op), std::move(args), {}};
    for (const OutputSpec& spec : specs) s.outputs.push_back(view(spec.shape, spec.dtype));
    return s;
  }

 private:
  int next_ = 0;
};

// Memory for a step: each buffer as large as its view needs.
class StepData {
 public:
  explicit StepData(const OpStep& step) {
    for (const Arg& a : step.args) {
      if (auto* v = std::get_if<TensorView>(&a)) reserve(*v);
      if (auto* l = std::get_if<std::vector<TensorView>>(&a)) {
        for (const TensorView& v : *l) reserve(v);
      }
    }
    for (const TensorView& v : step.outputs) reserve(v);
  }
  BufferBytes spans() { return {bytes.begin(), bytes.end()}; }
  float* floats(int buffer) {
    return reinterpret_cast<float*>(bytes[static_cast<size_t>(buffer)].data());
  }
  int64_t* ints(int buffer) {
    return reinterpret_cast<int64_t*>(bytes[static_cast<size_t>(buffer)].data());
  }
  std::vector<std::vector<uint8_t>> bytes;

 private:
  void reserve(const TensorView& v) {
    if (v.buffer < 0) return;
    int64_t last = v.offset + 1;
    for (size_t k = 0; k < v.shape.size(); ++k) {
      if (v.shape[k] > 0 && v.strides[k] > 0) last += (v.shape[k] - 1) * v.strides[k];
    }
    size_t size = static_cast<size_t>(last) * program::dtype_bytes(v.dtype);
    if (bytes.size() <= static_cast<size_t>(v.buffer)) bytes.resize(v.buffer + 1);
    auto& b = bytes[static_cast<size_t>(v.buffer)];
    b.resize(std::max(b.size(), size), 0);
  }
};

}  // namespace assay::tensor::test
