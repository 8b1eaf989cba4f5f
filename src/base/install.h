#pragma once
// Where Assay's own files stand. The build folder, an installed tree and the relocatable package
// share one layout, so nothing is compiled in:
//   <root>/bin/assay                     programs (in a build folder, tests lie in <root> itself)
//   <root>/libexec/assay/<program>       helper programs and stand-in shared objects
//   <root>/share/assay/<name>            data: "include", "sem.bc", "python" (for PYTHONPATH),
//   "examples"
#include <filesystem>
#include <string_view>

#include "base/result.h"

namespace assay {

// The root: $ASSAY_HOME, else the nearest folder at or above the running program (at most two
// levels up) that has share/assay. Io, if there is none. Not cached: cheap, and tests change it.
Result<std::filesystem::path> install_root();

// <root>/share/assay/<name> and <root>/libexec/assay/<name>; Io, naming the path, if absent.
Result<std::filesystem::path> resource(std::string_view name);
Result<std::filesystem::path> helper_program(std::string_view name);

}  // namespace assay
