#include "measure/load.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>

#include "elf/cubin.h"
#include "host/cache.h"
#include "host/compile.h"
#include "measure/occupancy.h"
#include "measure/remarks.h"
#include "region/build.h"
#include "region/markers.h"

namespace assay::measure {

namespace {

constexpr const char* kDefaultArch = "sm_90a";

Result<host::Assembled> assemble(const LoadRequest& r, const std::string& extension) {
  if (extension == ".cu")
    return host::compile_cubin({{r.path}, r.flags, r.wall_seconds},
                               r.arch.empty() ? kDefaultArch : r.arch);
  ASSAY_TRY(std::string bytes, host::read_file(r.path));
  if (extension == ".ptx") return host::assemble_ptx(bytes, r.path, r.arch, r.wall_seconds);
  host::Assembled out;
  out.cubin = std::move(bytes);
  if (!r.ptx.empty()) {
    ASSAY_TRY(out.ptx, host::read_file(r.ptx));
  }
  return out;
}

std::optional<region::Disassembly> disassembly(const std::string& cubin,
                                               std::vector<std::string>* missing) {
  const std::string tool = host::find_nvdisasm();
  std::string why = "no nvdisasm (pip install nvidia-cuda-nvdisasm, or ASSAY_NVDISASM=FILE)";
  if (!tool.empty()) {
    auto code = region::disassemble(tool, cubin);
    if (code) return std::move(*code);
    why = code.error().message;
  }
  missing->push_back("machine instructions: " + why + "; what follows counts PTX instructions");
  return std::nullopt;
}

}  // namespace

Result<region::RegionMap> load_map(const LoadRequest& request) {
  const std::string extension = std::filesystem::path(request.path).extension();
  std::error_code ec;
  if (!std::filesystem::is_regular_file(request.path, ec))
    return fail(DiagKind::Io, "no such file", {request.path, 0, 0});
  if (extension != ".cu" && extension != ".ptx" && extension != ".cubin")
    return fail(DiagKind::Invalid, "neither .cu nor .ptx nor .cubin", {request.path, 0, 0});
  ASSAY_TRY(const host::Assembled built, assemble(request, extension));
  ASSAY_TRY(const std::unique_ptr<elf::Cubin> cubin, elf::read_cubin(built.cubin, request.path));
  std::vector<std::string> missing;
  const std::string text = built.ptx.empty() ? elf::embedded_ptx(*cubin) : built.ptx;
  std::optional<ptx::Module> module;
  if (!text.empty()) {
    const std::string name = extension == ".ptx" ? request.path : request.path + " (PTX)";
    auto parsed = ptx::parse(text, name);
    if (parsed)
      module = std::move(*parsed);
    else
      missing.push_back("PTX: " + format_diag(parsed.error()));
  }
  const auto sass = disassembly(cubin->bytes, &missing);
  region::BuildInput input{cubin.get(), request.path, module ? &*module : nullptr,
                           sass ? &*sass : nullptr};
  ASSAY_TRY(region::RegionMap map, region::build_map(input));
  map.input = request.path;
  missing.insert(missing.end(), map.missing.begin(), map.missing.end());
  map.missing = std::move(missing);
  add_remarks(built.remarks, &map);
  add_occupancy(request.threads, &map);
  ASSAY_CHECK(region::apply_markers(request.regions, &map));
  return map;
}

}  // namespace assay::measure
