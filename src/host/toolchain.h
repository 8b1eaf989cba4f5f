#pragma once
// How src/host runs nvcc, and what a semantic build is.
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace assay::host {

using Strings = std::vector<std::string>;

// A program in a folder of PATH; "": none.
std::string on_path(const std::string& name);

// Identity of the tool chain: nvcc's file, Assay's headers and semantic library.
Result<std::string> toolchain_key(const std::string& nvcc);

// Errors: Invalid (the compiler's words about `source`), Limit (time), Io.
Status run_nvcc(Strings argv, const std::string& source, double seconds,
                const std::filesystem::path& folder);

Strings semantic_command(const std::string& nvcc, const Strings& flags, const std::string& source,
                         const std::filesystem::path& sem, const std::filesystem::path& out);

// Functions that the semantic build calls are those of the semantic library. Errors: Internal (the
// library lacks one), Unsupported (a device function that nothing defines).
Status check_externals(const std::string& ptx, const std::string& source);

}  // namespace assay::host
