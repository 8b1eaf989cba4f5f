#include "host/candidate.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "host/extension_server.h"
#include "host/python_run.h"
#include "host/record.h"
#include "host/temporary.h"

namespace assay::host {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// Looks at the further calls that the program was given: raw recordings, whose steps and buffers
// begin with those of the first call.
// `constructed`: as many of the first steps are the constructor's, which no call repeats.
Status further_calls(const ExtensionServer& server, const Json& raw, size_t constructed,
                     RecordedCandidate* out) {
  std::vector<program::Program> calls;
  for (const Json& j : raw) {
    ASSAY_TRY(program::Program p, program::from_json(j.dump()));
    ASSAY_CHECK(server.attach_modules(&p));
    calls.push_back(std::move(p));
  }
  if (calls.empty()) return {};
  program::Program first = calls[0];
  const auto begin = first.steps.begin();
  first.steps.erase(begin,
                    begin + static_cast<std::ptrdiff_t>(std::min(constructed, first.steps.size())));
  auto& notes = out->set.programs.front().notes;
  for (size_t k = 1; k < calls.size(); ++k) {
    auto later = compare_call(first, calls[k - 1], calls[k], &notes);
    if (later) out->later.push_back(std::move(*later));
  }
  return {};
}

}  // namespace

Result<RecordedCandidate> record_candidate(const CandidateRequest& rq) {
  const TemporaryFolder work("assay-model");
  if (work.path().empty()) return fail(DiagKind::Io, "cannot make a temporary folder");
  CandidateRequest request = rq;
  request.path = fs::absolute(rq.path).string();
  ExtensionServer server(request, work.path().string());
  PythonRun run;
  run.who = "the program";
  run.path = rq.path;
  run.arguments = {"-m",         "assay.candidate",
                   request.path, fs::absolute(rq.reference).string(),
                   "--seed",     std::to_string(rq.seed)};
  if (rq.eval) run.arguments.push_back("--eval");
  run.wall_seconds = rq.wall_seconds;
  run.memory_bytes = rq.memory_bytes;
  run.answer = [&server](const std::string& line) { return server.answer(line); };
  ASSAY_TRY(const PythonAnswer answer, run_python(run, work.path()));
  RecordedCandidate out;
  out.missing_confinement = answer.missing;
  ASSAY_TRY(out.set, program::set_from_json(answer.text));
  if (out.set.programs.empty()) return fail(DiagKind::Invalid, "the recording is spoiled");
  for (program::Program& p : out.set.programs) {
    ASSAY_CHECK(server.attach_modules(&p));
    note_library_outputs(&p);
  }
  const Json all = Json::parse(answer.text, nullptr, false);
  if (all.is_object() && all.contains("calls"))
    ASSAY_CHECK(further_calls(server, all["calls"], all.value("constructed", size_t{0}), &out));
  return out;
}

}  // namespace assay::host
