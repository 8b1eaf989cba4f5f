// Python objects and bound functions: what the stand-in pybind11 headers call, and the call of an
// entry function with a Program's arguments.
#include <fmt/format.h>

#include <deque>
#include <nlohmann/json.hpp>
#include <set>

#include "assay/abi.h"
#include "assay/error.h"
#include "host/standalone/rt/call.h"
#include "host/standalone/rt/session.h"
#include "program/member_path.h"

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
  static const char* const names[] = {"None", "bool",  "int",  "float", "str",   "Tensor",
                                      "list", "tuple", "dict", "dtype", "method"};
  return kind >= 0 && kind < 11 ? names[kind] : "object";
}

bool has_method(int32_t kind, const std::string& name) {
  static const std::set<std::string> of_all{"__getitem__", "__len__", "__contains__"},
      of_dicts{"get", "items", "keys", "values"};
  const bool items = kind == OList || kind == OTuple || kind == ODict;
  return items && (of_all.count(name) != 0 || (kind == ODict && of_dicts.count(name) != 0));
}

// A method of a list or a dict, as Python defines it.
int32_t call_method(int32_t m, const int32_t* args, int32_t count) {
  if (object(m).kind != OMethod) Recorder::get().unsupported("calling a Python object from C++");
  const int32_t owner = object(m).items[0];
  const std::string name = object(m).s;
  const bool dict = object(owner).kind == ODict;
  const bool by_key = name == "__getitem__" || name == "get" || name == "__contains__";
  if (count < (by_key ? 1 : 0) || count > (name == "get" ? 2 : by_key ? 1 : 0))
    throw c10::Error("TypeError: wrong number of arguments of " + name);
  if (name == "__len__") return simple(OInt, static_cast<int64_t>(object(owner).items.size()));
  if (by_key && !dict) {
    if (name == "__contains__") Recorder::get().unsupported("'in' for a list from C++");
    const auto n = static_cast<int64_t>(object(owner).items.size());
    const int64_t k = object(args[0]).i;
    return assay_obj_at(owner, k < 0 ? k + n : k);
  }
  if (by_key) {
    const int32_t found = assay_obj_get(owner, assay_obj_str(args[0]));
    if (name == "__contains__") return simple(OBool, found >= 0);
    if (found >= 0) return found;
    if (name == "get") return count == 2 ? args[1] : 0;
    throw c10::Error(std::string("KeyError: '") + assay_obj_str(args[0]) + "'");
  }
  Object list;
  list.kind = OList;
  for (size_t k = 0; k < object(owner).items.size(); ++k) {
    const int32_t value = object(owner).items[k];
    const int32_t key = name == "values" ? 0 : assay_obj_at(owner, static_cast<int64_t>(k));
    if (name == "items") {
      Object pair;
      pair.kind = OTuple;
      pair.items = {key, value};
      list.items.push_back(add(std::move(pair)));
    } else {
      list.items.push_back(name == "keys" ? key : value);
    }
  }
  return add(std::move(list));
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

// A member of a dict, or of a list.
struct Key {
  std::string text;
  bool index = false;
  bool operator==(const Key&) const = default;
};

// The group of an argument's name, then the keys in it; "group.key" in requests of other origin.
std::vector<Key> key_path(const std::string& name) {
  const std::vector<program::Member> members = program::member_path(name);
  const size_t dot = name.find('.');
  if (members.empty() && dot != std::string::npos)
    return {{name.substr(0, dot)}, {name.substr(dot + 1)}};
  std::vector<Key> path{{members.empty() ? name : members[0].owner}};
  for (const program::Member& m : members) path.push_back({m.key, m.index});
  return path;
}

// Puts `item` at path[depth...] of a dict or list, making the containers between. Items of lists
// come in their order.
void put(int32_t owner, const std::vector<Key>& path, size_t depth, int32_t item) {
  const Key& key = path[depth];
  int32_t inner = item;
  if (depth + 1 < path.size()) {
    Object& o = object(owner);
    inner = -1;
    if (key.index && std::to_string(o.items.size() - 1) == key.text) inner = o.items.back();
    for (size_t k = 0; !key.index && k < o.keys.size(); ++k)
      if (o.keys[k] == key.text) inner = o.items[k];
    const bool found = inner >= 0;
    if (!found) inner = simple(path[depth + 1].index ? OList : ODict, 0);
    put(inner, path, depth + 1, item);
    if (found) return;
  }
  if (!key.index) object(owner).keys.push_back(key.text);
  object(owner).items.push_back(inner);
}

// The arguments for one function: positional; consecutive members of one dict or list become that
// container where the function takes an object or a list at that place.
std::vector<int32_t> arrange(const Function& f, const std::vector<program::Argument>& args) {
  std::vector<int32_t> out;
  for (size_t k = 0; k < args.size(); ++k) {
    const char kind = out.size() < f.kinds.size() ? f.kinds[out.size()] : '?';
    const std::vector<Key> first = key_path(args[k].name);
    const bool list = first.size() > 1 && first[1].index;
    if (first.size() < 2 || !(kind == 'o' || (kind == 'L' && list))) {
      out.push_back(object_of(args[k].value));
      continue;
    }
    const int32_t container = simple(list ? OList : ODict, 0);
    for (; k < args.size(); ++k) {
      const std::vector<Key> path = key_path(args[k].name);
      if (path.size() < 2 || path[0] != first[0]) break;
      put(container, path, 1, object_of(args[k].value));
    }
    --k;
    out.push_back(container);
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
int32_t assay_obj_attr(int32_t o, const char* name) {
  const int32_t member = assay_obj_get(o, name);
  if (member >= 0 || !host::has_method(host::object(o).kind, name)) return member;
  host::Object method;
  method.kind = assay_abi::OMethod;
  method.s = name;
  method.items = {o};
  return host::add(std::move(method));
}
int32_t assay_obj_call(int32_t method, const int32_t* args, int32_t count) {
  return host::call_method(method, args, count);
}
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
