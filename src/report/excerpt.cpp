#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "report/paint.h"
#include "report/report.h"

namespace assay::report {

namespace {

constexpr uint64_t kMaxBytes = 64 << 20;  // generated kernels are large; devices are endless
constexpr size_t kMaxColumns = 160;

// Line `number` (1-based) of a regular file; false if there is none.
bool read_line(const std::string& path, uint32_t number, std::string& line) {
  std::error_code ec;
  if (!std::filesystem::is_regular_file(path, ec)) return false;
  if (uint64_t size = std::filesystem::file_size(path, ec); ec || size > kMaxBytes) return false;
  std::ifstream file(path);
  for (uint32_t k = 0; k < number; ++k) {
    if (!std::getline(file, line)) return false;
  }
  return true;
}

std::string pointer(const SrcLoc& loc, const TextOptions& options) {
  std::string place = clean(loc.file);
  if (loc.line != 0) place += fmt::format(":{}", loc.line);
  if (loc.line != 0 && loc.column != 0) place += fmt::format(":{}", loc.column);
  return fmt::format(" {} {}\n", Paint{options.color}.blue("-->"), place);
}

}  // namespace

std::string excerpt(const SrcLoc& loc, const TextOptions& options) {
  std::string line;
  if (loc.line == 0 || !read_line(loc.file, loc.line, line)) return "";
  line = clean(line);
  size_t first = line.find_first_not_of(" \t");
  if (first == std::string::npos) return "";
  size_t column = loc.column == 0 ? first : loc.column - 1;
  if (column >= line.size()) column = first;
  // Tabs stay tabs in the caret line, so that both lines align whatever their width is.
  std::string pad;
  for (size_t k = 0; k < column; ++k) {
    if ((line[k] & 0xc0) != 0x80) pad += line[k] == '\t' ? '\t' : ' ';
  }
  if (line.size() > kMaxColumns) {
    line = column < kMaxColumns ? clean(line.substr(0, kMaxColumns)) + " ..." : line;
  }
  std::string number = std::to_string(loc.line), gutter(number.size(), ' ');
  // Without a column the whole statement is meant.
  std::string mark = loc.column == 0
                         ? "^" + std::string(std::min(line.find_last_not_of(" \t") - first,
                                                      kMaxColumns - std::min(first, kMaxColumns)),
                                             '~')
                         : "^";
  Paint paint{options.color};
  std::string bar = paint.blue("|");
  return fmt::format("{} {}\n{} {} {}\n{} {} {}{}\n", gutter, bar, paint.blue(number), bar, line,
                     gutter, bar, pad, paint.red(mark));
}

std::string text(const Diag& diag, const TextOptions& options) {
  Paint paint{options.color};
  bool ours = diag.kind == DiagKind::Internal;
  std::string out =
      fmt::format("{} {}\n", paint.red(fmt::format("error[{}]:", diag_kind_name(diag.kind))),
                  paint.bold(clean(diag.message)));
  // A compiler's words quote the line already.
  const bool quoted = !diag.loc.file.empty() && diag.message.find('\n') != std::string::npos &&
                      diag.message.find(diag.loc.file) != std::string::npos;
  out += quoted ? pointer(diag.loc, options) : where(diag.loc, options);
  if (ours) out += "this is a bug in Assay, not in the kernel\n";
  return out;
}

std::string where(const SrcLoc& loc, const TextOptions& options) {
  return loc.file.empty() ? "" : pointer(loc, options) + excerpt(loc, options);
}

}  // namespace assay::report
