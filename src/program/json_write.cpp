#include <cmath>

#include "program/codec.h"

namespace assay::program {

namespace {

const char* role_name(Role r) {
  switch (r) {
    case Role::Input:
      return "input";
    case Role::Parameter:
      return "parameter";
    case Role::State:
      return "state";
    case Role::Constant:
      return "constant";
    case Role::Temp:
      return "temp";
  }
  return "temp";
}

const char* init_name(Init i) {
  switch (i) {
    case Init::Symbolic:
      return "symbolic";
    case Init::Poison:
      return "poison";
    case Init::Zero:
      return "zero";
    case Init::Data:
      return "data";
  }
  return "poison";
}

Json view(const TensorView& v) {
  if (v.buffer < 0 && v.shape.empty()) return {{"buffer", -1}};
  return {{"buffer", v.buffer},
          {"dtype", dtype_name(v.dtype)},
          {"offset", v.offset},
          {"shape", v.shape},
          {"strides", v.strides}};
}

Json views(const std::vector<TensorView>& list) {
  Json out = Json::array();
  for (const TensorView& v : list) out.push_back(view(v));
  return out;
}

struct ArgWriter {
  Json operator()(std::monostate) const { return nullptr; }
  Json operator()(const TensorView& v) const { return view(v); }
  Json operator()(const std::vector<TensorView>& v) const { return {{"tensors", views(v)}}; }
  Json operator()(int64_t v) const { return v; }
  Json operator()(double v) const { return encode_number(v); }
  Json operator()(bool v) const { return v; }
  Json operator()(const std::string& v) const { return v; }
  Json operator()(const std::vector<int64_t>& v) const { return v; }
  Json operator()(const std::vector<double>& v) const {
    Json list = Json::array();
    for (double d : v) list.push_back(encode_number(d));
    return {{"floats", std::move(list)}};
  }
  Json operator()(DType v) const { return {{"dtype", dtype_name(v)}}; }
};

Json arg(const Arg& a) { return std::visit(ArgWriter{}, a); }

Json loc(const SrcLoc& l) { return {{"file", l.file}, {"line", l.line}, {"column", l.column}}; }
bool has_loc(const SrcLoc& l) { return !l.file.empty() || l.line != 0 || l.column != 0; }

class Writer {
 public:
  explicit Writer(BlobSink* sink) : sink_(sink) {}

  Json program(const Program& p) const {
    Json j = {{"schema", kSchemaVersion}, {"name", p.name}};
    j["modules"] = list(p.modules, [&](const Module& m) { return module(m); });
    j["buffers"] = list(p.buffers, [&](const Buffer& b) { return buffer(b); });
    j["scalars"] = list(p.scalars, scalar);
    j["arguments"] = list(p.arguments, argument);
    j["steps"] = list(p.steps, [&](const Step& s) { return step(s); });
    j["outputs"] = views(p.outputs);
    j["mutated"] = views(p.mutated);
    if (!p.unjoined.empty()) j["unjoined"] = p.unjoined;
    j["notes"] = list(p.notes, note);
    if (!p.form.empty()) j["form"] = p.form;
    if (!p.function.empty()) j["function"] = p.function;
    if (!p.init_args.empty()) j["init_args"] = list(p.init_args, argument);
    if (!p.changed.empty()) j["changed"] = encode_changes(p.changed);
    return j;
  }

 private:
  template <class T, class F>
  static Json list(const std::vector<T>& items, F&& write) {
    Json out = Json::array();
    for (const T& item : items) out.push_back(write(item));
    return out;
  }

  void put_bytes(Json& j, const char* key, const std::vector<uint8_t>& bytes) const {
    if (bytes.empty()) return;
    if (sink_) {
      std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      j[std::string(key) + "_blob"] = sink_->put(text);
    } else {
      j[key] = base64_encode(bytes);
    }
  }

  void put_text(Json& j, const char* key, const std::string& text) const {
    if (text.empty()) return;
    if (sink_) {
      j[std::string(key) + "_blob"] = sink_->put(text);
    } else {
      j[key] = text;
    }
  }

  Json module(const Module& m) const {
    Json j = {{"name", m.name}};
    put_text(j, "real_ptx", m.real_ptx);
    put_text(j, "semantic_ptx", m.semantic_ptx);
    if (!m.symbols.empty()) j["symbols"] = m.symbols;
    if (!m.functions.empty()) j["functions"] = m.functions;
    return j;
  }

