#include "host/python_run.h"

#include <fmt/format.h>
#include <signal.h>
#include <string.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "base/install.h"

namespace assay::host {

namespace {

namespace fs = std::filesystem;
using Strings = std::vector<std::string>;

constexpr size_t kMaxResult = size_t{1} << 30;
constexpr uint64_t kMaxThreads = 1024;

Result<ProcessSpec> python_process(const PythonRun& run, const fs::path& work) {
  ASSAY_TRY(const fs::path python_dir, resource("python"));
  ProcessSpec spec;
  spec.argv = {python_interpreter()};
  spec.argv.insert(spec.argv.end(), run.arguments.begin(), run.arguments.end());
  spec.cwd = work.string();  // python -m looks for modules here first
  const std::string w = work.string();
  spec.env = {"PYTHONPATH=" + python_dir.string(),
              "PYTHONDONTWRITEBYTECODE=1",
              "PYTHONUNBUFFERED=1",
              "TMPDIR=" + w,
              "XDG_CACHE_HOME=" + w,
              "TORCH_HOME=" + w,
              "TORCHINDUCTOR_CACHE_DIR=" + w,
              "TRITON_CACHE_DIR=" + w,
              "HF_HOME=" + w,
              "MPLCONFIGDIR=" + w,
              "PYTHONSTARTUP",
              "PYTHONINSPECT"};
  spec.wall_seconds = run.wall_seconds;
  spec.max_output = 64 * 1024;
  spec.max_result = kMaxResult;
  spec.answer = run.answer;
  return spec;
}

// Why a run gave nothing.
Diag failure(const PythonRun& run, const ProcessResult& r) {
  const SrcLoc loc{run.path, 0, 0};
  const std::string& who = run.who;
  if (r.timed_out)
    return {
        DiagKind::Limit,
        fmt::format("{} did not finish within {} s{}", who, run.wall_seconds, printed(r.output)),
        loc};
  if (r.too_much_memory)
    return {DiagKind::Limit,
            fmt::format("{} used more than {:.3g} GiB of memory", who,
                        static_cast<double>(run.memory_bytes) / (1ull << 30)),
            loc};
  if (r.too_many_threads)
    return {DiagKind::Limit, fmt::format("{} started more than {} threads", who, kMaxThreads), loc};
  if (r.result_too_long)
    return {DiagKind::Limit, fmt::format("the export is larger than {} MiB", kMaxResult >> 20),
            loc};
  if (r.signal == SIGXCPU)
    return {DiagKind::Limit, who + " used up its processor time" + printed(r.output), loc};
  if (r.signal != 0)
    return {DiagKind::Invalid,
            fmt::format("{} crashed: {}{}", who, strsignal(r.signal), printed(r.output)), loc};
  return {DiagKind::Invalid,
          fmt::format("{} ended the process: exit code {}{}", who, r.exit_code, printed(r.output)),
          loc};
}

std::string first_line(std::string* text) {
  const size_t end = text->find('\n');
  if (end == std::string::npos) return "";
  std::string line = text->substr(0, end);
  text->erase(0, end + 1);
  return line;
}

}  // namespace

const std::string& python_interpreter() {
  static const std::string found = [] {
    const char* named = std::getenv("ASSAY_PYTHON");
    const std::string python = named != nullptr && *named != '\0' ? named : "python3";
    ProcessSpec spec;
    spec.argv = {python, "-c", "import sys; print(sys.executable, end='')"};
    spec.wall_seconds = 20;
    spec.max_output = 4096;
    const auto r = run_process(spec);
    const bool ok = r && r->exit_code == 0 && !r->output.empty() && fs::exists(r->output);
    return ok ? r->output : python;
  }();
  return found;
}

std::string printed(const std::string& output) {
  size_t n = output.size();
  while (n > 0 && output[n - 1] == '\n') --n;
  if (n == 0) return "";
  const size_t from = n > 1500 ? n - 1500 : 0;
  return "; it printed:\n" + output.substr(from, n - from);
}

Result<ProcessResult> run_own_python(const PythonRun& run, const fs::path& work,
                                     size_t max_result) {
  ASSAY_TRY(ProcessSpec spec, python_process(run, work));
  spec.max_result = max_result;
  return run_process(spec);
}

Result<PythonAnswer> run_python(const PythonRun& run, const fs::path& work) {
  ASSAY_TRY(const fs::path helper, helper_program("assay-confined"));
  ASSAY_TRY(ProcessSpec spec, python_process(run, work));
  const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  const auto cpu_seconds = static_cast<uint64_t>(std::ceil(run.wall_seconds)) * cores + 1;
  const Strings outer = {helper.string(), work.string(), std::to_string(cpu_seconds)};
  spec.argv.insert(spec.argv.begin(), outer.begin(), outer.end());
  spec.env.push_back("ASSAY_CONFINED=1");
  spec.max_resident = run.memory_bytes;
  spec.max_threads = kMaxThreads;
  ASSAY_TRY(ProcessResult r, run_process(spec));
  PythonAnswer out;
  for (std::string left = first_line(&r.result); !left.empty();) {
    const size_t space = std::min(left.find(' '), left.size());
    out.missing.push_back(left.substr(0, space));
    left.erase(0, space + 1);
  }
  out.keep = first_line(&r.result) == "keep";
  const bool answered = !r.timed_out && !r.too_much_memory && !r.too_many_threads &&
                        !r.result_too_long && r.signal == 0 && !r.result.empty();
  if (!answered) return tl::unexpected<Diag>(failure(run, r));
  out.text = std::move(r.result);
  out.succeeded = r.exit_code == 0;
  return out;
}

}  // namespace assay::host
