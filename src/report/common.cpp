#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/report.h"

namespace assay::report {

int exit_code(const Diag& diag) {
  switch (diag.kind) {
    case DiagKind::Unsupported:
      return 3;
    case DiagKind::Limit:
      return 2;
    case DiagKind::Internal:
      return 5;
    case DiagKind::Syntax:
    case DiagKind::Invalid:
    case DiagKind::Io:
      return 4;
  }
  return 5;
}

std::string place(const std::string& name, const std::vector<int64_t>& index) {
  if (index.empty()) return name;
  return fmt::format("{}[{}]", name, fmt::join(index, ", "));
}

std::string grouped(uint64_t n) {
  std::string digits = std::to_string(n);
  for (size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

namespace {

// Bytes of the UTF-8 sequence at `text[at]`; 0 if it is not one (overlong forms and surrogates are
// let through: terminals and JSON writers replace them).
size_t utf8_length(std::string_view text, size_t at) {
  unsigned char lead = static_cast<unsigned char>(text[at]);
  size_t n = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (lead > 0xf4 || n == 0 || at + n > text.size()) return 0;
  for (size_t k = 1; k < n; ++k) {
    if ((static_cast<unsigned char>(text[at + k]) & 0xc0) != 0x80) return 0;
  }
  return n;
}

}  // namespace

std::string clean(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    size_t n = utf8_length(text, at);
    unsigned char c = static_cast<unsigned char>(text[at]);
    bool control = n == 1 && ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f);
    // C1 controls (U+0080..U+009F) steer some terminals too.
    bool c1 = n == 2 && c == 0xc2 && static_cast<unsigned char>(text[at + 1]) < 0xa0;
    if (n == 0 || control || c1) {
      out += '?';
      at += n == 0 ? 1 : n;
    } else {
      out += text.substr(at, n);
      at += n;
    }
  }
  return out;
}

}  // namespace assay::report
