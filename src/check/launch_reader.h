#pragma once
// Reads the TOML nodes of one launch file. Internal to parse_launch (launch_toml.h).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "check/launch_toml.h"

#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

namespace assay::check::launch {

// Reads the nodes of one file; every message gets its line.
class Reader {
 public:
  explicit Reader(std::string file) : file_(std::move(file)) {}

  SrcLoc loc(const toml::node& node) const {
    return {file_, node.source().begin.line, node.source().begin.column};
  }
  template <class... Args>
  tl::unexpected<Diag> bad(const toml::node& node, fmt::format_string<Args...> format,
                           Args&&... args) const {
    return fail(DiagKind::Invalid, fmt::format(format, std::forward<Args>(args)...), loc(node));
  }

  // A misspelt key would silently mean the default.
  Status only(const toml::table& table, const std::vector<std::string_view>& keys) const {
    for (const auto& [key, node] : table) {
      if (std::find(keys.begin(), keys.end(), key.str()) == keys.end()) {
        return bad(node, "unknown key \"{}\"; known here: {}", key.str(), fmt::join(keys, ", "));
      }
    }
    return {};
  }

  Result<int64_t> integer(const toml::node& node, std::string_view key, int64_t least,
                          int64_t most) const {
    const auto* value = node.as_integer();
    if (value == nullptr) return bad(node, "{} must be an integer", key);
    if (value->get() < least || value->get() > most) {
      return bad(node, "{} is {}, must be between {} and {}", key, value->get(), least, most);
    }
    return value->get();
  }

  Result<std::string> string(const toml::node& node, std::string_view key) const {
    const auto* value = node.as_string();
    if (value == nullptr) return bad(node, "{} must be a string", key);
    return value->get();
  }

  // 8, or up to three integers.
  Status dim3(const toml::table& table, std::string_view key, std::array<uint32_t, 3>& out) const {
    const toml::node* node = table.get(key);
    if (node == nullptr) return {};
    const auto* list = node->as_array();
    size_t count = list == nullptr ? 1 : list->size();
    if (count < 1 || count > 3) return bad(*node, "{} must have one to three numbers", key);
    for (size_t k = 0; k < count; ++k) {
      const toml::node& item = list == nullptr ? *node : *list->get(k);
      ASSAY_TRY(int64_t n, integer(item, key, 0, UINT32_MAX));
      out[k] = static_cast<uint32_t>(n);
    }
    return {};
  }

  Result<LaunchFile> file(const toml::table& root) const;
  // `base`: what the keys that are not given mean; without it, grid, block and params are needed.
  Result<KernelLaunch> launch(const toml::table& table, const toml::node& place,
                              const KernelLaunch* base = nullptr) const;
  Result<LaunchParam> param(const toml::node& node, int depth) const;
  Result<LaunchArray> array(std::string_view name, const toml::node& node) const;
  Result<LaunchScalar> scalar(std::string_view name, const toml::node& node) const;

 private:
  Status launch_list(const toml::node& node, std::vector<KernelLaunch>& out) const;
  Status reference(const toml::node& node, LaunchFile& out) const;
  Status functions(const toml::node& node, LaunchFile& out) const;
  Status shape(const toml::table& table, LaunchArray& out) const;
  Status init(const toml::table& table, LaunchArray& out) const;
  Status range(const toml::table& table, LaunchArray& out) const;
  Status data(const toml::table& table, LaunchArray& out) const;
  Status append(const toml::node& node, const LaunchArray& array, std::vector<uint8_t>& out) const;

  std::string file_;
};

}  // namespace assay::check::launch
