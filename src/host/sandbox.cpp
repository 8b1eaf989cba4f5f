#include "host/sandbox.h"

#include <fmt/format.h>
#include <signal.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/install.h"
#include "host/process.h"
#include "host/temporary.h"

namespace assay::host {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

std::string last_lines(const std::string& text) {
  size_t n = text.size();
  while (n > 0 && text[n - 1] == '\n') --n;
  std::string t = text.substr(0, n);
  return t.size() > 600 ? "..." + t.substr(t.size() - 600) : t;
}

// The outcome of the runner (runner.cpp, objects.cpp) as a Diag; `said`: what host code printed.
Diag diag_of(const std::string& outcome, const std::string& message, const std::string& said) {
  std::string tail = said.empty() ? "" : "; it printed: " + last_lines(said);
  if (outcome == "exception") return {DiagKind::Invalid, "host code threw: " + message + tail, {}};
  if (outcome == "mismatch" || outcome == "no-entry") return {DiagKind::Invalid, message, {}};
  if (outcome == "crash" || outcome == "exit") return {DiagKind::Invalid, message + tail, {}};
  if (outcome == "forbidden") {
    return {DiagKind::Invalid, message + ", which the sandbox forbids" + tail, {}};
  }
  if (outcome == "unsupported") return {DiagKind::Unsupported, "host code: " + message, {}};
  if (outcome == "load") {
    size_t at = message.find("undefined symbol: ");
    if (at == std::string::npos) return {DiagKind::Invalid, "the extension: " + message, {}};
    return {DiagKind::Unsupported,
            "host code calls " + message.substr(at + 18) +
                ", which Assay's stand-in libraries do not have",
            {}};
  }
  if (outcome == "memory" || outcome == "cpu") return {DiagKind::Limit, message + tail, {}};
  return {DiagKind::Internal, "the host runner: " + message, {}};
}

// What the runner leaves out of the request's own buffers.
void restore(const std::vector<program::Buffer>& given, program::Program* p) {
  for (size_t k = 0; k < std::min(given.size(), p->buffers.size()); ++k) {
    p->buffers[k].data = given[k].data;
    p->buffers[k].init = given[k].init;
  }
}

Result<SandboxResult> decode(const Json& answer, const SandboxRequest& request,
                             const std::string& said) {
  std::string outcome = answer.at("outcome").get<std::string>();
  std::string message = answer.at("message").get<std::string>();
  SandboxResult out;
  out.output = said;
  if (answer.contains("missing")) out.missing = answer["missing"].get<std::vector<std::string>>();
  bool has_program = answer.contains("program") && answer["program"].is_object();
  if (has_program && (outcome == "ok" || outcome == "exception")) {
    ASSAY_TRY(out.program, program::from_json(answer["program"].dump()));
    const auto& given = request.program.buffers;
    if (out.program.buffers.size() < given.size()) {
      return fail(DiagKind::Internal, "the host runner lost buffers");
    }
    restore(given, &out.program);
  }
  if (outcome == "exception") {
    for (const program::Note& n : out.program.notes) {
      if (n.severity == "verdict") {  // host code noticed the refused launch
        out.exception = message;
        return out;
      }
    }
  }
  if (outcome != "ok" || !has_program) return tl::unexpected<Diag>(diag_of(outcome, message, said));
  for (const Json& call : answer.value("later", Json::array())) {
    if (!call.contains("program")) {
      out.later_error = call.at("message").get<std::string>();
      break;
    }
    ASSAY_TRY(program::Program p, program::from_json(call["program"].dump()));
    restore(request.program.buffers, &p);
    out.later.push_back(std::move(p));
  }
  if (answer.contains("done")) out.done = answer["done"].get<std::vector<std::vector<int>>>();
  out.returned = answer.value("returned", "null");
  for (const Json& r : answer.at("reads")) {
    HostReadRecord read;
    read.buffer = r.at("buffer").get<int>();
    read.element = r.at("element").get<int64_t>();
    read.version = r.at("version").get<uint64_t>();
    read.dtype =
        program::parse_dtype(r.at("dtype").get<std::string>()).value_or(program::DType::F32);
    read.value = r.at("value").get<double>();
    out.reads.push_back(read);
  }
  return out;
}

std::string request_text(const SandboxRequest& request, const fs::path& work,
                         const fs::path& helper) {
  program::Program p = request.program;
  for (program::Buffer& b : p.buffers) {
    // Host code may read integers and constants; the bytes of floating inputs are never used.
    bool needed = b.init == program::Init::Data || !program::dtype_is_float(b.dtype);
    if (!needed || b.data.size() > (64u << 20)) {
      b.data.clear();
      if (b.init == program::Init::Data) b.init = program::Init::Symbolic;
    }
  }
  auto text = program::to_json(p);
  Json j;
  j["program"] = Json::parse(text ? *text : "null", nullptr, false);
  j["extension"] = request.extension;
  j["entry"] = request.entry;
  j["work_dir"] = work.string();
  j["read_paths"] = {helper.parent_path().string(),
                     fs::path(request.extension).parent_path().string()};
  j["memory_bytes"] = request.limits.memory_bytes;
  j["cpu_seconds"] = request.limits.cpu_seconds;
  j["run"] = request.run;
  j["calls"] = request.calls;
  j["amid"] = request.amid;
  j["side"] = request.side;
  return j.dump();
}

}  // namespace

Result<SandboxResult> run_confined(const SandboxRequest& request) {
  ASSAY_TRY(fs::path runner, helper_program("assay-host-runner"));
  const TemporaryFolder work("assay-host");
  if (work.path().empty()) return fail(DiagKind::Io, "cannot make a temporary folder");
  ProcessSpec spec;
  spec.argv = {runner.string()};
  spec.input = request_text(request, work.path(), runner);
  spec.cwd = work.path().string();
  spec.clean_env = true;  // nothing of the user's environment is host code's business
  spec.env = {"PATH=/usr/bin:/bin", "HOME=" + work.path().string(),
              "TMPDIR=" + work.path().string(), "LC_ALL=C.UTF-8"};
  spec.wall_seconds = request.limits.wall_seconds;
  spec.max_output = 64 * 1024;
  spec.max_result = request.limits.result_bytes;
  ASSAY_TRY(ProcessResult r, run_process(spec));
  if (r.timed_out) {
    return fail(DiagKind::Limit,
                fmt::format("host code did not finish within {} s", spec.wall_seconds));
  }
  if (r.result_too_long) {
    return fail(DiagKind::Limit,
                fmt::format("the recording is larger than {} MB", spec.max_result >> 20));
  }
  if (r.result.empty()) {
    if (r.signal == SIGSYS) {  // fork blocks all signals before its system call
      return fail(DiagKind::Invalid,
                  "host code tried to start a process, which the sandbox forbids");
    }
    if (r.signal == SIGKILL) {
      return fail(DiagKind::Limit, "host code was killed (processor time or memory)");
    }
    return fail(DiagKind::Internal,
                fmt::format("the host runner ended without an answer (exit {}, signal {}): {}",
                            r.exit_code, r.signal, last_lines(r.output)));
  }
  Json answer = Json::parse(r.result, nullptr, false);
  try {
    if (!answer.is_object())
      return fail(DiagKind::Invalid, "host code spoiled the runner's answer");
    return decode(answer, request, r.output);
  } catch (const Json::exception& e) {
    return fail(DiagKind::Invalid,
                std::string("host code spoiled the runner's answer: ") + e.what());
  }
}

}  // namespace assay::host
