#include <fmt/format.h>

#include <limits>

#include "program/codec.h"

namespace assay::program {

namespace {

constexpr int kMaxRank = 64;

// Reads fields with a sticky error: after the first failure every getter returns a default, so
// that callers check once at the end.
class Reader {
 public:
  explicit Reader(const BlobSource* source) : source_(source) {}

  Result<Program> program(const Json& j) {
    Program p;
    read_program(j, p);
    if (error_) return tl::unexpected<Diag>(*error_);
    ASSAY_CHECK(validate(p));
    return p;
  }

 private:
  void error(std::string message, DiagKind kind = DiagKind::Invalid) {
    if (!error_) error_ = Diag{kind, "program: " + std::move(message), {}};
  }

  // --- fields ---
  const Json* find(const Json& j, const char* key) {
    if (!j.is_object()) {
      error(fmt::format("an object with field '{}' is expected", key));
      return nullptr;
    }
    auto it = j.find(key);
    return it == j.end() ? nullptr : &*it;
  }
  const Json& need(const Json& j, const char* key) {
    static const Json kNull;
    const Json* v = find(j, key);
    if (!v) error(fmt::format("field '{}' is missing", key));
    return v ? *v : kNull;
  }

  template <class T>
  T to_int(const Json& v, const char* what) {
    if (v.is_number_unsigned()) {
      const uint64_t u = v.get<uint64_t>();
      if (u <= static_cast<uint64_t>(std::numeric_limits<T>::max())) return static_cast<T>(u);
    } else if (v.is_number_integer()) {
      const int64_t i = v.get<int64_t>();
      if (std::is_signed_v<T> && i >= static_cast<int64_t>(std::numeric_limits<T>::min()) &&
          i <= static_cast<int64_t>(std::numeric_limits<T>::max())) {
        return static_cast<T>(i);
      }
    }
    error(fmt::format("'{}' is no integer in range", what));
    return T{};
  }
  template <class T>
  T integer(const Json& j, const char* key) {
    return to_int<T>(need(j, key), key);
  }
  template <class T>
  T integer(const Json& j, const char* key, T fallback) {
    const Json* v = find(j, key);
    return v ? to_int<T>(*v, key) : fallback;
  }

  double to_double(const Json& v, const char* what) {
    if (const auto d = decode_number(v)) return *d;
    error(fmt::format("'{}' is no number", what));
    return 0;
  }

  bool boolean(const Json& j, const char* key, bool fallback) {
    const Json* v = find(j, key);
    if (!v) return fallback;
    if (v->is_boolean()) return v->get<bool>();
    error(fmt::format("'{}' is no boolean", key));
    return fallback;
  }

  std::string to_string(const Json& v, const char* what) {
    if (v.is_string()) return v.get<std::string>();
    error(fmt::format("'{}' is no string", what));
    return {};
  }
  std::string string(const Json& j, const char* key) { return to_string(need(j, key), key); }
  std::string string_or_empty(const Json& j, const char* key) {
    const Json* v = find(j, key);
    return v ? to_string(*v, key) : std::string();
  }

  const Json& array(const Json& v, const char* what) {
    static const Json kEmpty = Json::array();
    if (v.is_array()) return v;
    error(fmt::format("'{}' is no array", what));
    return kEmpty;
  }
  template <class T, class F>
  void list(const Json& j, const char* key, std::vector<T>& out, F&& read) {
    const Json* v = find(j, key);
    if (!v) return;
    for (const Json& item : array(*v, key)) {
      if (error_) return;
      out.push_back(read(item));
    }
  }
  template <class T>
  std::vector<T> integers(const Json& v, const char* what) {
    std::vector<T> out;
    for (const Json& item : array(v, what)) out.push_back(to_int<T>(item, what));
    return out;
  }
  std::array<uint32_t, 3> dims(const Json& j, const char* key) {
    const auto v = integers<uint32_t>(need(j, key), key);
    if (v.size() != 3) {
      error(fmt::format("'{}' needs three numbers", key));
      return {1, 1, 1};
    }
    return {v[0], v[1], v[2]};
  }

