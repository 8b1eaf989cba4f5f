// Python objects and bound functions: what the stand-in pybind11 headers call, and the call of an
// entry function with a Program's arguments.
#include <fmt/format.h>

#include <deque>
#include <nlohmann/json.hpp>

#include "assay/abi.h"
#include "assay/error.h"
#include "host/standalone/rt/call.h"
#include "host/standalone/rt/session.h"

namespace assay::host {

namespace {

using namespace assay_abi;  // NOLINT: object kinds

struct Object {
  int32_t kind = ONone;
  int64_t i = 0;
  double d = 0;
  std::string s;
  std::vector<int32_t> items;  // dicts: values
  std::vector<std::string> keys;
};

struct Function {
  std::string name, kinds;
  Invoke invoke = nullptr;
  void* closure = nullptr;
  std::vector<std::string> names;
  std::vector<int32_t> defaults;
};

std::deque<Object>& objects() {
  static auto* table = new std::deque<Object>(1);  // 0 is None
  return *table;
}
std::vector<Function>& functions() {
  static auto* table = new std::vector<Function>;
  return *table;
}

Object& object(int32_t o) {
  if (o < 0 || static_cast<size_t>(o) >= objects().size()) throw c10::Error("no such object");
  return objects()[static_cast<size_t>(o)];
}

int32_t add(Object o) {
  objects().push_back(std::move(o));
  return static_cast<int32_t>(objects().size() - 1);
}

int32_t simple(int32_t kind, int64_t i, double d = 0) {
  Object o;
  o.kind = kind;
  o.i = i;
  o.d = d;
  return add(std::move(o));
}

int32_t object_of_view(const TensorView& v) {
  if (v.buffer < 0) return 0;
  return simple(OTensor, Recorder::get().tensor_of_view(v, true));
}

int32_t object_of(const Arg& a) {
  if (auto* v = std::get_if<TensorView>(&a)) return object_of_view(*v);
  if (auto* i = std::get_if<int64_t>(&a)) return simple(OInt, *i);
  if (auto* d = std::get_if<double>(&a)) return simple(OFloat, 0, *d);
  if (auto* b = std::get_if<bool>(&a)) return simple(OBool, *b);
  if (auto* t = std::get_if<DType>(&a)) return simple(ODtype, code_of_dtype(*t));
  Object o;
  if (auto* s = std::get_if<std::string>(&a)) {
    o.kind = OStr;
    o.s = *s;
    return add(std::move(o));
  }
  o.kind = OList;
  if (auto* l = std::get_if<std::vector<TensorView>>(&a)) {
    for (const TensorView& v : *l) o.items.push_back(object_of_view(v));
  } else if (auto* n = std::get_if<std::vector<int64_t>>(&a)) {
    for (int64_t v : *n) o.items.push_back(simple(OInt, v));
  } else if (auto* r = std::get_if<std::vector<double>>(&a)) {
    for (double v : *r) o.items.push_back(simple(OFloat, 0, v));
  } else {
    return 0;
  }
  return add(std::move(o));
}

const char* kind_name(int32_t kind) {
  static const char* const names[] = {"None",   "bool", "int",   "float", "str",
                                      "Tensor", "list", "tuple", "dict",  "dtype"};
  return kind >= 0 && kind < 10 ? names[kind] : "object";
}

std::string letter_name(char c) {
  switch (c) {
    case 'T':
      return "Tensor";
    case 'b':
      return "bool";
    case 'i':
      return "int";
    case 'f':
      return "float";
    case 's':
      return "str";
    case 'd':
      return "dtype";
    case 'L':
      return "list";
    case '?':
      return "Optional";
    default:
      return "object";
  }
}

// The arguments for one function: positional; consecutive arguments named "group.key" become one
// dict where the function takes an object at that place.
std::vector<int32_t> arrange(const Function& f, const std::vector<program::Argument>& args) {
  std::vector<int32_t> out;
  for (size_t k = 0; k < args.size(); ++k) {
    size_t dot = args[k].name.find('.');
    bool takes_object = out.size() < f.kinds.size() && f.kinds[out.size()] == 'o';
    if (!takes_object || dot == std::string::npos) {
      out.push_back(object_of(args[k].value));
      continue;
    }
    std::string group = args[k].name.substr(0, dot + 1);
    Object dict;
    dict.kind = ODict;
    for (; k < args.size() && args[k].name.compare(0, group.size(), group) == 0; ++k) {
      dict.keys.push_back(args[k].name.substr(group.size()));
      dict.items.push_back(object_of(args[k].value));
    }
    --k;
    out.push_back(add(std::move(dict)));
  }
  for (size_t k = out.size(); k < f.defaults.size() && f.defaults[k] >= 0; ++k) {
    out.push_back(f.defaults[k]);
  }
  return out;
}

std::string signature(const Function& f) {
  std::string s = f.name + "(";
  for (size_t k = 0; k < f.kinds.size(); ++k) {
    s += (k != 0 ? ", " : "") + (f.names[k].empty() ? "" : f.names[k] + ": ") +
         letter_name(f.kinds[k]);
  }
  return s + ")";
}

void collect_outputs(int32_t o, std::vector<TensorView>* outputs) {
  Object& v = object(o);
  switch (v.kind) {
    case ONone:
      return;
    case OTensor:
      outputs->push_back(Recorder::get().view(static_cast<int32_t>(v.i)));
      return;
    case OList:
    case OTuple:
    case ODict:
      for (int32_t item : v.items) collect_outputs(item, outputs);
      return;
    default:
      Recorder::get().note(
          "returns-number", "low",
          fmt::format("the function returns a {}, not a tensor", kind_name(v.kind)));
  }
}

nlohmann::json form_of(int32_t o) {
  const Object& v = object(o);
  nlohmann::json items = nlohmann::json::array();
  switch (v.kind) {
    case OTensor:
      return "tensor";
    case OBool:
      return v.i != 0;
    case OInt:
      return v.i;
    case OFloat:
      return v.d;
    case OStr:
      return {{"text", v.s}};
    case OList:
    case OTuple:
      for (int32_t item : v.items) items.push_back(form_of(item));
      return {{v.kind == OList ? "list" : "tuple", items}};
    case ODict: {
      nlohmann::json entries = nlohmann::json::array();
      for (size_t k = 0; k < v.items.size() && k < v.keys.size(); ++k)
        entries.push_back({v.keys[k], form_of(v.items[k])});
      return {{"dict", entries}};
    }
    default:
      return nullptr;
  }
}

Outcome invalid(const char* kind, std::string message) { return {false, kind, std::move(message)}; }

Outcome mismatch(const std::vector<const Function*>& candidates,
                 const std::vector<program::Argument>& args) {
  std::string given, takes;
  for (const program::Argument& a : args) {
    given += (given.empty() ? "" : ", ") + std::string(kind_name(object(object_of(a.value)).kind));
  }
  for (const Function* f : candidates) takes += (takes.empty() ? "" : " or ") + signature(*f);
  return invalid(
      "mismatch",
      fmt::format("the arguments do not fit: the extension has {}, given ({})", takes, given));
}

}  // namespace

Session& Session::get() {
  static Session* session = new Session;
  return *session;
}

Outcome Session::call(const std::string& entry) {
  auto& r = Recorder::get();
  std::lock_guard lock(r.mutex());
  std::vector<const Function*> candidates;
  std::string all;
  std::set<std::string> names;
  for (const Function& f : functions()) {
    names.insert(f.name);
    if (f.name == entry) candidates.push_back(&f);
  }
  for (const std::string& n : names) all += (all.empty() ? "" : ", ") + n;
  if (entry.empty() && names.size() == 1) {
    for (const Function& f : functions()) candidates.push_back(&f);
  }
  if (candidates.empty()) {
    if (names.empty()) return invalid("no-entry", "the extension binds no functions");
    return invalid("no-entry",
                   fmt::format("the extension has no function '{}'; it has: {}", entry, all));
  }
  std::vector<program::Argument> args = r.program().arguments;
  for (const Function* f : candidates) {
    std::vector<int32_t> handles = arrange(*f, args);
    if (handles.size() != f->kinds.size()) continue;
    int32_t result = f->invoke(f->closure, handles.data());
    if (result == kMismatch) continue;
    collect_outputs(result, &r.program().outputs);
    returned_ = form_of(result).dump();
    return {true, "ok", ""};
  }
  return mismatch(candidates, args);
}

}  // namespace assay::host