  Json buffer(const Buffer& b) const {
    Json j = {{"name", b.name},
              {"bytes", b.bytes},
              {"dtype", dtype_name(b.dtype)},
              {"role", role_name(b.role)},
              {"init", init_name(b.init)}};
    if (b.address != 0) j["address"] = b.address;
    put_bytes(j, "data", b.data);
    if (b.example_range) {
      j["example_range"] = {encode_number(b.example_range->first),
                            encode_number(b.example_range->second)};
    }
    return j;
  }

  static Json scalar(const SymbolicScalar& s) {
    return {{"name", s.name},
            {"dtype", dtype_name(s.dtype)},
            {"expression", s.expression},
            {"buffer", s.buffer},
            {"element", s.element},
            {"fn", s.fn},
            {"scale", encode_number(s.scale)},
            {"shift", encode_number(s.shift)}};
  }

  static Json argument(const Argument& a) {
    Json j = {{"name", a.name}, {"value", arg(a.value)}};
    if (!a.source.empty()) j["source"] = a.source;
    return j;
  }

  static Json note(const Note& n) {
    Json j = {{"kind", n.kind}, {"severity", n.severity}, {"message", n.message}};
    if (n.step >= 0) j["step"] = n.step;
    if (has_loc(n.loc)) j["loc"] = loc(n.loc);
    return j;
  }

  Json step(const Step& s) const {
    Json j = std::visit([&](const auto& what) { return step_body(what); }, s.what);
    if (s.stream != 0) j["stream"] = s.stream;
    if (!s.after.empty()) j["after"] = s.after;
    if (!s.implicit_order) j["implicit_order"] = false;
    if (has_loc(s.loc)) j["loc"] = loc(s.loc);
    return j;
  }

  Json step_body(const OpStep& s) const {
    Json args = Json::array();
    for (const Arg& a : s.args) args.push_back(arg(a));
    return {{"kind", "op"}, {"op", s.op}, {"args", args}, {"outputs", views(s.outputs)}};
  }

  Json step_body(const LaunchStep& s) const {
    Json j = {{"kind", "launch"},
              {"module", s.module},
              {"kernel", s.kernel},
              {"grid", s.grid},
              {"block", s.block},
              {"cluster", s.cluster},
              {"dynamic_smem", s.dynamic_smem},
              {"max_dynamic_smem", s.max_dynamic_smem},
              {"cooperative", s.cooperative},
              {"params", base64_encode(s.params)}};
    j["slots"] = list(s.slots, [](const ParamSlot& slot) {
      Json k = {{"offset", slot.offset}, {"size", slot.size}};
      if (slot.kind == ParamSlot::Kind::Pointer) {
        k["buffer"] = slot.buffer;
        k["addend"] = slot.addend;
      } else {
        k["scalar"] = slot.scalar;
      }
      return k;
    });
    return j;
  }

  Json step_body(const CopyStep& s) const {
    Json j = {{"kind", "copy"},
              {"dst", s.dst},
              {"src", s.src},
              {"dst_offset", s.dst_offset},
              {"src_offset", s.src_offset},
              {"bytes", s.bytes}};
    put_bytes(j, "host_data", s.host_data);
    return j;
  }

  Json step_body(const FillStep& s) const {
    return {{"kind", "fill"},   {"dst", s.dst},     {"offset", s.offset},
            {"bytes", s.bytes}, {"value", s.value}, {"width", s.width}};
  }

  BlobSink* sink_;
};

}  // namespace

Json encode_number(double v) {
  if (std::isfinite(v)) return v;
  return {{"float", std::isnan(v) ? "nan" : v > 0 ? "inf" : "-inf"}};
}

Json encode_changes(const std::vector<Change>& changes) {
  Json out = Json::array();
  for (const auto& [name, value] : changes)
    std::visit([&, &n = name](auto v) { out.push_back(Json::array({n, v})); }, value);
  return out;
}

Json encode_program(const Program& p, BlobSink* sink) { return Writer(sink).program(p); }

std::string dump(const Json& j) { return j.dump(-1, ' ', false, Json::error_handler_t::replace); }

Result<std::string> to_json(const Program& p) {
  ASSAY_CHECK(validate(p));
  return dump(encode_program(p, nullptr));
}

Result<std::string> set_to_json(const ProgramSet& s) {
  Json programs = Json::array();
  for (const Program& p : s.programs) {
    ASSAY_CHECK(validate(p));
    programs.push_back(encode_program(p, nullptr));
  }
  Json skipped = Json::array();
  for (const ProgramSet::Skipped& k : s.skipped) {
    skipped.push_back({{"changed", encode_changes(k.changed)}, {"reason", k.reason}});
  }
  return dump({{"schema", kSchemaVersion}, {"programs", programs}, {"skipped", skipped}});
}

}  // namespace assay::program
