#include "host/reference.h"

#include <fmt/format.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <thread>

#include "base/install.h"
#include "host/cache.h"
#include "host/process.h"
#include "host/temporary.h"

namespace assay::host {

namespace {

namespace fs = std::filesystem;
using Strings = std::vector<std::string>;

constexpr size_t kMaxResult = size_t{1} << 30;
constexpr uint64_t kMaxThreads = 1024;

// The interpreter itself: what stands in PATH may be a script that starts it (pyenv), and a
// confined process starts no other.
std::string interpreter() {
  const char* named = std::getenv("ASSAY_PYTHON");
  const std::string python = named != nullptr && *named != '\0' ? named : "python3";
  ProcessSpec spec;
  spec.argv = {python, "-c", "import sys; print(sys.executable, end='')"};
  spec.wall_seconds = 20;
  spec.max_output = 4096;
  const auto r = run_process(spec);
  const bool found = r && r->exit_code == 0 && !r->output.empty() && fs::exists(r->output);
  return found ? r->output : python;
}

Strings exporter(const ReferenceRequest& rq) {
  static const std::string python = interpreter();
  Strings argv = {python,         "-m",
                  "assay.export", fs::absolute(rq.path).string(),
                  "--output-fd",  "3",
                  "--altered",    std::to_string(rq.altered),
                  "--shapes",     rq.shapes,
                  "--fn",         rq.function,
                  "--seed",       std::to_string(rq.seed)};
  if (rq.eval) argv.push_back("--eval");
  if (rq.inputs_only) argv.push_back("--inputs-only");
  return argv;
}

ProcessSpec python_process(const ReferenceRequest& rq, const fs::path& python_dir,
                           const fs::path& work) {
  ProcessSpec spec;
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
  spec.wall_seconds = rq.wall_seconds;
  spec.max_output = 64 * 1024;
  spec.max_result = kMaxResult;
  return spec;
}

std::string tail(const std::string& text) {
  size_t n = text.size();
  while (n > 0 && text[n - 1] == '\n') --n;
  if (n == 0) return "";
  const size_t from = n > 1500 ? n - 1500 : 0;
  return "; it printed:\n" + text.substr(from, n - from);
}

// The identity of the export, by Assay's own code alone: ref.py is read, not run. "": the exporter
// does not start.
Result<std::string> export_key(const ReferenceRequest& rq, const fs::path& python_dir,
                               const fs::path& work) {
  ProcessSpec spec = python_process(rq, python_dir, work);
  spec.argv = exporter(rq);
  spec.argv.push_back("--key");
  spec.max_result = 4096;
  ASSAY_TRY(const ProcessResult r, run_process(spec));
  const bool hex =
      r.result.size() == 64 && r.result.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (hex) return r.result;
  return fail(DiagKind::Io,
              fmt::format("{} cannot run Assay's exporter (ASSAY_PYTHON names a Python with "
                          "PyTorch){}",
                          spec.argv[0], tail(r.output)));
}

// Why a run gave nothing.
Diag failure(const ReferenceRequest& rq, const ProcessResult& r) {
  const SrcLoc loc{rq.path, 0, 0};
  const std::string who = "the reference";
  if (r.timed_out)
    return {DiagKind::Limit,
            fmt::format("{} did not finish within {} s{}", who, rq.wall_seconds, tail(r.output)),
            loc};
  if (r.too_much_memory)
    return {DiagKind::Limit,
            fmt::format("{} used more than {:.3g} GiB of memory", who,
                        static_cast<double>(rq.memory_bytes) / (1ull << 30)),
            loc};
  if (r.too_many_threads)
    return {DiagKind::Limit, fmt::format("{} started more than {} threads", who, kMaxThreads), loc};
  if (r.result_too_long)
    return {DiagKind::Limit, fmt::format("the export is larger than {} MiB", kMaxResult >> 20),
            loc};
  if (r.signal == SIGXCPU)
    return {DiagKind::Limit, who + " used up its processor time" + tail(r.output), loc};
  if (r.signal != 0)
    return {DiagKind::Invalid,
            fmt::format("{} crashed: {}{}", who, strsignal(r.signal), tail(r.output)), loc};
  return {DiagKind::Invalid,
          fmt::format("{} ended the process: exit code {}{}", who, r.exit_code, tail(r.output)),
          loc};
}

std::string first_line(std::string* text) {
  const size_t end = text->find('\n');
  if (end == std::string::npos) return "";
  std::string line = text->substr(0, end);
  text->erase(0, end + 1);
  return line;
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
  ASSAY_TRY(const fs::path python_dir, resource("python"));
  ASSAY_TRY(const fs::path helper, helper_program("assay-confined"));
  const TemporaryFolder work("assay-ref");
  if (work.path().empty()) return fail(DiagKind::Io, "cannot make a temporary folder");
  ASSAY_TRY(const std::string key, export_key(rq, python_dir, work.path()));
  ExportedReference out;
  const auto root = cache_root();
  const fs::path place = root ? *root / "refs" / (key + ".json") : fs::path();
  if (auto known = root ? read_file(place) : Result<std::string>(fail(DiagKind::Io, "")); known) {
    out.json = std::move(*known);
    out.from_cache = true;
    return out;
  }
  ProcessSpec spec = python_process(rq, python_dir, work.path());
  const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  const auto cpu_seconds = static_cast<uint64_t>(std::ceil(rq.wall_seconds)) * cores + 1;
  spec.argv = {helper.string(), work.path().string(), std::to_string(cpu_seconds)};
  const Strings command = exporter(rq);
  spec.argv.insert(spec.argv.end(), command.begin(), command.end());
  spec.env.push_back("ASSAY_CONFINED=1");
  spec.max_resident = rq.memory_bytes;
  spec.max_threads = kMaxThreads;
  ASSAY_TRY(ProcessResult r, run_process(spec));
  for (std::string left = first_line(&r.result); !left.empty();) {
    const size_t space = std::min(left.find(' '), left.size());
    out.missing.push_back(left.substr(0, space));
    left.erase(0, space + 1);
  }
  const bool keep = first_line(&r.result) == "keep";
  const bool answered = !r.timed_out && !r.too_much_memory && !r.too_many_threads &&
                        !r.result_too_long && r.signal == 0 && !r.result.empty();
  if (!answered) return tl::unexpected<Diag>(failure(rq, r));
  out.json = std::move(r.result);
  if (keep && root && r.exit_code == 0) (void)store(place, out.json);  // best effort
  return out;
}

}  // namespace assay::host
