#include "base/result.h"

#include <fmt/format.h>

namespace assay {

const char* diag_kind_name(DiagKind kind) {
  switch (kind) {
    case DiagKind::Syntax:
      return "syntax";
    case DiagKind::Invalid:
      return "invalid";
    case DiagKind::Unsupported:
      return "unsupported";
    case DiagKind::Limit:
      return "limit";
    case DiagKind::Io:
      return "io";
    case DiagKind::Internal:
      return "internal";
  }
  return "internal";
}

std::string format_diag(const Diag& diag) {
  std::string place;
  if (!diag.loc.file.empty()) place = diag.loc.file + ":";
  if (diag.loc.line != 0) place += fmt::format("{}:", diag.loc.line);
  if (diag.loc.column != 0) place += fmt::format("{}:", diag.loc.column);
  if (!place.empty()) place += " ";
  return fmt::format("{}error ({}): {}", place, diag_kind_name(diag.kind), diag.message);
}

}  // namespace assay
