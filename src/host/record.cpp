#include "host/record.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <set>

#include "host/probe.h"
#include "ptx/module.h"

namespace assay::host {

Status attach_semantic(const Compiled& compiled, program::Program* p) {
  auto entries = [](const std::string& text) {
    std::vector<std::string> names;
    for (size_t at = text.find(".entry "); at != std::string::npos;
         at = text.find(".entry ", at + 7)) {
      size_t end = text.find_first_of("( \n", at + 7);
      names.push_back(text.substr(at + 7, end - at - 7));
    }
    std::sort(names.begin(), names.end());
    return names;
  };
  for (program::Module& m : p->modules) {
    std::vector<std::string> wanted = entries(m.real_ptx);
    for (const CompiledUnit& u : compiled.units) {
      if (u.semantic_ptx.empty() || entries(u.semantic_ptx) != wanted) continue;
      m.semantic_ptx = u.semantic_ptx;
      m.name = u.source;
      break;
    }
    if (m.semantic_ptx.empty()) {
      return fail(DiagKind::Internal, fmt::format("no semantic build of the module {}", m.name));
    }
  }
  return {};
}

void note_library_outputs(program::Program* p) {
  for (size_t k = 0; k < p->outputs.size(); ++k) {
    std::set<int> wanted = {p->outputs[k].buffer};
    std::vector<std::string> operators;
    bool launched = false;
    auto any = [&](const std::vector<program::TensorView>& views) {
      return std::any_of(views.begin(), views.end(),
                         [&](const program::TensorView& v) { return wanted.count(v.buffer) != 0; });
    };
    for (size_t s = p->steps.size(); s-- > 0 && !launched;) {
      const auto& what = p->steps[s].what;
      if (const auto* l = std::get_if<program::LaunchStep>(&what)) {
        for (const program::ParamSlot& slot : l->slots)
          launched = launched || (slot.kind == program::ParamSlot::Kind::Pointer &&
                                  wanted.count(slot.buffer) != 0);
      } else if (const auto* c = std::get_if<program::CopyStep>(&what)) {
        if (wanted.count(c->dst) != 0) wanted.insert(c->src);
      } else if (const auto* o = std::get_if<program::OpStep>(&what); o && any(o->outputs)) {
        for (const program::Arg& a : o->args) {
          if (const auto* v = std::get_if<program::TensorView>(&a)) wanted.insert(v->buffer);
          if (const auto* list = std::get_if<std::vector<program::TensorView>>(&a))
            for (const program::TensorView& v : *list) wanted.insert(v.buffer);
        }
        if (std::find(operators.begin(), operators.end(), o->op) == operators.end())
          operators.insert(operators.begin(), o->op);
      }
    }
    if (launched || operators.empty()) continue;
    p->notes.push_back({"harness-cheat",
                        "high",
                        fmt::format("no kernel of the candidate has part in output {}: library "
                                    "operators compute it ({})",
                                    k, fmt::join(operators, ", ")),
                        -1,
                        {}});
  }
}

Result<Recording> record(const RecordRequest& request) {
  CompileRequest c;
  c.sources = request.sources;
  c.extra_flags = request.extra_flags;
  c.wall_seconds = request.compile_seconds;
  ASSAY_TRY(Compiled compiled, compile_extension(c));
  auto start = std::chrono::steady_clock::now();
  SandboxRequest run;
  run.program.buffers = request.buffers;
  run.program.arguments = request.arguments;
  run.extension = compiled.extension;
  run.entry = request.entry;
  run.limits = request.limits;
  auto repetition = std::async(std::launch::async, [&]() -> Repetition {
    return request.repeat ? repeat_calls(run) : Repetition{};
  });
  auto probed = run_probed(run);
  Repetition repeated = repetition.get();
  ASSAY_TRY(SandboxResult result, std::move(probed));
  Recording out;
  out.program = std::move(result.program);
  out.program.name = request.sources.empty() ? "" : request.sources[0];
  ASSAY_CHECK(attach_semantic(compiled, &out.program));
  note_library_outputs(&out.program);
  for (program::Note& n : repeated.notes) out.program.notes.push_back(std::move(n));
  for (LaterCall& later : repeated.calls) {
    ASSAY_CHECK(attach_semantic(compiled, &later.program));
    out.later.push_back(std::move(later));
  }
  if (!result.exception.empty()) {
    out.program.notes.push_back(
        {"host-exception", "info", "host code threw: " + result.exception, -1, {}});
  }
  out.compile_seconds = compiled.seconds;
  out.compiled_from_cache = compiled.from_cache;
  out.record_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  out.missing_confinement = std::move(result.missing);
  out.output = std::move(result.output);
  return out;
}

Result<program::Program> record_extension(const RecordRequest& request) {
  ASSAY_TRY(Recording r, record(request));
  return std::move(r.program);
}

}  // namespace assay::host