  std::string_view blob(const Json& key) {
    if (!source_ || !key.is_string()) {
      error("a blob reference outside a bundle");
      return {};
    }
    auto found = source_->get(key.get_ref<const std::string&>());
    if (found) return *found;
    error(found.error().message);
    return {};
  }
  std::vector<uint8_t> bytes(const Json& j, const char* key) {
    if (const Json* ref = find(j, (std::string(key) + "_blob").c_str())) {
      const std::string_view text = blob(*ref);
      return {text.begin(), text.end()};
    }
    const Json* v = find(j, key);
    if (!v) return {};
    std::optional<std::vector<uint8_t>> out;
    if (v->is_string()) out = base64_decode(v->get_ref<const std::string&>());
    if (!out) error(fmt::format("'{}' is no base64", key));
    return out ? std::move(*out) : std::vector<uint8_t>();
  }
  std::string text(const Json& j, const char* key) {
    if (const Json* ref = find(j, (std::string(key) + "_blob").c_str())) {
      return std::string(blob(*ref));
    }
    return string_or_empty(j, key);
  }

  DType dtype(const Json& j, const char* key) {
    const std::string name = string(j, key);
    if (auto t = parse_dtype(name)) return *t;
    error(fmt::format("unknown dtype '{}'", name));
    return DType::F32;
  }

  SrcLoc loc(const Json& j) {
    const Json* v = find(j, "loc");
    if (!v) return {};
    return {string_or_empty(*v, "file"), integer<uint32_t>(*v, "line", 0),
            integer<uint32_t>(*v, "column", 0)};
  }

  // --- structures ---
  TensorView view(const Json& j) {
    TensorView v;
    v.buffer = integer<int>(j, "buffer");
    if (v.buffer < 0 && !j.contains("shape")) return v;
    v.dtype = dtype(j, "dtype");
    v.offset = integer<int64_t>(j, "offset", 0);
    v.shape = integers<int64_t>(need(j, "shape"), "shape");
    v.strides = integers<int64_t>(need(j, "strides"), "strides");
    if (v.shape.size() != v.strides.size() || v.shape.size() > kMaxRank) error("a view's rank");
    return v;
  }

  Arg arg(const Json& j) {
    if (j.is_null()) return std::monostate{};
    if (j.is_boolean()) return j.get<bool>();
    if (j.is_number_float()) return j.get<double>();
    if (j.is_number()) return to_int<int64_t>(j, "argument");
    if (j.is_string()) return j.get<std::string>();
    if (j.is_array()) return integers<int64_t>(j, "argument");
    if (j.contains("buffer")) return view(j);
    if (j.contains("float")) return to_double(j, "argument");
    if (j.contains("dtype")) return dtype(j, "dtype");
    if (j.contains("tensors")) {
      std::vector<TensorView> out;
      list(j, "tensors", out, [&](const Json& v) { return view(v); });
      return out;
    }
    std::vector<double> out;
    for (const Json& v : array(need(j, "floats"), "floats")) out.push_back(to_double(v, "floats"));
    return out;
  }

  template <class E, size_t N>
  E choice(const Json& j, const char* key, const char* const (&names)[N]) {
    const std::string name = string(j, key);
    for (size_t i = 0; i < N; ++i) {
      if (name == names[i]) return static_cast<E>(i);
    }
    error(fmt::format("'{}' cannot be '{}'", key, name));
    return E{};
  }

  Buffer buffer(const Json& j) {
    static constexpr const char* kRoles[] = {"input", "parameter", "state", "constant", "temp"};
    static constexpr const char* kInits[] = {"symbolic", "poison", "zero", "data"};
    Buffer b;
    b.name = string_or_empty(j, "name");
    b.bytes = integer<uint64_t>(j, "bytes");
    b.dtype = dtype(j, "dtype");
    b.role = choice<Role>(j, "role", kRoles);
    b.init = choice<Init>(j, "init", kInits);
    b.address = integer<uint64_t>(j, "address", 0);
    b.data = bytes(j, "data");
    if (const Json* range = find(j, "example_range")) {
      if (array(*range, "example_range").size() == 2) {
        b.example_range = {to_double((*range)[0], "range"), to_double((*range)[1], "range")};
      } else {
        error("'example_range' needs two numbers");
      }
    }
    return b;
  }

