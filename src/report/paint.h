#pragma once
// Terminal colours (ECMA-48 SGR), or none. Internal to src/report.
#include <fmt/format.h>

#include <string>
#include <string_view>

#include "report/report.h"

namespace assay::report {

struct Paint {
  bool on = false;
  std::string red(std::string_view s) const { return sgr("1;31", s); }
  std::string green(std::string_view s) const { return sgr("1;32", s); }
  std::string yellow(std::string_view s) const { return sgr("1;33", s); }
  std::string blue(std::string_view s) const { return sgr("34", s); }
  std::string bold(std::string_view s) const { return sgr("1", s); }
  std::string dim(std::string_view s) const { return sgr("2", s); }

 private:
  std::string sgr(const char* code, std::string_view s) const {
    return on ? fmt::format("\x1b[{}m{}\x1b[0m", code, s) : std::string(s);
  }
};

// " --> file:line:column" and the excerpt; empty where the place is unknown.
std::string where(const SrcLoc& loc, const TextOptions& options);

}  // namespace assay::report
