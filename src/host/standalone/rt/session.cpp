#include "host/standalone/rt/session.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace assay::host {

Outcome Session::begin(const std::string& program_json, const Settings& settings) {
  auto request = program::from_json(program_json);
  if (!request) return {false, "internal", "the request: " + request.error().message};
  Recorder::get().begin(std::move(*request), settings);
  return {true, "ok", ""};
}

Outcome Session::program_json(std::string* out) {
  Recorder& r = Recorder::get();
  program::Program p = r.program();
  for (size_t k = 0; k < r.request_buffers() && k < p.buffers.size(); ++k) {
    p.buffers[k].data.clear();
    if (p.buffers[k].init == program::Init::Data) p.buffers[k].init = program::Init::Symbolic;
  }
  bool one_stream = true;
  for (const program::Step& s : p.steps) one_stream = one_stream && s.stream == 0;
  for (program::Step& s : p.steps) {
    s.implicit_order = one_stream;
    if (one_stream) s.after.clear();
  }
  if (!one_stream) {
    const std::vector<int> joined = r.done_before(r.current_stream());
    for (int s = 0; s < static_cast<int>(p.steps.size()); ++s)
      if (!std::binary_search(joined.begin(), joined.end(), s)) p.unjoined.push_back(s);
  }
  // Argument tensors that operators, copies and fills write; what kernels write is for the check to
  // find.
  for (const program::Argument& a : p.arguments) {
    auto add = [&](const program::TensorView& v) {
      if (v.buffer >= 0 && r.surely_written(v.buffer)) p.mutated.push_back(v);
    };
    if (auto* v = std::get_if<program::TensorView>(&a.value)) add(*v);
    if (auto* l = std::get_if<std::vector<program::TensorView>>(&a.value)) {
      for (const program::TensorView& v : *l) add(v);
    }
  }
  auto text = program::to_json(p);
  if (!text) return {false, "internal", "the recording: " + text.error().message};
  *out = std::move(*text);
  return {true, "ok", ""};
}

void Session::next_call(bool new_inputs) {
  Recorder& r = Recorder::get();
  std::lock_guard lock(r.mutex());
  program::Program& p = r.program();
  if (first_arguments_.empty()) first_arguments_ = p.arguments;
  p.outputs.clear();
  p.arguments = first_arguments_;
  auto renew = [&](program::TensorView& v) {
    if (v.buffer < 0 || !new_inputs) return;
    const program::Buffer old = p.buffers[static_cast<size_t>(v.buffer)];
    if (old.role != program::Role::Input) return;
    const int s = r.new_storage(old.bytes, old.dtype, true, old.init, old.role, old.data);
    v.buffer = r.storage(s).buffer;
    program::Buffer& now = p.buffers[static_cast<size_t>(v.buffer)];
    now.name = old.name;
    now.example_range = old.example_range;
  };
  for (program::Argument& a : p.arguments) {
    if (auto* v = std::get_if<program::TensorView>(&a.value)) renew(*v);
    if (auto* l = std::get_if<std::vector<program::TensorView>>(&a.value))
      for (program::TensorView& v : *l) renew(v);
  }
}

std::string Session::reads_json() {
  nlohmann::json out = nlohmann::json::array();
  for (const HostRead& h : Recorder::get().reads()) {
    if (h.known) continue;
    if (out.size() >= 4096) break;
    bool real = program::dtype_is_float(h.dtype);
    nlohmann::json one = {{"buffer", h.buffer},
                          {"element", h.element},
                          {"version", h.version},
                          {"dtype", program::dtype_name(h.dtype)}};
    one["value"] = real ? nlohmann::json(h.value) : nlohmann::json(h.ivalue);
    out.push_back(std::move(one));
  }
  return out.dump();
}

std::string Session::done_json() {
  Recorder& r = Recorder::get();
  return nlohmann::json{r.done_before(0), r.done_before(r.current_stream())}.dump();
}

std::string Session::unsupported_reason() { return Recorder::get().unsupported_reason(); }

}  // namespace assay::host
