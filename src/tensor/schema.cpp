#include "tensor/schema.h"

#include <fmt/format.h>

#include <cstdlib>

namespace assay::tensor {
namespace {

using program::Arg;
using program::TensorView;

std::string_view trim(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  return s;
}

// Splits at top-level commas: "[0, 0]" and "Tensor(a, b)" stay whole.
std::vector<std::string_view> split(std::string_view s) {
  std::vector<std::string_view> parts;
  int depth = 0;
  size_t start = 0;
  for (size_t k = 0; k <= s.size(); ++k) {
    if (k == s.size() || (s[k] == ',' && depth == 0)) {
      std::string_view part = trim(s.substr(start, k - start));
      if (!part.empty()) parts.push_back(part);
      start = k + 1;
    } else if (s[k] == '(' || s[k] == '[') {
      ++depth;
    } else if (s[k] == ')' || s[k] == ']') {
      --depth;
    }
  }
  return parts;
}

bool parse_type(std::string_view t, Parameter* p) {
  if (size_t a = t.find('('); a != std::string_view::npos) {  // Tensor(a!)
    size_t close = t.find(')', a);
    if (close == std::string_view::npos) return false;
    std::string whole = std::string(t.substr(0, a)) + std::string(t.substr(close + 1));
    return parse_type(whole, p);
  }
  if (t.ends_with('?')) {
    p->optional = true;
    t.remove_suffix(1);
  }
  bool list = false;
  if (t.ends_with(']')) {
    size_t open = t.rfind('[');
    p->list_size = std::atoi(std::string(t.substr(open + 1)).c_str());
    t = t.substr(0, open);
    if (t.ends_with('?')) t.remove_suffix(1);  // Tensor?[]
    list = true;
  }
  if (t == "Tensor") {
    p->type = list ? ArgType::TensorList : ArgType::Tensor;
  } else if (t == "int" || t == "SymInt") {
    p->type = list ? ArgType::IntList : ArgType::Int;
  } else if (t == "float") {
    p->type = list ? ArgType::FloatList : ArgType::Float;
  } else if (t == "bool") {
    p->type = list ? ArgType::Ignored : ArgType::Bool;
  } else if (t == "str") {
    p->type = ArgType::Str;
  } else if (t == "Scalar") {
    p->type = ArgType::Scalar;
  } else if (t == "ScalarType") {
    p->type = ArgType::DType;
  } else if (t == "Layout" || t == "Device" || t == "MemoryFormat" || t == "Generator") {
    p->type = ArgType::Ignored;
  } else {
    return false;
  }
  return true;
}

std::vector<int64_t> parse_ints(std::string_view text) {
  std::vector<int64_t> v;
  for (std::string_view e : split(text.substr(1, text.size() - 2))) {
    v.push_back(std::atoll(std::string(e).c_str()));
  }
  return v;
}

bool parse_default(std::string_view text, Parameter* p) {
  std::string s(text);
  if (s == "None") return true;
  switch (p->type) {
    case ArgType::Bool:
      p->default_value = s == "True";
      return true;
    case ArgType::Float:
      p->default_value = std::strtod(s.c_str(), nullptr);
      return true;
    case ArgType::Int:
      // Reduction enum values stand as names in native_functions.yaml.
      p->default_value = s == "Mean" ? int64_t{1} : int64_t{std::atoll(s.c_str())};
      return true;
    case ArgType::Scalar:
      if (s == "True" || s == "False") {
        p->default_value = s == "True";
      } else if (s.find_first_of(".en") != std::string::npos) {
        p->default_value = std::strtod(s.c_str(), nullptr);
      } else {
        p->default_value = int64_t{std::atoll(s.c_str())};
      }
      return true;
    case ArgType::IntList:
      if (s.front() == '[') {
        p->default_value = parse_ints(s);
      } else {
        p->default_value = std::vector<int64_t>(std::max(p->list_size, 1), std::atoll(s.c_str()));
      }
      return true;
    case ArgType::Str:
      if (s.size() < 2) return false;
      p->default_value = s.substr(1, s.size() - 2);
      return true;
    case ArgType::Ignored:
      return true;
    case ArgType::TensorList:
      p->default_value = std::vector<TensorView>{};
      return s == "[]";
    default:
      return false;
  }
}

bool is_number(const Arg& a) {
  return std::holds_alternative<int64_t>(a) || std::holds_alternative<double>(a) ||
         std::holds_alternative<bool>(a);
}

bool is_empty_list(const Arg& a) {
  if (auto* v = std::get_if<std::vector<int64_t>>(&a)) return v->empty();
  if (auto* v = std::get_if<std::vector<double>>(&a)) return v->empty();
  if (auto* v = std::get_if<std::vector<TensorView>>(&a)) return v->empty();
  return false;
}

bool bind_list(const Parameter& p, Arg* a) {
  if (p.type == ArgType::IntList) {
    if (auto* i = std::get_if<int64_t>(a)) {
      *a = std::vector<int64_t>(std::max(p.list_size, 1), *i);
    } else if (auto* v = std::get_if<std::vector<int64_t>>(a)) {
      if (v->size() == 1 && p.list_size > 1) v->resize(p.list_size, v->front());
    } else if (is_empty_list(*a)) {
      *a = std::vector<int64_t>{};
    }
    return std::holds_alternative<std::vector<int64_t>>(*a);
  }
  if (p.type == ArgType::FloatList) {
    if (auto* v = std::get_if<std::vector<int64_t>>(a)) {
      *a = std::vector<double>(v->begin(), v->end());
    } else if (is_empty_list(*a)) {
      *a = std::vector<double>{};
    }
    return std::holds_alternative<std::vector<double>>(*a);
  }
  if (is_empty_list(*a)) *a = std::vector<TensorView>{};
  return std::holds_alternative<std::vector<TensorView>>(*a);
}

bool bind_one(const Parameter& p, Arg* a) {
  if (auto* view = std::get_if<TensorView>(a); view && view->buffer < 0) *a = std::monostate{};
  if (p.type == ArgType::Ignored) return true;
  if (std::holds_alternative<std::monostate>(*a)) return p.optional;
  switch (p.type) {
    case ArgType::Tensor:
      return std::holds_alternative<TensorView>(*a) || is_number(*a);
    case ArgType::Int:
      return std::holds_alternative<int64_t>(*a);
    case ArgType::Float:
      if (auto* i = std::get_if<int64_t>(a)) *a = static_cast<double>(*i);
      return std::holds_alternative<double>(*a);
    case ArgType::Bool:
      if (auto* i = std::get_if<int64_t>(a); i && (*i == 0 || *i == 1)) *a = *i == 1;
      return std::holds_alternative<bool>(*a);
    case ArgType::Str:
      return std::holds_alternative<std::string>(*a);
    case ArgType::Scalar:
      return is_number(*a);
    case ArgType::DType:
      return std::holds_alternative<program::DType>(*a);
    default:
      return bind_list(p, a);
  }
}

}  // namespace

Result<Schema> parse_schema(std::string_view text) {
  auto bad = [&] { return fail(DiagKind::Internal, fmt::format("bad schema '{}'", text)); };
  size_t open = text.find('(');
  size_t close = text.rfind(") ->");
  if (open == std::string_view::npos || close == std::string_view::npos) return bad();
  Schema schema;
  std::string_view name = text.substr(0, open);
  size_t dot = name.find('.');
  schema.name = std::string(name.substr(0, dot));
  if (dot != std::string_view::npos) schema.overload = std::string(name.substr(dot + 1));
  for (std::string_view part : split(text.substr(open + 1, close - open - 1))) {
    if (part == "*") continue;
    Parameter p;
    size_t space = part.rfind(' ', part.find('='));
    if (space == std::string_view::npos || !parse_type(part.substr(0, space), &p)) return bad();
    std::string_view rest = part.substr(space + 1);
    size_t equal = rest.find('=');
    p.name = std::string(rest.substr(0, equal));
    if (equal != std::string_view::npos) {
      p.has_default = true;
      if (!parse_default(rest.substr(equal + 1), &p)) return bad();
    }
    schema.parameters.push_back(std::move(p));
  }
  return schema;
}

Result<std::vector<Arg>> bind(const Schema& schema, const std::vector<Arg>& args) {
  const auto& params = schema.parameters;
  if (args.size() > params.size()) {
    return fail(DiagKind::Invalid,
                fmt::format("takes {} arguments, {} given", params.size(), args.size()));
  }
  std::vector<Arg> bound = args;
  for (size_t k = 0; k < params.size(); ++k) {
    if (k < args.size()) {
      if (bind_one(params[k], &bound[k])) continue;
      return fail(DiagKind::Invalid, fmt::format("argument '{}' has a wrong type", params[k].name));
    }
    if (!params[k].has_default) {
      return fail(DiagKind::Invalid, fmt::format("argument '{}' is missing", params[k].name));
    }
    bound.push_back(params[k].default_value);
  }
  return bound;
}

}  // namespace assay::tensor
