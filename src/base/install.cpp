#include "base/install.h"

#include <fmt/format.h>

#include <cstdlib>

namespace assay {
namespace fs = std::filesystem;

Result<fs::path> install_root() {
  std::error_code ec;
  if (const char* home = std::getenv("ASSAY_HOME"); home != nullptr && *home != '\0') {
    if (fs::is_directory(fs::path(home) / "share/assay", ec)) return fs::path(home);
    return fail(DiagKind::Io, fmt::format("ASSAY_HOME={} has no folder share/assay", home));
  }
  fs::path exe = fs::read_symlink("/proc/self/exe", ec);
  if (ec) return fail(DiagKind::Io, "cannot read /proc/self/exe: " + ec.message());
  fs::path dir = exe.parent_path();
  for (int up = 0; up < 3; ++up, dir = dir.parent_path()) {
    if (fs::is_directory(dir / "share/assay", ec)) return dir;
  }
  return fail(DiagKind::Io, fmt::format("no folder share/assay beside {}: the installation is "
                                        "incomplete; set ASSAY_HOME",
                                        exe.string()));
}

namespace {
Result<fs::path> below(const char* folder, std::string_view name) {
  ASSAY_TRY(fs::path root, install_root());
  fs::path path = root / folder / name;
  std::error_code ec;
  if (!fs::exists(path, ec)) {
    return fail(DiagKind::Io, fmt::format("{} is missing from the installation", path.string()));
  }
  return path;
}
}  // namespace

Result<fs::path> resource(std::string_view name) { return below("share/assay", name); }

Result<fs::path> helper_program(std::string_view name) { return below("libexec/assay", name); }

}  // namespace assay
