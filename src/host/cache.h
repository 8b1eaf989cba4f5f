#pragma once
// Content-addressed folders under $ASSAY_CACHE, $XDG_CACHE_HOME/assay or ~/.cache/assay.
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace assay::host {

Result<std::filesystem::path> cache_root();  // made if absent. Errors: Io.

// The folder of `key` (hexadecimal). If it is not there, `fill` makes its contents in a temporary
// folder that then takes its place in one step, so that concurrent callers and killed ones leave no
// half. *hit: it was there. Errors: Io, those of fill.
Result<std::filesystem::path> cached_folder(
    const std::string& kind, const std::string& key,
    const std::function<Status(const std::filesystem::path&)>& fill, bool* hit = nullptr);

Result<std::string> read_file(const std::filesystem::path& path);  // Errors: Io.
Status write_file(const std::filesystem::path& path, std::string_view text);

}  // namespace assay::host