using assay::host::Recorder;
namespace host = assay::host;

int32_t assay_obj_kind(int32_t o) { return host::object(o).kind; }
int64_t assay_obj_int(int32_t o) { return host::object(o).i; }
double assay_obj_float(int32_t o) {
  auto& v = host::object(o);
  return v.kind == assay_abi::OFloat ? v.d : static_cast<double>(v.i);
}
const char* assay_obj_str(int32_t o) {
  auto& v = host::object(o);
  if (v.kind == assay_abi::OStr) return v.s.c_str();
  static thread_local std::string text;
  text = v.kind == assay_abi::OInt     ? std::to_string(v.i)
         : v.kind == assay_abi::OFloat ? fmt::format("{}", v.d)
         : v.kind == assay_abi::OBool  ? (v.i != 0 ? "True" : "False")
                                       : host::kind_name(v.kind);
  return text.c_str();
}
int32_t assay_obj_tensor(int32_t o) {
  auto& v = host::object(o);
  return v.kind == assay_abi::OTensor ? static_cast<int32_t>(v.i) : -1;
}
size_t assay_obj_len(int32_t o) { return host::object(o).items.size(); }
int32_t assay_obj_at(int32_t o, int64_t k) {
  auto& v = host::object(o);
  if (k < 0 || static_cast<size_t>(k) >= v.items.size())
    throw c10::IndexError("index out of range");
  if (v.kind != assay_abi::ODict) return v.items[static_cast<size_t>(k)];
  host::Object key;
  key.kind = assay_abi::OStr;
  key.s = v.keys[static_cast<size_t>(k)];
  return host::add(std::move(key));
}
int32_t assay_obj_get(int32_t o, const char* key) {
  auto& v = host::object(o);
  for (size_t k = 0; k < v.keys.size(); ++k) {
    if (v.keys[k] == key) return v.items[k];
  }
  return -1;
}
int32_t assay_obj_attr(int32_t o, const char* name) { return assay_obj_get(o, name); }
int32_t assay_obj_make(int32_t kind, int64_t i, double d, const char* s) {
  host::Object v;
  v.kind = kind;
  v.i = i;
  v.d = d;
  if (s != nullptr) v.s = s;
  return host::add(std::move(v));
}
int32_t assay_obj_make_tensor(int32_t t) { return host::simple(assay_abi::OTensor, t); }
void assay_obj_append(int32_t o, int32_t item) { host::object(o).items.push_back(item); }
void assay_obj_set(int32_t o, const char* key, int32_t item) {
  auto& v = host::object(o);
  if (v.kind != assay_abi::ODict)
    Recorder::get().unsupported("assigning an item of a Python object");
  for (size_t k = 0; k < v.keys.size(); ++k) {
    if (v.keys[k] == key) {
      v.items[k] = item;
      return;
    }
  }
  v.keys.push_back(key);
  v.items.push_back(item);
}
void assay_def(const char* name, assay_abi::Invoke invoke, void* closure, size_t n,
               const char* kinds, const char* const* names, const int32_t* defaults) {
  host::Function f;
  f.name = name;
  f.kinds.assign(kinds, n);
  f.invoke = invoke;
  f.closure = closure;
  for (size_t k = 0; k < n; ++k) {
    f.names.push_back(k < 128 && names[k] != nullptr ? names[k] : "");
    f.defaults.push_back(k < 128 ? defaults[k] : -1);
  }
  host::functions().push_back(std::move(f));
}
