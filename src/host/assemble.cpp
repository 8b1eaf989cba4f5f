// PTX to cubins, and where NVIDIA's tools for cubins are.
#include <fmt/format.h>

#include <filesystem>
#include <regex>

#include "host/cache.h"
#include "host/compile.h"
#include "host/process.h"
#include "host/toolchain.h"
#include "program/sha256.h"

namespace assay::host {

namespace fs = std::filesystem;

namespace {

// "ptxas /tmp/x/in.ptx, line 12; error : words" -> line 12 of `source`.
Diag ptxas_diag(const std::string& output, const std::string& source) {
  Diag d{DiagKind::Invalid, "ptxas rejects the PTX:\n" + output.substr(0, 4000), {source, 0, 0}};
  static const std::regex place(R"(, line (\d{1,9}); (?:fatal|error))");
  std::smatch m;
  if (std::regex_search(output, m, place)) d.loc.line = static_cast<uint32_t>(std::stoul(m[1]));
  while (!d.message.empty() && d.message.back() == '\n') d.message.pop_back();
  return d;
}

bool usable(const fs::path& p) {
  std::error_code ec;
  return fs::is_regular_file(p, ec);
}

// A tool of the toolkit that nvcc belongs to.
Result<std::string> beside_nvcc(const std::string& name) {
  ASSAY_TRY(const std::string nvcc, find_nvcc());
  std::error_code ec;
  for (const fs::path& p : {fs::path(nvcc), fs::canonical(nvcc, ec)}) {
    if (usable(p.parent_path() / name)) return (p.parent_path() / name).string();
  }
  const std::string found = on_path(name);
  if (found.empty())
    return fail(DiagKind::Io, fmt::format("{} stands neither beside {} nor on PATH", name, nvcc));
  return found;
}

std::string target_of(const std::string& ptx) {
  static const std::regex target(R"(\.target\s+(sm_\w+))");
  std::smatch m;
  const std::string head = ptx.substr(0, 4096);
  return std::regex_search(head, m, target) ? m[1].str() : "";
}

}  // namespace

Result<Assembled> assemble_ptx(const std::string& ptx, const std::string& source,
                               const std::string& arch, double wall_seconds,
                               const std::vector<std::string>& flags) {
  Assembled out;
  out.ptx = ptx;
  out.arch = arch.empty() ? target_of(ptx) : arch;
  if (out.arch.empty())
    return fail(DiagKind::Syntax, "no .target in the first 4096 bytes, so this is no PTX",
                {source, 0, 0});
  ASSAY_TRY(const std::string ptxas, beside_nvcc("ptxas"));
  std::error_code ec;
  const std::string key = program::sha256_hex(
      fmt::format("1 {} {} {} {} {}\n", fmt::join(flags, " "), fs::canonical(ptxas, ec).string(),
                  fs::file_size(ptxas, ec),
                  fs::last_write_time(ptxas, ec).time_since_epoch().count(), out.arch) +
      ptx);
  ASSAY_TRY(
      const fs::path folder, cached_folder("assembled", key, [&](const fs::path& f) -> Status {
        ASSAY_CHECK(write_file(f / "in.ptx", ptx));
        ProcessSpec spec;
        spec.argv = {ptxas, "-v", "-lineinfo", "-arch", out.arch, "-o", "out.cubin", "in.ptx"};
        spec.argv.insert(spec.argv.end(), flags.begin(), flags.end());
        spec.cwd = f.string();
        spec.wall_seconds = wall_seconds;
        spec.env = {"LC_ALL=C", "TMPDIR=" + f.string()};
        ASSAY_TRY(const ProcessResult r, run_process(spec));
        if (r.timed_out)
          return fail(DiagKind::Limit,
                      fmt::format("ptxas did not finish within {} s", wall_seconds),
                      {source, 0, 0});
        if (r.exit_code != 0) return tl::unexpected<Diag>(ptxas_diag(r.output, source));
        return write_file(f / "remarks.txt", r.output);
      }));
  ASSAY_TRY(out.cubin, read_file(folder / "out.cubin"));
  ASSAY_TRY(out.remarks, read_file(folder / "remarks.txt"));
  return out;
}

std::string find_nvdisasm() {
  if (const char* v = std::getenv("ASSAY_NVDISASM"); v != nullptr) return usable(v) ? v : "";
  if (std::string found = on_path("nvdisasm"); !found.empty()) return found;
  if (auto beside = beside_nvcc("nvdisasm")) return *beside;
  // PyPI's nvidia-cuda-nvdisasm; Triton brings an older one.
  const char* python = std::getenv("ASSAY_PYTHON");
  if (python == nullptr) return "";
  const fs::path lib = fs::path(python).parent_path().parent_path() / "lib";
  std::error_code ec;
  for (const char* below : {"site-packages/nvidia/cu13/bin/nvdisasm",
                            "site-packages/triton/backends/nvidia/bin/nvdisasm"}) {
    for (const auto& entry : fs::directory_iterator(lib, ec)) {
      if (usable(entry.path() / below)) return (entry.path() / below).string();
    }
  }
  return "";
}

}  // namespace assay::host
