#include "host/signature.h"

#include <cctype>
#include <optional>
#include <string_view>

namespace assay::host {

namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Comments become spaces; with `strings`, what stands between quotes too.
std::string blanked(const std::string& text, bool strings) {
  std::string out = text;
  const auto blank = [&](size_t from, size_t to) {
    for (size_t k = from; k < to && k < out.size(); ++k)
      if (out[k] != '\n') out[k] = ' ';
  };
  for (size_t k = 0; k < text.size();) {
    if (text.compare(k, 2, "//") == 0) {
      const size_t end = std::min(text.find('\n', k), text.size());
      blank(k, end);
      k = end;
    } else if (text.compare(k, 2, "/*") == 0) {
      const size_t close = text.find("*/", k + 2);
      const size_t end = close == std::string::npos ? text.size() : close + 2;
      blank(k, end);
      k = end;
    } else if (text[k] == '"' || (text[k] == '\'' && (k == 0 || !is_word(text[k - 1])))) {
      size_t end = k + 1;
      while (end < text.size() && text[end] != text[k] && text[end] != '\n')
        end += text[end] == '\\' ? 2 : 1;
      if (strings) blank(k + 1, end);
      k = end + 1;
    } else {
      ++k;
    }
  }
  return out;
}

size_t skip_spaces(std::string_view text, size_t k) {
  while (k < text.size() && std::isspace(static_cast<unsigned char>(text[k])) != 0) ++k;
  return k;
}

// The position of the bracket that closes the one at `open`.
std::optional<size_t> closing(std::string_view text, size_t open) {
  int depth = 0;
  for (size_t k = open; k < text.size(); ++k) {
    if (text[k] == '(' || text[k] == '[' || text[k] == '{') ++depth;
    if (text[k] == ')' || text[k] == ']' || text[k] == '}') --depth;
    if (depth == 0) return k;
  }
  return std::nullopt;
}

// Cut at the commas that stand in no bracket. "<" counts as one unless it compares or shifts, which
// it can only in a default value, behind "=".
std::vector<std::string_view> parameters(std::string_view list) {
  std::vector<std::string_view> out;
  int depth = 0;
  bool value = false;
  size_t start = 0;
  for (size_t k = 0; k < list.size(); ++k) {
    const char c = list[k];
    if (c == '(' || c == '[' || c == '{' || (c == '<' && !value)) ++depth;
    if (c == ')' || c == ']' || c == '}' || (c == '>' && !value)) --depth;
    if (depth == 0 && c == '=') value = true;
    if (depth == 0 && c == ',') {
      out.push_back(list.substr(start, k - start));
      start = k + 1;
      value = false;
    }
  }
  if (skip_spaces(list, start) < list.size() || !out.empty()) out.push_back(list.substr(start));
  return out;
}

// The last word before a default value, where a type stands before it.
std::string name_of(std::string_view parameter) {
  int depth = 0;
  size_t end = parameter.size();
  for (size_t k = 0; k < parameter.size(); ++k) {
    if (parameter[k] == '<') ++depth;
    if (parameter[k] == '>') --depth;
    if (depth == 0 && parameter[k] == '=') {
      end = k;
      break;
    }
  }
  while (end > 0 && std::isspace(static_cast<unsigned char>(parameter[end - 1])) != 0) --end;
  size_t start = end;
  while (start > 0 && is_word(parameter[start - 1])) --start;
  const bool typed =
      skip_spaces(parameter, 0) < start && (start < 2 || parameter[start - 1] != ':');
  return typed ? std::string(parameter.substr(start, end - start)) : "";
}

std::vector<std::string> names_of(std::string_view list) {
  std::vector<std::string> out;
  for (std::string_view p : parameters(list)) out.push_back(name_of(p));
  if (out.size() == 1 && out[0].empty() && list.find("void") != std::string_view::npos) out.clear();
  return out;
}

// What stands second in the `def("entry", ...)` of a binding.
std::string_view bound_to(std::string_view text, const std::string& entry) {
  const std::string quoted = '"' + entry + '"';
  for (size_t k = text.find(quoted); k != std::string_view::npos;
       k = text.find(quoted, k + quoted.size())) {
    size_t open = k;
    while (open > 0 && std::isspace(static_cast<unsigned char>(text[open - 1])) != 0) --open;
    if (open == 0 || text[open - 1] != '(') continue;
    size_t comma = skip_spaces(text, k + quoted.size());
    if (comma >= text.size() || text[comma] != ',') continue;
    return text.substr(skip_spaces(text, comma + 1));
  }
  return {};
}

}  // namespace

std::vector<std::string> parameter_names(const std::string& source, const std::string& entry) {
  const std::string with_strings = blanked(source, false), text = blanked(source, true);
  std::string_view bound = bound_to(with_strings, entry);
  if (!bound.empty() && bound[0] == '[') {  // a lambda
    const auto capture = closing(bound, 0);
    if (!capture) return {};
    const size_t open = skip_spaces(bound, *capture + 1);
    if (open >= bound.size() || bound[open] != '(') return {};
    const auto close = closing(bound, open);
    return close ? names_of(bound.substr(open + 1, *close - open - 1)) : std::vector<std::string>();
  }
  std::string function = entry;
  if (!bound.empty()) {
    size_t end = bound[0] == '&' ? skip_spaces(bound, 1) : 0, start = end;
    for (; end < bound.size() && (is_word(bound[end]) || bound[end] == ':'); ++end)
      if (bound[end] == ':') start = end + 1;
    function = bound.substr(start, end - start);
  }
  if (function.empty()) return {};
  std::optional<std::vector<std::string>> found;
  for (size_t k = text.find(function); k != std::string::npos; k = text.find(function, k + 1)) {
    if (k > 0 && is_word(text[k - 1])) continue;
    const size_t open = skip_spaces(text, k + function.size());
    if (open >= text.size() || text[open] != '(') continue;
    const auto close = closing(text, open);
    if (!close) continue;
    const size_t body = skip_spaces(text, *close + 1);
    if (body >= text.size() || text[body] != '{') continue;  // a call or a declaration
    std::vector<std::string> names =
        names_of(std::string_view(text).substr(open + 1, *close - open - 1));
    if (found && *found != names) return {};
    found = std::move(names);
  }
  return found.value_or(std::vector<std::string>());
}

}  // namespace assay::host
