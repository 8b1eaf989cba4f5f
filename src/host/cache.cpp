#include "host/cache.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <fstream>

namespace assay::host {

namespace fs = std::filesystem;

Result<fs::path> cache_root() {
  fs::path root;
  auto env = [](const char* name) {
    const char* v = std::getenv(name);
    return std::string(v == nullptr ? "" : v);
  };
  std::error_code ec;
  if (!env("ASSAY_CACHE").empty()) {
    root = env("ASSAY_CACHE");
  } else if (!env("XDG_CACHE_HOME").empty()) {
    root = fs::path(env("XDG_CACHE_HOME")) / "assay";
  } else if (!env("HOME").empty()) {
    root = fs::path(env("HOME")) / ".cache/assay";
  } else {
    root = fs::temp_directory_path(ec) /
           fmt::format("assay-cache-{}", static_cast<unsigned>(getuid()));
  }
  fs::create_directories(root, ec);
  if (ec)
    return fail(DiagKind::Io,
                fmt::format("cannot make the cache folder {}: {}", root.string(), ec.message()));
  return fs::absolute(root);
}

Result<fs::path> cached_folder(const std::string& kind, const std::string& key,
                               const std::function<Status(const fs::path&)>& fill, bool* hit) {
  ASSAY_TRY(fs::path root, cache_root());
  fs::path place = root / kind / key.substr(0, 2) / key;
  std::error_code ec;
  if (hit != nullptr) *hit = fs::is_directory(place, ec);
  if (fs::is_directory(place, ec)) return place;
  fs::create_directories(place.parent_path(), ec);
  std::string temporary = (place.parent_path() / ("tmp-XXXXXX")).string();
  if (mkdtemp(temporary.data()) == nullptr) {
    return fail(DiagKind::Io, fmt::format("cannot write in {}", place.parent_path().string()));
  }
  Status filled = fill(temporary);
  if (filled) {
    fs::rename(temporary, place, ec);
    if (ec && !fs::is_directory(place)) {
      filled = fail(DiagKind::Io, fmt::format("cannot write {}: {}", place.string(), ec.message()));
    }
  }
  std::error_code ignored;
  fs::remove_all(temporary, ignored);  // gone already if the rename took it
  if (!filled) return tl::unexpected<Diag>(std::move(filled.error()));
  return place;
}

Result<std::string> read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return fail(DiagKind::Io, fmt::format("cannot read {}", path.string()));
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (in.bad()) return fail(DiagKind::Io, fmt::format("cannot read {}", path.string()));
  return text;
}

Status write_file(const fs::path& path, std::string_view text) {
  std::ofstream out(path, std::ios::binary);
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
  out.close();
  if (!out) return fail(DiagKind::Io, fmt::format("cannot write {}", path.string()));
  return {};
}

}  // namespace assay::host
