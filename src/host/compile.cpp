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
#include "host/toolchain.h"
#include "program/sha256.h"

namespace assay::host {

namespace {

namespace fs = std::filesystem;

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

bool uses_torch(const std::string& text) {
  static const std::regex include(R"(#[ \t]*include[ \t]*[<"](torch|ATen|c10|pybind11)/)");
  return std::regex_search(text, include);
}

// As torch.utils.cpp_extension compiles; kernels alone, which know nothing of PyTorch, as nvcc does
// by itself.
Strings common_flags(const Strings& extra, const std::string& text, const fs::path& include,
                     bool extension) {
  Strings f = {"-std=c++17", "--expt-relaxed-constexpr", "-lineinfo",
               "-isystem",   include.string(),           "-w"};
  if (extension || uses_torch(text)) {
    f.insert(f.end(),
             {"-D__CUDA_NO_HALF_OPERATORS__", "-D__CUDA_NO_HALF_CONVERSIONS__",
              "-D__CUDA_NO_HALF2_OPERATORS__", "-D__CUDA_NO_BFLOAT16_CONVERSIONS__",
              "-DTORCH_EXTENSION_NAME=assay_extension", "-DTORCH_API_INCLUDE_EXTENSION_H"});
  }
  for (const std::string& h : needed_headers(text)) {
    f.push_back("-include");
    f.push_back(h);
  }
  f.insert(f.end(), extra.begin(), extra.end());
  return f;
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

Strings kernels_command(const std::string& nvcc, const Strings& flags, const std::string& source,
                        const fs::path& out) {
  Strings argv = {nvcc, "-ptx", "-arch=compute_90"};
  argv.insert(argv.end(), flags.begin(), flags.end());
  argv.insert(argv.end(), {"-o", out.string(), source});
  return argv;
}

bool is_cuda_source(const std::string& path) {
  return fs::path(path).extension() == ".cu" || fs::path(path).extension() == ".cuh";
}

struct Job {
  std::string nvcc;
  fs::path include, sem;
  Strings flags, sources;
  double wall_seconds = 0;
  std::string key;  // of the cache
};

// Both builds at once; the real one's error is the one told.
Status build(const Job& job, const fs::path& folder, bool extension) {
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
  Strings argv = extension
                     ? real_command(job.nvcc, job.flags, job.sources, folder / "extension.so")
                     : kernels_command(job.nvcc, job.flags, job.sources[0], folder / "real.ptx");
  Status real = run_nvcc(std::move(argv), job.sources[0], job.wall_seconds, folder);
  Status other = semantic.get();
  if (!real) return real;
  return other;
}

// What cannot be meant as a source, in clearer words than a compiler's.
Status check_text(const std::string& source, const fs::path& path) {
  ASSAY_TRY(const std::string text, read_file(path));
  if (text.find_first_not_of(" \t\r\n") == std::string::npos)
    return fail(DiagKind::Invalid, "the source is empty", {source, 0, 0});
  if (text.find('\0') != std::string::npos)
    return fail(DiagKind::Syntax, "binary data, not a CUDA source", {source, 0, 0});
  return {};
}

// Everything but whether the semantic build works.
Result<Job> plain_job(const CompileRequest& request, bool extension) {
  if (request.sources.empty()) return fail(DiagKind::Invalid, "no source to compile");
  Job job;
  job.wall_seconds = request.wall_seconds;
  std::string text;
  std::set<std::string> seen;
  for (const std::string& s : request.sources) {
    std::error_code ec;
    fs::path absolute = fs::canonical(s, ec);
    if (ec) return fail(DiagKind::Io, fmt::format("cannot read {}: {}", s, ec.message()));
    ASSAY_CHECK(check_text(s, absolute));
    gather(absolute, &seen, &text, 0);
    job.sources.push_back(absolute.string());
  }
  ASSAY_TRY(job.nvcc, find_nvcc());
  ASSAY_TRY(job.include, resource("include"));
  ASSAY_TRY(job.sem, resource("sem.bc"));
  ASSAY_TRY(Strings extra, allowed_flags(request.extra_flags));
  job.flags = common_flags(extra, text, job.include, extension);
  ASSAY_TRY(std::string toolchain, toolchain_key(job.nvcc));
  std::string key = "2\n" + toolchain + "\n" + text;
  for (const std::string& f : job.flags) key += "\n" + f;
  for (const std::string& s : job.sources) key += "\n" + s;
  job.key = program::sha256_hex(key);
  return job;
}

Result<Job> make_job(const CompileRequest& request, bool extension) {
  ASSAY_TRY(Job job, plain_job(request, extension));
  ASSAY_CHECK(check_semantic_build());
  return job;
}

}  // namespace

Result<Compiled> compile_extension(const CompileRequest& request) {
  auto start = std::chrono::steady_clock::now();
  ASSAY_TRY(const Job job, make_job(request, true));
  Compiled out;
  ASSAY_TRY(fs::path folder,
            cached_folder(
                "extension", job.key, [&](const fs::path& f) { return build(job, f, true); },
                &out.from_cache));
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

Result<CompiledKernels> compile_kernels(const CompileRequest& request) {
  if (request.sources.size() != 1 || !is_cuda_source(request.sources[0]))
    return fail(DiagKind::Invalid, "kernels alone are compiled from one .cu file");
  ASSAY_TRY(const Job job, make_job(request, false));
  ASSAY_TRY(fs::path folder, cached_folder("kernels", job.key, [&](const fs::path& f) {
              return build(job, f, false);
            }));
  CompiledKernels out;
  ASSAY_TRY(out.real_ptx, read_file(folder / "real.ptx"));
  ASSAY_TRY(out.semantic_ptx, read_file(folder / "semantic-0.ptx"));
  return out;
}

Result<Assembled> compile_cubin(const CompileRequest& request, const std::string& arch) {
  if (request.sources.size() != 1 || !is_cuda_source(request.sources[0]))
    return fail(DiagKind::Invalid, "a cubin is compiled from one .cu file");
  if (arch.rfind("sm_", 0) != 0)
    return fail(DiagKind::Invalid, fmt::format("{} is no architecture such as sm_90a", arch));
  ASSAY_TRY(const Job job, plain_job(request, false));
  const std::string key = program::sha256_hex(job.key + "\ncubin " + arch);
  ASSAY_TRY(fs::path folder, cached_folder("cubin", key, [&](const fs::path& f) -> Status {
              Strings argv = {job.nvcc, "-ptx", "-arch=compute_" + arch.substr(3)};
              argv.insert(argv.end(), job.flags.begin(), job.flags.end());
              argv.insert(argv.end(), {"-o", (f / "real.ptx").string(), job.sources[0]});
              return run_nvcc(std::move(argv), job.sources[0], job.wall_seconds, f);
            }));
  ASSAY_TRY(const std::string ptx, read_file(folder / "real.ptx"));
  Strings assembler;  // what nvcc would pass on
  for (const std::string& f : job.flags) {
    const size_t at = f.find("maxrregcount=");
    if (at != std::string::npos) assembler.push_back("-" + f.substr(at));
  }
  return assemble_ptx(ptx, request.sources[0], arch, request.wall_seconds, assembler);
}

}  // namespace assay::host
