// [arrays.*] and [scalars.*] of a launch file.
#include <algorithm>

#include "base/ieee.h"
#include "check/launch_reader.h"

namespace assay::check::launch {

namespace {
constexpr uint64_t kMaxBytes = uint64_t{1} << 40;  // of one array; a mistake beyond it

// "i32" and PTX's "s32", "u32", "b32", "f32", ...
Ty parse_type(std::string_view text) {
  std::string ptx(text);
  if (!ptx.empty() && ptx[0] == 'i') ptx[0] = 's';
  if (text == "bool") ptx = "u8";
  for (size_t k = 1; k < std::size(kTyInfo); ++k) {
    TyClass cls = kTyInfo[k].cls;
    if (kTyInfo[k].text == ptx && cls != TyClass::P && cls != TyClass::X && kTyInfo[k].bits <= 64) {
      return static_cast<Ty>(k);
    }
  }
  return Ty::None;
}

}  // namespace

Status Reader::shape(const toml::table& table, LaunchArray& out) const {
  const toml::node* node = table.get("shape");
  if (node == nullptr || !node->is_array()) {
    return bad(node == nullptr ? table : *node, "array {} needs \"shape\", a list", out.name);
  }
  uint64_t bytes = program::dtype_bytes(out.dtype);
  for (const toml::node& item : *node->as_array()) {
    ASSAY_TRY(int64_t n, integer(item, "shape", 1, int64_t{kMaxBytes}));
    out.shape.push_back(n);
    if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(n), &bytes) || bytes > kMaxBytes) {
      return bad(item, "array {} is larger than {} bytes", out.name, kMaxBytes);
    }
  }
  return {};
}

// One number into the array's element type; integers must fit.
Status Reader::append(const toml::node& node, const LaunchArray& array,
                      std::vector<uint8_t>& out) const {
  if (const auto* list = node.as_array()) {
    for (const toml::node& item : *list) ASSAY_CHECK(append(item, array, out));
    return {};
  }
  Ty type = program::dtype_ty(array.dtype);
  uint64_t bits = 0;
  if (program::dtype_is_float(array.dtype)) {
    auto value = node.value<double>();
    if (!value) return bad(node, "array {}: a number is expected", array.name);
    bits = ieee_from_double(type, *value);
  } else if (array.dtype == program::DType::Bool) {
    auto value = node.value<bool>();
    if (!value) return bad(node, "array {}: true or false is expected", array.name);
    bits = *value ? 1 : 0;
  } else {
    uint32_t width = assay::bits(type);
    // All unsigned tensor types are narrower than 64 bits.
    int64_t most = is_signed(type) ? INT64_MAX >> (64 - width) : (int64_t{1} << width) - 1;
    int64_t least = is_signed(type) ? -most - 1 : 0;
    ASSAY_TRY(int64_t value,
              integer(node, fmt::format("an element of {}", array.name), least, most));
    bits = static_cast<uint64_t>(value);
  }
  for (uint32_t k = 0; k < bytes(type); ++k) out.push_back(static_cast<uint8_t>(bits >> (8 * k)));
  return {};
}

Status Reader::data(const toml::table& table, LaunchArray& out) const {
  const toml::node* list = table.get("data");
  const toml::node* fill = table.get("fill");
  if ((list == nullptr) == (fill == nullptr)) {
    return bad(table, "array {} needs either \"data\" or \"fill\"", out.name);
  }
  uint64_t elements = 1;
  for (int64_t d : out.shape) elements *= static_cast<uint64_t>(d);
  if (fill != nullptr) {
    if (fill->is_array()) return bad(*fill, "fill must be one value");
    std::vector<uint8_t> one;
    ASSAY_CHECK(append(*fill, out, one));
    for (uint64_t k = 0; k < elements; ++k) out.data.insert(out.data.end(), one.begin(), one.end());
    return {};
  }
  if (!list->is_array()) return bad(*list, "data must be a list");
  ASSAY_CHECK(append(*list, out, out.data));
  uint64_t given = out.data.size() / program::dtype_bytes(out.dtype);
  if (given != elements) {
    return bad(*list, "array {} has {} elements, data gives {}", out.name, elements, given);
  }
  return {};
}

Status Reader::range(const toml::table& table, LaunchArray& out) const {
  const toml::node* node = table.get("range");
  bool integers = !program::dtype_is_float(out.dtype) && out.dtype != program::DType::Bool;
  if (node == nullptr) {
    if (integers && out.init == program::Init::Symbolic) {
      return bad(table, "array {}: symbolic integers need \"range = [least, most]\"", out.name);
    }
    return {};
  }
  const auto* list = node->as_array();
  auto at = [&](size_t k) { return list->get(k)->value<double>(); };
  if (list == nullptr || list->size() != 2 || !at(0) || !at(1) || *at(0) > *at(1)) {
    return bad(*node, "range must be [least, most]");
  }
  out.range = {*at(0), *at(1)};
  return {};
}

