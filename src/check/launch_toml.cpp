#include "check/launch_toml.h"

#include <fmt/format.h>

#include <algorithm>

#include "check/launch_reader.h"
#include "machine/decode.h"

namespace assay::check {

using launch::Reader;

namespace launch {

namespace {

const std::vector<std::string_view> kLaunchKeys = {
    "kernel", "grid", "block", "cluster", "dynamic_smem", "cooperative", "params"};

}  // namespace

Result<LaunchParam> Reader::param(const toml::node& node, int depth) const {
  LaunchParam out;
  out.loc = loc(node);
  if (const auto* s = node.as_string()) {
    out.what = s->get();
  } else if (const auto* i = node.as_integer()) {
    out.what = i->get();
  } else if (const auto* f = node.as_floating_point()) {
    out.what = f->get();
  } else if (const auto* b = node.as_boolean()) {
    out.what = b->get();
  } else if (const auto* list = node.as_array(); list != nullptr && depth == 0) {
    std::vector<LaunchParam> members;
    for (const toml::node& item : *list) {
      ASSAY_TRY(LaunchParam member, param(item, depth + 1));
      members.push_back(std::move(member));
    }
    out.what = std::move(members);
  } else {
    return bad(node, "a parameter is a name, a number, or a list of these (a struct by value)");
  }
  return out;
}

Result<KernelLaunch> Reader::launch(const toml::table& table, const toml::node& place,
                                    const KernelLaunch* base) const {
  KernelLaunch out;
  if (base != nullptr) out = *base;
  out.loc = loc(place);
  if (const toml::node* node = table.get("kernel")) {
    ASSAY_TRY(out.kernel, string(*node, "kernel"));
  }
  for (const char* key : {"grid", "block"}) {
    if (base == nullptr && !table.contains(key)) return bad(place, "a launch needs \"{}\"", key);
  }
  ASSAY_CHECK(dim3(table, "grid", out.grid));
  ASSAY_CHECK(dim3(table, "block", out.block));
  ASSAY_CHECK(dim3(table, "cluster", out.cluster));
  if (const toml::node* node = table.get("dynamic_smem")) {
    ASSAY_TRY(int64_t n, integer(*node, "dynamic_smem", 0, UINT32_MAX));
    out.dynamic_smem = static_cast<uint32_t>(n);
  }
  if (const toml::node* node = table.get("cooperative")) {
    if (!node->is_boolean()) return bad(*node, "cooperative must be true or false");
    out.cooperative = node->as_boolean()->get();
  }
  const toml::node* params = table.get("params");
  if (params == nullptr && base != nullptr) return out;
  if (params == nullptr || !params->is_array()) {
    return bad(params == nullptr ? place : *params, "a launch needs \"params\", a list");
  }
  out.params.clear();
  for (const toml::node& item : *params->as_array()) {
    ASSAY_TRY(LaunchParam p, param(item, 0));
    out.params.push_back(std::move(p));
  }
  return out;
}

namespace {

// Entries of [section.*] in the order of the text: toml++ keeps tables sorted by name.
std::vector<std::pair<std::string_view, const toml::node*>> in_order(const toml::table& table) {
  std::vector<std::pair<std::string_view, const toml::node*>> out;
  for (const auto& [key, node] : table) out.emplace_back(key.str(), &node);
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
    return a.second->source().begin < b.second->source().begin;
  });
  return out;
}

}  // namespace

Status Reader::launch_list(const toml::node& node, std::vector<KernelLaunch>& out) const {
  const auto* list = node.as_array();
  if (list == nullptr) return bad(node, "launch must be a list of tables, [[launch]]");
  for (const toml::node& item : *list) {
    const auto* table = item.as_table();
    if (table == nullptr) return bad(item, "launch must be a list of tables, [[launch]]");
    ASSAY_CHECK(only(*table, kLaunchKeys));
    ASSAY_TRY(KernelLaunch one, launch(*table, item));
    out.push_back(std::move(one));
  }
  return {};
}

Status Reader::reference(const toml::node& node, LaunchFile& out) const {
  const auto* table = node.as_table();
  if (table == nullptr) return bad(node, "reference must be a table");
  if (const toml::node* list = table->get("launch")) {
    ASSAY_CHECK(only(*table, {"launch"}));
    return launch_list(*list, out.reference);
  }
  ASSAY_CHECK(only(*table, kLaunchKeys));
  if (out.launches.size() != 1) {
    return bad(node, "beside several launches, the reference has its own, [[reference.launch]]");
  }
  ASSAY_TRY(KernelLaunch one, launch(*table, node, &out.launches[0]));
  out.reference.push_back(std::move(one));
  return {};
}

Status Reader::functions(const toml::node& node, LaunchFile& out) const {
  const auto* table = node.as_table();
  if (table == nullptr) return bad(node, "functions must be a table");
  for (const auto& [name, entry] : in_order(*table)) {
    ASSAY_TRY(std::string meaning, string(*entry, name));
    if (machine::find_math_function(meaning) == nullptr) {
      return bad(*entry, "\"{}\" is no function of CUDA's math library that Assay knows", meaning);
    }
    out.functions.emplace_back(name, std::move(meaning));
  }
  return {};
}

Result<LaunchFile> Reader::file(const toml::table& root) const {
  LaunchFile out;
  if (const toml::node* list = root.get("launch")) {
    ASSAY_CHECK(only(root, {"launch", "arrays", "scalars", "functions", "reference"}));
    ASSAY_CHECK(launch_list(*list, out.launches));
  } else {
    std::vector<std::string_view> keys = kLaunchKeys;
    keys.insert(keys.end(), {"arrays", "scalars", "functions", "reference"});
    ASSAY_CHECK(only(root, keys));
    ASSAY_TRY(KernelLaunch one, launch(root, root));
    out.launches.push_back(std::move(one));
  }
  if (const toml::node* node = root.get("reference")) ASSAY_CHECK(reference(*node, out));
  if (const toml::node* node = root.get("functions")) ASSAY_CHECK(functions(*node, out));
  for (const char* section : {"arrays", "scalars"}) {
    const toml::node* node = root.get(section);
    if (node == nullptr) continue;
    const auto* table = node->as_table();
    if (table == nullptr) return bad(*node, "{} must be tables [{}.NAME]", section, section);
    for (const auto& [name, entry] : in_order(*table)) {
      if (section == std::string_view("arrays")) {
        ASSAY_TRY(LaunchArray one, array(name, *entry));
        out.arrays.push_back(std::move(one));
      } else {
        ASSAY_TRY(LaunchScalar one, scalar(name, *entry));
        out.scalars.push_back(std::move(one));
      }
    }
  }
  return out;
}

}  // namespace launch

Result<LaunchFile> parse_launch(std::string_view text, const std::string& file) {
  toml::parse_result parsed = toml::parse(text, file);
  if (!parsed) {
    const auto& at = parsed.error().source().begin;
    return fail(DiagKind::Syntax, std::string(parsed.error().description()),
                {file, at.line, at.column});
  }
  return Reader(file).file(parsed.table());
}

}  // namespace assay::check
