#include "region/source.h"

#include <cxxabi.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

namespace assay::region {

namespace {

constexpr uintmax_t kMaxSource = 16 << 20;  // bytes

bool named_like_source(const std::filesystem::path& file) {
  static constexpr std::array kEndings = {".cu",  ".cuh", ".h",   ".hpp", ".hh", ".c",
                                          ".cpp", ".cc",  ".inl", ".inc", ".py", ".ptx"};
  for (const char* ending : kEndings) {
    if (file.extension() == ending) return true;
  }
  return false;
}

// Up to a `//` that stands in no string or character.
std::string without_comment(const std::string& text) {
  char quote = 0;
  for (size_t k = 0; k + 1 < text.size(); ++k) {
    if (quote != 0) {
      if (text[k] == '\\')
        ++k;
      else if (text[k] == quote)
        quote = 0;
    } else if (text[k] == '"' || text[k] == '\'') {
      quote = text[k];
    } else if (text[k] == '/' && text[k + 1] == '/') {
      return text.substr(0, k);
    }
  }
  return text;
}

}  // namespace

const std::vector<std::string>& Sources::lines(const std::string& file) {
  auto [at, fresh] = files_.try_emplace(file);
  std::error_code ec;
  if (!fresh || !named_like_source(file) || !std::filesystem::is_regular_file(file, ec) ||
      std::filesystem::file_size(file, ec) > kMaxSource)
    return at->second;
  std::ifstream in(file);
  for (std::string one; std::getline(in, one);) at->second.push_back(std::move(one));
  return at->second;
}

std::string Sources::line(const std::string& file, uint32_t line) {
  const auto& all = lines(file);
  if (line == 0 || line > all.size()) return "";
  const std::string text = without_comment(all[line - 1]);
  const size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::string demangle(const std::string& name) {
  // The demangler is recursive: absurd names stay as they are.
  if (name.size() > 4096) return name;
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 && text != nullptr ? text.get() : name;
}

std::string base_name(const std::string& name) {
  if (name.empty() || name.back() != ')') return name;
  int depth = 0;
  for (size_t k = name.size(); k-- > 0;) {
    depth += name[k] == ')';
    depth -= name[k] == '(';
    if (depth == 0) return k == 0 ? name : name.substr(0, k);
  }
  return name;
}

}  // namespace assay::region
