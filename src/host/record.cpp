#include "host/record.h"

#include <fmt/format.h>

#include <chrono>

#include "host/probe.h"
#include "ptx/module.h"

namespace assay::host {

namespace {

// Gives each module its semantic PTX: the unit that defines the same kernels.
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

}  // namespace

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
  ASSAY_TRY(SandboxResult result, run_probed(run));
  Recording out;
  out.program = std::move(result.program);
  out.program.name = request.sources.empty() ? "" : request.sources[0];
  ASSAY_CHECK(attach_semantic(compiled, &out.program));
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
