#include "host/toolchain.h"

#include <fmt/format.h>

#include <regex>
#include <set>

#include "base/install.h"
#include "host/cache.h"
#include "host/compile.h"
#include "host/process.h"
#include "program/sha256.h"

namespace assay::host {

namespace fs = std::filesystem;

namespace {

// The first "file(line): error" or "file:line:column: error" of the compiler.
Diag compiler_diag(const std::string& output, const std::string& source) {
  static const std::regex cudafe(R"(^([^\s(][^(\n]*)\((\d+)\): (?:catastrophic )?error)");
  static const std::regex gcc(R"(^([^\s:][^:\n]*):(\d+):(?:(\d+):)? (?:fatal )?error)");
  Diag d{DiagKind::Invalid, "", {source, 0, 0}};
  size_t line = 0;
  while (line < output.size()) {
    size_t end = std::min(output.find('\n', line), output.size());
    std::string one = output.substr(line, end - line);
    std::smatch m;
    if (std::regex_search(one, m, cudafe) || std::regex_search(one, m, gcc)) {
      d.loc.file = m[1];
      d.loc.line = static_cast<uint32_t>(std::stoul(m[2]));
      if (m.size() > 3 && m[3].matched) d.loc.column = static_cast<uint32_t>(std::stoul(m[3]));
      break;
    }
    line = end + 1;
  }
  std::string text = output.size() > 4000 ? output.substr(0, 4000) + "\n..." : output;
  while (!text.empty() && text.back() == '\n') text.pop_back();
  d.message = "the compiler rejects the source:\n" + text;
  return d;
}

// Functions that the PTX declares but does not define.
Strings external_functions(const std::string& ptx) {
  Strings names;
  static const std::regex declared(R"(\.extern\s+\.func\s*(?:\([^)]*\))?\s*([A-Za-z_$][\w$]*))");
  for (std::sregex_iterator it(ptx.begin(), ptx.end(), declared), end; it != end; ++it) {
    names.push_back((*it)[1]);
  }
  return names;
}

}  // namespace

std::string on_path(const std::string& name) {
  const char* folders = std::getenv("PATH");
  const std::string path = folders != nullptr ? folders : "";
  std::error_code ec;
  for (size_t at = 0; at <= path.size();) {
    const size_t end = std::min(path.find(':', at), path.size());
    const fs::path p = fs::path(path.substr(at, end - at)) / name;
    if (end > at && fs::is_regular_file(p, ec)) return p.string();
    at = end + 1;
  }
  return "";
}

Result<std::string> find_nvcc() {
  std::error_code ec;
  auto usable = [&](const fs::path& p) { return fs::is_regular_file(p, ec); };
  if (const char* v = std::getenv("ASSAY_NVCC"); v != nullptr && *v != '\0') {
    if (usable(v)) return std::string(v);
    return fail(DiagKind::Io, fmt::format("ASSAY_NVCC={} is no file", v));
  }
  if (std::string found = on_path("nvcc"); !found.empty()) return found;
  for (const char* p : {"/usr/local/cuda/bin/nvcc", "/usr/local/cuda-13.0/bin/nvcc"}) {
    if (usable(p)) return std::string(p);
  }
  return fail(DiagKind::Io,
              "nvcc not found: set ASSAY_NVCC, or run ./assay once, which installs it");
}

Result<std::string> toolchain_key(const std::string& nvcc) {
  std::error_code ec;
  fs::path real = fs::canonical(nvcc, ec);
  std::string key = fmt::format("{} {} {}\n", real.string(), fs::file_size(real, ec),
                                fs::last_write_time(real, ec).time_since_epoch().count());
  ASSAY_TRY(fs::path include, resource("include"));
  ASSAY_TRY(fs::path sem, resource("sem.bc"));
  std::set<std::string> files;
  for (fs::recursive_directory_iterator it(fs::canonical(include, ec), ec), end; !ec && it != end;
       it.increment(ec)) {
    if (it->is_regular_file(ec)) files.insert(it->path().string());
  }
  for (const std::string& f : files) {
    ASSAY_TRY(std::string text, read_file(f));
    key += text;
  }
  ASSAY_TRY(std::string library, read_file(sem));
  return program::sha256_hex(key + library);
}

Status run_nvcc(Strings argv, const std::string& source, double seconds, const fs::path& folder) {
  ProcessSpec spec;
  spec.argv = std::move(argv);
  spec.cwd = folder.string();
  spec.wall_seconds = seconds;
  spec.env = {"TMPDIR=" + folder.string(), "NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "LC_ALL=C"};
  ASSAY_TRY(ProcessResult r, run_process(spec));
  if (r.timed_out) {
    return fail(DiagKind::Limit, fmt::format("the compiler did not finish within {} s", seconds),
                {source, 0, 0});
  }
  if (r.exit_code != 0) return tl::unexpected<Diag>(compiler_diag(r.output, source));
  return {};
}

Strings semantic_command(const std::string& nvcc, const Strings& flags, const std::string& source,
                         const fs::path& sem, const fs::path& out) {
  Strings argv = {nvcc, "-ptx", "-arch=compute_90"};
  argv.insert(argv.end(), flags.begin(), flags.end());
  // One dash: "--nvvmir-library" is silently ignored.
  argv.insert(argv.end(),
              {"-Xcicc", "-nvvmir-library=" + sem.string(), "-o", out.string(), source});
  return argv;
}

Status check_externals(const std::string& ptx, const std::string& source) {
  for (const std::string& f : external_functions(ptx)) {
    bool known = f.rfind("assay_", 0) == 0 || f == "vprintf" || f == "__assertfail" ||
                 f == "malloc" || f == "free";
    if (known) continue;
    if (f.rfind("__nv_", 0) == 0) {
      return fail(DiagKind::Internal, fmt::format("libdevice.def lacks {}", f), {source, 0, 0});
    }
    return fail(DiagKind::Unsupported, fmt::format("the device function {} is only declared", f),
                {source, 0, 0});
  }
  return {};
}

Status check_semantic_build() {
  ASSAY_TRY(std::string nvcc, find_nvcc());
  ASSAY_TRY(std::string toolchain, toolchain_key(nvcc));
  ASSAY_TRY(fs::path sem, resource("sem.bc"));
  auto test = [&](const fs::path& folder) -> Status {
    fs::path source = folder / "self-test.cu", out = folder / "self-test.ptx";
    ASSAY_CHECK(write_file(source,
                           "__global__ void f(float* x, double* y) {\n"
                           "  float s, c;\n"
                           "  sincosf(x[3], &s, &c);\n"
                           "  x[0] = expf(x[1]) + fmaxf(x[2], 0.f) + sqrtf(s) + c;\n"
                           "  y[0] = erf(y[1]) + rsqrt(y[2]);\n"
                           "  if (x[4] > 0) printf(\"%d\", __clz(int(x[4])));\n}\n"));
    ASSAY_CHECK(
        run_nvcc(semantic_command(nvcc, {"-std=c++17", "-include", "cstdio"}, source, sem, out),
                 source, 60, folder));
    ASSAY_TRY(std::string ptx, read_file(out));
    for (const char* f : {"assay_expf", "assay_sincosf_s", "assay_sincosf_c", "assay_erf"}) {
      bool called = std::regex_search(ptx, std::regex(fmt::format("call[^;]*\\b{}\\b", f)));
      if (!called) {
        return fail(DiagKind::Internal,
                    fmt::format("the semantic build of {} does not call {}: its library "
                                "was not taken",
                                nvcc, f));
      }
    }
    return check_externals(ptx, source.string());
  };
  auto folder = cached_folder("semantic-test", toolchain, test);
  if (!folder) return tl::unexpected<Diag>(std::move(folder.error()));
  return {};
}

}  // namespace assay::host
