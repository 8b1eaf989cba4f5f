#include "host/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <future>
#include <regex>
#include <set>

#include "base/install.h"
#include "host/cache.h"
#include "host/process.h"
#include "program/sha256.h"

namespace assay::host {

namespace {

namespace fs = std::filesystem;
using Strings = std::vector<std::string>;

// The source and the files beside it that it includes with quotes, one text a file.
void gather(const fs::path& file, std::set<std::string>* seen, std::string* text, int depth) {
  std::error_code ec;
  fs::path real = fs::weakly_canonical(file, ec);
  if (depth > 32 || !seen->insert(real.string()).second) return;
  auto content = read_file(real);
  if (!content) return;  // a system header, found by the compiler
  *text += "\n//" + real.string() + "\n" + *content;
  static const std::regex include(R"(^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)\")");
  size_t line = 0;
  while (line < content->size()) {
    size_t end = std::min(content->find('\n', line), content->size());
    std::string one = content->substr(line, end - line);
    std::smatch m;
    if (one.find("include") != std::string::npos && std::regex_search(one, m, include)) {
      gather(real.parent_path() / m[1].str(), seen, text, depth + 1);
    }
    line = end + 1;
  }
}

// Identity of the tool chain: nvcc's file, Assay's headers and semantic library.
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

Strings common_flags(const CompileRequest& request, const Strings& extra, const Strings& headers,
                     const fs::path& include) {
  Strings f = {"-std=c++17",
               "--expt-relaxed-constexpr",
               "-lineinfo",
               "-isystem",
               include.string(),
               "-D__CUDA_NO_HALF_OPERATORS__",
               "-D__CUDA_NO_HALF_CONVERSIONS__",
               "-D__CUDA_NO_HALF2_OPERATORS__",
               "-D__CUDA_NO_BFLOAT16_CONVERSIONS__",
               "-DTORCH_EXTENSION_NAME=assay_extension",
               "-DTORCH_API_INCLUDE_EXTENSION_H",
               "-w"};
  for (const std::string& h : headers) {
    f.push_back("-include");
    f.push_back(h);
  }
  f.insert(f.end(), extra.begin(), extra.end());
  (void)request;
  return f;
}

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

Strings real_command(const std::string& nvcc, const Strings& flags, const Strings& sources,
                     const fs::path& out) {
  Strings argv = {nvcc,
                  "-shared",
                  "-Xcompiler",
                  "-fPIC,-O1",
                  "-cudart",
                  "none",
                  "-gencode",
                  "arch=compute_90,code=compute_90",
                  "-compress-mode=none"};
  argv.insert(argv.end(), flags.begin(), flags.end());
  argv.insert(argv.end(), {"-o", out.string()});
  argv.insert(argv.end(), sources.begin(), sources.end());
  return argv;
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

// Functions that the PTX declares but does not define.
Strings external_functions(const std::string& ptx) {
  Strings names;
  static const std::regex declared(R"(\.extern\s+\.func\s*(?:\([^)]*\))?\s*([A-Za-z_$][\w$]*))");
  for (std::sregex_iterator it(ptx.begin(), ptx.end(), declared), end; it != end; ++it) {
    names.push_back((*it)[1]);
  }
  return names;
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

bool is_cuda_source(const std::string& path) {
  return fs::path(path).extension() == ".cu" || fs::path(path).extension() == ".cuh";
}

struct Job {
  std::string nvcc;
  fs::path include, sem;
  Strings flags, sources;
  double wall_seconds;
};

// Both builds at once; the real one's error is the one told.
Status build(const Job& job, const fs::path& folder) {
  auto semantic = std::async(std::launch::async, [&]() -> Status {
    for (size_t k = 0; k < job.sources.size(); ++k) {
      if (!is_cuda_source(job.sources[k])) continue;
      fs::path out = folder / fmt::format("semantic-{}.ptx", k);
      ASSAY_CHECK(run_nvcc(semantic_command(job.nvcc, job.flags, job.sources[k], job.sem, out),
                           job.sources[k], job.wall_seconds, folder));
      ASSAY_TRY(std::string ptx, read_file(out));
      ASSAY_CHECK(check_externals(ptx, job.sources[k]));
    }
    return {};
  });
  Status real = run_nvcc(real_command(job.nvcc, job.flags, job.sources, folder / "extension.so"),
                         job.sources[0], job.wall_seconds, folder);
  Status other = semantic.get();
  if (!real) return real;
  return other;
}

}  // namespace

Result<std::string> find_nvcc() {
  std::error_code ec;
  auto usable = [&](const fs::path& p) { return fs::is_regular_file(p, ec); };
  if (const char* v = std::getenv("ASSAY_NVCC"); v != nullptr && *v != '\0') {
    if (usable(v)) return std::string(v);
    return fail(DiagKind::Io, fmt::format("ASSAY_NVCC={} is no file", v));
  }
  std::string path = std::getenv("PATH") != nullptr ? std::getenv("PATH") : "";
  for (size_t at = 0; at <= path.size();) {
    size_t end = std::min(path.find(':', at), path.size());
    fs::path p = fs::path(path.substr(at, end - at)) / "nvcc";
    if (end > at && usable(p)) return p.string();
    at = end + 1;
  }
  for (const char* p : {"/usr/local/cuda/bin/nvcc", "/usr/local/cuda-13.0/bin/nvcc"}) {
    if (usable(p)) return std::string(p);
  }
  return fail(DiagKind::Io,
              "nvcc not found: set ASSAY_NVCC, or run ./assay once, which installs it");
}

Result<Compiled> compile_extension(const CompileRequest& request) {
  auto start = std::chrono::steady_clock::now();
  if (request.sources.empty()) return fail(DiagKind::Invalid, "no source to compile");
  Job job;
  job.wall_seconds = request.wall_seconds;
  std::string text;
  std::set<std::string> seen;
  for (const std::string& s : request.sources) {
    std::error_code ec;
    fs::path absolute = fs::canonical(s, ec);
    if (ec) return fail(DiagKind::Io, fmt::format("cannot read {}: {}", s, ec.message()));
    gather(absolute, &seen, &text, 0);
    job.sources.push_back(absolute.string());
  }
  ASSAY_TRY(job.nvcc, find_nvcc());
  ASSAY_TRY(job.include, resource("include"));
  ASSAY_TRY(job.sem, resource("sem.bc"));
  ASSAY_TRY(Strings extra, allowed_flags(request.extra_flags));
  job.flags = common_flags(request, extra, needed_headers(text), job.include);
  ASSAY_TRY(std::string toolchain, toolchain_key(job.nvcc));
  std::string key = "2\n" + toolchain + "\n" + text;
  for (const std::string& f : job.flags) key += "\n" + f;
  for (const std::string& s : job.sources) key += "\n" + s;
  ASSAY_CHECK(check_semantic_build());
  Compiled out;
  ASSAY_TRY(fs::path folder,
            cached_folder(
                "extension", program::sha256_hex(key),
                [&](const fs::path& f) { return build(job, f); }, &out.from_cache));
  out.extension = (folder / "extension.so").string();
  for (size_t k = 0; k < job.sources.size(); ++k) {
    CompiledUnit unit{job.sources[k], ""};
    if (is_cuda_source(job.sources[k])) {
      ASSAY_TRY(unit.semantic_ptx, read_file(folder / fmt::format("semantic-{}.ptx", k)));
    }
    out.units.push_back(std::move(unit));
  }
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return out;
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
