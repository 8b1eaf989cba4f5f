// In-place operators ("add_"): the functional form written to self.
#include <fmt/format.h>

#include "assay/error.h"
#include "host/standalone/rt/call.h"

namespace assay::host {

namespace {

void check_no_overlap(int32_t id) {
  const TensorImpl& t = Recorder::get().tensor(id);
  for (size_t k = 0; k < t.sizes.size(); ++k) {
    if (t.sizes[k] > 1 && t.strides[k] == 0) {
      throw c10::Error(
          "unsupported operation: more than one element of the written-to tensor refers to a "
          "single "
          "memory location. Please clone() the tensor before performing the operation.");
    }
  }
}

// The whole contiguous storage as one memset.
void zero(int32_t id) {
  Recorder& r = Recorder::get();
  const TensorImpl t = r.tensor(id);
  if (element_count(t.sizes) == 0) return;
  if (!is_contiguous(t)) {
    emit("aten::fill.Scalar", {arg_of(id), int64_t{0}}, {id});
    return;
  }
  program::FillStep fill;
  fill.dst = r.storage(t.storage).buffer;
  uint64_t size = program::dtype_bytes(t.dtype);
  fill.offset = t.offset * static_cast<int64_t>(size);
  fill.bytes = static_cast<uint64_t>(element_count(t.sizes)) * size;
  program::Step step;
  step.what = fill;
  step.stream = r.current_stream();
  r.add_step(std::move(step), {fill.dst});
}

}  // namespace

std::optional<Outs> call_in_place(const Call& c) {
  if (c.name.size() < 2 || c.name.back() != '_') return std::nullopt;
  std::string base = c.name.substr(0, c.name.size() - 1);
  int32_t self = c.tensor(0);
  Recorder& r = Recorder::get();
  if (base == "unsqueeze" || base == "squeeze" || base == "resize" || base == "set") {
    r.unsupported("the in-place operator " + c.name);
  }
  check_no_overlap(self);
  if (base == "zero") {
    zero(self);
    return Outs{self};
  }
  if (base == "fill") {
    emit_by_name("fill", c.args, {self});
    return Outs{self};
  }
  if (base == "copy") {
    emit("aten::copy", {arg_of(self), c.args.at(1)}, {self});
    return Outs{self};
  }
  // Compositions (relu6_, addmm_ by decomposition, ...) go to a temporary, then into self.
  Call functional = c;
  functional.name = base;
  if (base == "relu" || base == "add" || base == "mul" || base == "div" || base == "sub") {
    emit_by_name(base, c.args, {self});
    return Outs{self};
  }
  size_t steps = r.program().steps.size();
  Outs outs = call_operator(functional);
  // If the last step made the result and nothing else uses it, let it write self directly.
  auto& all = r.program().steps;
  if (outs.size() == 1 && all.size() == steps + 1) {
    auto* op = std::get_if<program::OpStep>(&all.back().what);
    const TensorImpl made = r.tensor(outs[0]), own = r.tensor(self);
    if (op != nullptr && op->outputs.size() == 1 && made.sizes == own.sizes &&
        made.dtype == own.dtype) {
      op->outputs[0] = r.view(self);
      r.touch(op->outputs[0].buffer, true);
      return Outs{self};
    }
  }
  emit("aten::copy", {arg_of(self), arg_of(outs.at(0))}, {self});
  return Outs{self};
}

}  // namespace assay::host