  std::pair<std::string, int64_t> named_int(const Json& j, const char* what) {
    if (!j.is_array() || j.size() != 2) {
      error(fmt::format("'{}' needs pairs", what));
      return {};
    }
    return {to_string(j[0], what), to_int<int64_t>(j[1], what)};
  }

  Module module(const Json& j) {
    Module m;
    m.name = string_or_empty(j, "name");
    m.real_ptx = text(j, "real_ptx");
    m.semantic_ptx = text(j, "semantic_ptx");
    list(j, "symbols", m.symbols, [&](const Json& v) {
      auto [name, index] = named_int(v, "symbols");
      if (index < 0 || index > std::numeric_limits<int>::max()) error("'symbols' index");
      return std::pair<std::string, int>(name, static_cast<int>(index));
    });
    list(j, "functions", m.functions, [&](const Json& v) {
      if (!v.is_array() || v.size() != 2) {
        error("'functions' needs pairs");
        return std::pair<std::string, std::string>();
      }
      return std::pair(to_string(v[0], "functions"), to_string(v[1], "functions"));
    });
    return m;
  }

  SymbolicScalar scalar(const Json& j) {
    SymbolicScalar s;
    s.name = string_or_empty(j, "name");
    s.dtype = dtype(j, "dtype");
    s.expression = string_or_empty(j, "expression");
    s.buffer = integer<int>(j, "buffer", -1);
    s.element = integer<int64_t>(j, "element", 0);
    s.fn = string_or_empty(j, "fn");
    if (const Json* v = find(j, "scale")) s.scale = to_double(*v, "scale");
    if (const Json* v = find(j, "shift")) s.shift = to_double(*v, "shift");
    return s;
  }

  Argument argument(const Json& j) {
    return {string_or_empty(j, "name"), arg(need(j, "value")), string_or_empty(j, "source")};
  }

  Note note(const Json& j) {
    return {string(j, "kind"), string_or_empty(j, "severity"), string_or_empty(j, "message"),
            integer<int>(j, "step", -1), loc(j)};
  }

  OpStep op_step(const Json& j) {
    OpStep s;
    s.op = string(j, "op");
    list(j, "args", s.args, [&](const Json& v) { return arg(v); });
    list(j, "outputs", s.outputs, [&](const Json& v) { return view(v); });
    return s;
  }

  ParamSlot slot(const Json& j) {
    ParamSlot s;
    s.offset = integer<uint32_t>(j, "offset");
    s.size = integer<uint32_t>(j, "size");
    s.kind = find(j, "scalar") ? ParamSlot::Kind::Scalar : ParamSlot::Kind::Pointer;
    if (s.kind == ParamSlot::Kind::Scalar) {
      s.scalar = integer<int>(j, "scalar");
    } else {
      s.buffer = integer<int>(j, "buffer");
      s.addend = integer<int64_t>(j, "addend", 0);
    }
    return s;
  }

  LaunchStep launch_step(const Json& j) {
    LaunchStep s;
    s.module = integer<int>(j, "module");
    s.kernel = string(j, "kernel");
    s.grid = dims(j, "grid");
    s.block = dims(j, "block");
    s.cluster = dims(j, "cluster");
    s.dynamic_smem = integer<uint32_t>(j, "dynamic_smem");
    s.max_dynamic_smem = integer<uint32_t>(j, "max_dynamic_smem");
    s.cooperative = boolean(j, "cooperative", false);
    s.params = bytes(j, "params");
    list(j, "slots", s.slots, [&](const Json& v) { return slot(v); });
    return s;
  }

