#include "host/reference.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "host/cache.h"
#include "host/python_run.h"
#include "host/temporary.h"

namespace assay::host {

namespace {

namespace fs = std::filesystem;

PythonRun exporter(const ReferenceRequest& rq) {
  PythonRun run;
  run.who = "the reference";
  run.path = rq.path;
  run.arguments = {"-m",
                   "assay.export",
                   fs::absolute(rq.path).string(),
                   "--output-fd",
                   "3",
                   "--altered",
                   std::to_string(rq.altered),
                   "--shapes",
                   rq.shapes,
                   "--fn",
                   rq.function,
                   "--seed",
                   std::to_string(rq.seed)};
  if (rq.eval) run.arguments.push_back("--eval");
  if (rq.inputs_only) run.arguments.push_back("--inputs-only");
  run.wall_seconds = rq.wall_seconds;
  run.memory_bytes = rq.memory_bytes;
  return run;
}

// The identity of the export, by Assay's own code alone: ref.py is read, not run. "": the exporter
// does not start.
Result<std::string> export_key(const ReferenceRequest& rq, const fs::path& work) {
  PythonRun run = exporter(rq);
  run.arguments.push_back("--key");
  ASSAY_TRY(const ProcessResult r, run_own_python(run, work, 4096));
  const bool hex =
      r.result.size() == 64 && r.result.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (hex) return r.result;
  return fail(DiagKind::Io,
              fmt::format("{} cannot run Assay's exporter (ASSAY_PYTHON names a Python with "
                          "PyTorch){}",
                          python_interpreter(), printed(r.output)));
}

Status store(const fs::path& place, const std::string& json) {
  std::error_code ec;
  fs::create_directories(place.parent_path(), ec);
  const fs::path part = place.string() + fmt::format(".{}.part", getpid());
  ASSAY_CHECK(write_file(part, json));
  fs::rename(part, place, ec);
  if (ec) return fail(DiagKind::Io, "cannot write " + place.string());
  return {};
}

}  // namespace

Result<ExportedReference> export_reference(const ReferenceRequest& rq) {
  const TemporaryFolder work("assay-ref");
  if (work.path().empty()) return fail(DiagKind::Io, "cannot make a temporary folder");
  ASSAY_TRY(const std::string key, export_key(rq, work.path()));
  ExportedReference out;
  const auto root = cache_root();
  const fs::path place = root ? *root / "refs" / (key + ".json") : fs::path();
  if (auto known = root ? read_file(place) : Result<std::string>(fail(DiagKind::Io, "")); known) {
    out.json = std::move(*known);
    out.from_cache = true;
    return out;
  }
  ASSAY_TRY(PythonAnswer answer, run_python(exporter(rq), work.path()));
  out.missing = std::move(answer.missing);
  out.json = std::move(answer.text);
  if (answer.keep && root && answer.succeeded) (void)store(place, out.json);  // best effort
  return out;
}

}  // namespace assay::host