Status Reader::init(const toml::table& table, LaunchArray& out) const {
  using program::Init;
  const bool undefined = out.role == ArrayRole::Out || out.role == ArrayRole::Scratch;
  out.init = undefined ? Init::Poison : out.role == ArrayRole::Const ? Init::Data : Init::Symbolic;
  if (const toml::node* node = table.get("init")) {
    ASSAY_TRY(std::string text, string(*node, "init"));
    if (text == "symbolic") {
      out.init = Init::Symbolic;
    } else if (text == "zero") {
      out.init = Init::Zero;
    } else if (text == "poison") {
      out.init = Init::Poison;
    } else if (text == "data") {
      out.init = Init::Data;
    } else {
      return bad(*node, "init is \"{}\", must be symbolic, zero, poison or data", text);
    }
    if (out.role == ArrayRole::Scratch && out.init != Init::Zero && out.init != Init::Poison) {
      return bad(*node, "init of a scratch array must be zero or poison");
    }
  }
  if (out.init == Init::Data) return data(table, out);
  for (const char* key : {"data", "fill"}) {
    if (const toml::node* node = table.get(key)) {
      return bad(*node, "array {}: \"{}\" goes with init = \"data\"", out.name, key);
    }
  }
  return {};
}

Result<LaunchArray> Reader::array(std::string_view name, const toml::node& node) const {
  const auto* table = node.as_table();
  if (table == nullptr) return bad(node, "array {} must be a table", name);
  ASSAY_CHECK(only(*table, {"role", "dtype", "shape", "init", "data", "fill", "range", "symbol"}));
  LaunchArray out;
  out.name = name;
  out.loc = loc(node);
  for (const char* key : {"role", "dtype"}) {
    if (!table->contains(key)) return bad(node, "array {} needs \"{}\"", name, key);
  }
  ASSAY_TRY(std::string role, string(*table->get("role"), "role"));
  constexpr std::pair<std::string_view, ArrayRole> kRoles[] = {
      {"in", ArrayRole::In},   {"param", ArrayRole::Param}, {"const", ArrayRole::Const},
      {"out", ArrayRole::Out}, {"inout", ArrayRole::InOut}, {"scratch", ArrayRole::Scratch}};
  const auto* row = std::find_if(std::begin(kRoles), std::end(kRoles),
                                 [&](const auto& r) { return r.first == role; });
  if (row == std::end(kRoles)) {
    return bad(*table->get("role"),
               "role is \"{}\", must be in, param, const, out, inout or scratch", role);
  }
  out.role = row->second;
  ASSAY_TRY(std::string dtype, string(*table->get("dtype"), "dtype"));
  auto parsed = program::parse_dtype(dtype);
  if (!parsed) return bad(*table->get("dtype"), "unknown dtype \"{}\"", dtype);
  out.dtype = *parsed;
  if (const toml::node* symbol = table->get("symbol")) {
    ASSAY_TRY(out.symbol, string(*symbol, "symbol"));
  }
  ASSAY_CHECK(shape(*table, out));
  ASSAY_CHECK(init(*table, out));
  ASSAY_CHECK(range(*table, out));
  return out;
}

Result<LaunchScalar> Reader::scalar(std::string_view name, const toml::node& node) const {
  const auto* table = node.as_table();
  if (table == nullptr) return bad(node, "scalar {} must be a table", name);
  ASSAY_CHECK(only(*table, {"type", "value", "symbolic"}));
  LaunchScalar out;
  out.name = name;
  out.loc = loc(node);
  const toml::node* type = table->get("type");
  if (type == nullptr) return bad(node, "scalar {} needs \"type\", such as \"i32\"", name);
  ASSAY_TRY(std::string text, string(*type, "type"));
  out.type = parse_type(text);
  if (out.type == Ty::None) return bad(*type, "unknown type \"{}\"", text);
  if (const toml::node* symbolic = table->get("symbolic")) {
    if (!symbolic->is_boolean()) return bad(*symbolic, "symbolic must be true or false");
    out.symbolic = symbolic->as_boolean()->get();
  }
  const toml::node* value = table->get("value");
  if ((value == nullptr) != out.symbolic) {
    return bad(node, "scalar {} needs either \"value\" or \"symbolic = true\"", name);
  }
  if (value == nullptr) {
    if (!is_float(out.type)) return bad(*type, "only floating-point scalars can be symbolic");
    return out;
  }
  ASSAY_TRY(LaunchParam literal, param(*value, 1));
  if (std::holds_alternative<int64_t>(literal.what)) {
    out.value = std::get<int64_t>(literal.what);
  } else if (std::holds_alternative<double>(literal.what)) {
    out.value = std::get<double>(literal.what);
  } else if (std::holds_alternative<bool>(literal.what)) {
    out.value = std::get<bool>(literal.what);
  } else {
    return bad(*value, "value must be a number");
  }
  return out;
}

}  // namespace assay::check::launch