  CopyStep copy_step(const Json& j) {
    CopyStep s;
    s.dst = integer<int>(j, "dst");
    s.src = integer<int>(j, "src", -1);
    s.dst_offset = integer<int64_t>(j, "dst_offset", 0);
    s.src_offset = integer<int64_t>(j, "src_offset", 0);
    s.bytes = integer<uint64_t>(j, "bytes");
    s.host_data = bytes(j, "host_data");
    return s;
  }

  FillStep fill_step(const Json& j) {
    FillStep s;
    s.dst = integer<int>(j, "dst");
    s.offset = integer<int64_t>(j, "offset", 0);
    s.bytes = integer<uint64_t>(j, "bytes");
    s.value = integer<uint32_t>(j, "value");
    s.width = integer<uint8_t>(j, "width", 1);
    return s;
  }

  Step step(const Json& j) {
    Step s;
    const std::string kind = string(j, "kind");
    if (kind == "op") {
      s.what = op_step(j);
    } else if (kind == "launch") {
      s.what = launch_step(j);
    } else if (kind == "copy") {
      s.what = copy_step(j);
    } else if (kind == "fill") {
      s.what = fill_step(j);
    } else {
      error(fmt::format("unknown step kind '{}'", kind), DiagKind::Unsupported);
    }
    if (error_) return s;
    s.stream = integer<int>(j, "stream", 0);
    list(j, "after", s.after, [&](const Json& v) { return to_int<int>(v, "after"); });
    s.implicit_order = boolean(j, "implicit_order", true);
    s.loc = loc(j);
    return s;
  }

  void read_program(const Json& j, Program& p) {
    const int schema = integer<int>(j, "schema");
    if (error_) return;
    if (schema != kSchemaVersion) {
      error(fmt::format("schema version {} (this Assay reads {})", schema, kSchemaVersion),
            DiagKind::Unsupported);
      return;
    }
    p.name = string_or_empty(j, "name");
    list(j, "modules", p.modules, [&](const Json& v) { return module(v); });
    list(j, "buffers", p.buffers, [&](const Json& v) { return buffer(v); });
    list(j, "scalars", p.scalars, [&](const Json& v) { return scalar(v); });
    list(j, "arguments", p.arguments, [&](const Json& v) { return argument(v); });
    list(j, "steps", p.steps, [&](const Json& v) { return step(v); });
    list(j, "outputs", p.outputs, [&](const Json& v) { return view(v); });
    list(j, "mutated", p.mutated, [&](const Json& v) { return view(v); });
    list(j, "unjoined", p.unjoined, [&](const Json& v) { return to_int<int>(v, "unjoined"); });
    list(j, "notes", p.notes, [&](const Json& v) { return note(v); });
    p.form = string_or_empty(j, "form");
    p.function = string_or_empty(j, "function");
    list(j, "init_args", p.init_args, [&](const Json& v) { return argument(v); });
    list(j, "changed", p.changed, [&](const Json& v) {
      std::optional<Change> change = decode_change(v);
      if (!change) error("'changed' needs pairs of a name and a number");
      return change.value_or(Change());
    });
  }

  const BlobSource* source_;
  std::optional<Diag> error_;
};

}  // namespace

std::optional<Change> decode_change(const Json& j) {
  if (!j.is_array() || j.size() != 2 || !j[0].is_string() || !j[1].is_number()) return std::nullopt;
  const bool integer = j[1].is_number_integer();
  if (integer) return Change(j[0].get<std::string>(), j[1].get<int64_t>());
  return Change(j[0].get<std::string>(), j[1].get<double>());
}

std::optional<double> decode_number(const Json& j) {
  if (j.is_number()) return j.get<double>();
  if (!j.is_object()) return std::nullopt;
  auto it = j.find("float");
  if (it == j.end() || !it->is_string()) return std::nullopt;
  const auto& text = it->get_ref<const std::string&>();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

Result<Program> decode_program(const Json& j, const BlobSource* source) {
  return Reader(source).program(j);
}

}  // namespace assay::program
