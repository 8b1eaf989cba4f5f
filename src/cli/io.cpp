#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "cli/cli.h"

namespace assay::cli {

report::TextOptions text_options(std::FILE* stream, bool verbose) {
  const char* term = std::getenv("TERM");
  const char* plain = std::getenv("NO_COLOR");
  report::TextOptions options;
  options.color = isatty(fileno(stream)) != 0 && (plain == nullptr || *plain == '\0') &&
                  term != nullptr && std::strcmp(term, "dumb") != 0;
  options.verbose = verbose;
  return options;
}

int report_error(const Diag& diag, const std::string& json_path) {
  fmt::print(stderr, "{}", report::text(diag, text_options(stderr, false)));
  int code = report::exit_code(diag);
  if (!json_path.empty()) {
    if (auto written = write_file(json_path, report::json(diag, code)); !written) {
      fmt::print(stderr, "{}", report::text(written.error(), text_options(stderr, false)));
    }
  }
  return code;
}

Status write_file(const std::string& path, std::string_view text) {
  if (path == "-") {
    std::fflush(stdout);
    if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size()) return {};
    return fail(DiagKind::Io, "cannot write to standard output");
  }
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) return fail(DiagKind::Io, fmt::format("cannot write {}: {}", path, strerror(errno)));
  return {};
}

Result<std::string> read_file(const std::string& path) {
  std::error_code ec;
  if (std::filesystem::is_directory(path, ec)) {
    return fail(DiagKind::Io, fmt::format("{} is a folder", path));
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail(DiagKind::Io, fmt::format("cannot read {}: {}", path, strerror(errno)));
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (file.bad()) return fail(DiagKind::Io, fmt::format("cannot read {}", path));
  return text;
}

}  // namespace assay::cli
