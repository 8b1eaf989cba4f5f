#include "host/standalone/rt/call.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "assay/error.h"
#include "tensor/nest.h"
#include "tensor/ops.h"

namespace assay::host {

namespace {

Arg arg_of_value(const assay_abi::Value& v, int32_t* id, std::vector<int32_t>* list) {
  using assay_abi::Value;
  switch (v.tag) {
    case Value::Bool:
      return v.i != 0;
    case Value::Int:
      return v.i;
    case Value::Double:
      return v.d;
    case Value::Str:
      return std::string(static_cast<const char*>(v.p), v.n);
    case Value::Tensor:
      *id = v.tensor;
      if (v.tensor < 0) return std::monostate{};
      return Recorder::get().view(v.tensor);
    case Value::Ints: {
      auto* p = static_cast<const int64_t*>(v.p);
      return std::vector<int64_t>(p, p + v.n);
    }
    case Value::Doubles: {
      auto* p = static_cast<const double*>(v.p);
      return std::vector<double>(p, p + v.n);
    }
    case Value::Tensors: {
      auto* p = static_cast<const int32_t*>(v.p);
      list->assign(p, p + v.n);
      std::vector<TensorView> views;
      for (int32_t t : *list) views.push_back(Recorder::get().view(t));
      return views;
    }
    case Value::Dtype:
      return dtype_of_code(v.tensor);
    default:
      return std::monostate{};
  }
}

// Strides of the output of an elementwise operator: those of the first tensor operand of the same
// shape, if it is dense (TensorIterator keeps its order of dimensions).
std::vector<int64_t> output_strides(const tensor::OpRow* row, const std::vector<Arg>& args,
                                    const std::vector<int64_t>& shape) {
  static const std::set<std::string> elementwise = {"unary", "binary",  "pow",         "clamp",
                                                    "where", "ternary", "masked_fill", "copy"};
  if (row != nullptr && elementwise.count(row->family) != 0) {
    for (const Arg& a : args) {
      auto* v = std::get_if<TensorView>(&a);
      if (v == nullptr || v->shape != shape) continue;
      std::vector<std::pair<int64_t, int64_t>> dims;  // (stride, size)
      for (size_t k = 0; k < shape.size(); ++k) {
        if (shape[k] != 1) dims.push_back({v->strides[k], shape[k]});
      }
      std::sort(dims.begin(), dims.end());
      int64_t step = 1;
      bool dense = true;
      for (auto [stride, size] : dims) {
        dense = dense && stride == step;
        step *= size;
      }
      if (dense && element_count(shape) != 0) return v->strides;
      break;
    }
  }
  return contiguous_strides(shape);
}

const tensor::OpRow* find_row(const std::string& op) {
  for (const tensor::OpRow& row : tensor::op_rows()) {
    const tensor::Schema& s = row.schema;
    if (op.compare(0, s.name.size(), s.name) != 0) continue;
    std::string full = s.overload.empty() ? s.name : s.name + "." + s.overload;
    if (full == op) return &row;
  }
  return nullptr;
}

bool any_cuda(const std::vector<Arg>& args) {
  Recorder& r = Recorder::get();
  bool seen = false, cuda = false;
  auto look = [&](const TensorView& v) {
    if (v.buffer < 0) return;
    seen = true;
    int s = r.storage_of_buffer(v.buffer);
    cuda = cuda || (s >= 0 && r.storage(s).cuda);
  };
  for (const Arg& a : args) {
    if (auto* v = std::get_if<TensorView>(&a)) look(*v);
    if (auto* l = std::get_if<std::vector<TensorView>>(&a)) {
      for (const TensorView& v : *l) look(v);
    }
  }
  return cuda || !seen;
}

[[noreturn]] void raise(const Diag& d, const std::string& op) {
  if (d.kind == DiagKind::Invalid) throw c10::Error(op + ": " + d.message);
  Recorder::get().unsupported(op + ": " + d.message);
}

}  // namespace

bool Call::given(size_t k) const {
  return k < args.size() && !std::holds_alternative<std::monostate>(args[k]);
}
int32_t Call::tensor(size_t k) const {
  if (k >= ids.size() || ids[k] < 0) {
    throw c10::Error(fmt::format("{}: argument {} is an undefined tensor", name, k + 1));
  }
  return ids[k];
}
bool Call::is_number(size_t k) const {
  return k < args.size() &&
         (std::holds_alternative<int64_t>(args[k]) || std::holds_alternative<double>(args[k]) ||
          std::holds_alternative<bool>(args[k]));
}
int64_t Call::integer(size_t k, int64_t otherwise) const {
  if (k >= args.size()) return otherwise;
  if (auto* i = std::get_if<int64_t>(&args[k])) return *i;
  if (auto* b = std::get_if<bool>(&args[k])) return *b ? 1 : 0;
  if (auto* d = std::get_if<double>(&args[k])) return static_cast<int64_t>(*d);
  return otherwise;
}
double Call::real(size_t k, double otherwise) const {
  if (k < args.size()) {
    if (auto* d = std::get_if<double>(&args[k])) return *d;
  }
  return is_number(k) ? static_cast<double>(integer(k, 0)) : otherwise;
}
bool Call::boolean(size_t k, bool otherwise) const {
  return is_number(k) ? integer(k, 0) != 0 : otherwise;
}
std::string Call::text(size_t k, const std::string& otherwise) const {
  if (k >= args.size()) return otherwise;
  auto* s = std::get_if<std::string>(&args[k]);
  return s != nullptr ? *s : otherwise;
}
std::vector<int64_t> Call::ints(size_t k) const {
  if (k >= args.size()) return {};
  if (auto* v = std::get_if<std::vector<int64_t>>(&args[k])) return *v;
  if (auto* i = std::get_if<int64_t>(&args[k])) return {*i};
  return {};
}
std::optional<DType> Call::dtype(size_t k) const {
  if (k >= args.size()) return std::nullopt;
  auto* t = std::get_if<DType>(&args[k]);
  return t != nullptr ? std::optional<DType>(*t) : std::nullopt;
}

Call decode(const char* name, const assay_abi::Value* values, size_t n, size_t max_outs) {
  Call c;
  c.name = name;
  c.max_outs = max_outs;
  for (size_t k = 0; k < n; ++k) {
    int32_t id = -1;
    std::vector<int32_t> list;
    c.args.push_back(arg_of_value(values[k], &id, &list));
    c.ids.push_back(id);
    c.lists.push_back(std::move(list));
  }
  return c;
}

Arg arg_of(int32_t t) {
  if (t < 0) return std::monostate{};
  return Recorder::get().view(t);
}

Outs emit(const std::string& op, const std::vector<Arg>& args, const std::vector<int32_t>& dest) {
  Recorder& r = Recorder::get();
  const tensor::OpRow* row = find_row(op);
  if (row == nullptr) r.unsupported("the operator " + op);
  auto bound = tensor::bind(row->schema, args);
  if (!bound) raise(bound.error(), op);
  auto specs = tensor::infer(op, *bound);
  if (!specs) raise(specs.error(), op);
  bool cuda = any_cuda(*bound);
  program::OpStep step;
  step.op = op;
  step.args = *bound;
  Outs outs;
  std::vector<int> written;
  for (size_t k = 0; k < specs->size(); ++k) {
    const tensor::OutputSpec& spec = (*specs)[k];
    int32_t out = k < dest.size() ? dest[k] : -1;
    if (out < 0) {
      TensorImpl t;
      t.dtype = spec.dtype;
      t.sizes = spec.shape;
      t.strides = output_strides(row, *bound, spec.shape);
      t.cuda = cuda;
      uint64_t bytes =
          static_cast<uint64_t>(element_count(t.sizes)) * program::dtype_bytes(t.dtype);
      t.storage = r.new_storage(bytes, t.dtype, cuda, program::Init::Poison, program::Role::Temp);
      out = r.new_tensor(std::move(t));
    } else {
      TensorImpl& t = r.tensor(out);
      if (t.sizes != spec.shape) {
        throw c10::Error(op + ": output with shape [" +
                         fmt::format("{}", fmt::join(t.sizes, ", ")) +
                         "] doesn't match the broadcast shape [" +
                         fmt::format("{}", fmt::join(spec.shape, ", ")) + "]");
      }
      if (t.dtype != spec.dtype) {  // compute, then convert into place
        Outs computed = emit(op, args);
        emit("aten::copy", {arg_of(out), arg_of(computed[k])}, {out});
        return {out};
      }
    }
    outs.push_back(out);
    step.outputs.push_back(r.view(out));
    written.push_back(step.outputs.back().buffer);
  }
  program::Step s;
  s.what = std::move(step);
  s.stream = r.current_stream();
  r.add_step(std::move(s), written);
  return outs;
}

Outs emit_by_name(const std::string& name, std::vector<Arg> args,
                  const std::vector<int32_t>& dest) {
  static const std::set<std::string> prefer_scalar = {"eq", "ne",  "lt",        "le",   "gt",
                                                      "ge", "pow", "remainder", "fmod", "rsub"};
  bool number = args.size() > 1 &&
                (std::holds_alternative<int64_t>(args[1]) ||
                 std::holds_alternative<double>(args[1]) || std::holds_alternative<bool>(args[1]));
  const tensor::OpRow* best = nullptr;
  std::string last_error;
  for (const tensor::OpRow& row : tensor::op_rows()) {
    if (row.schema.name != "aten::" + name) continue;
    std::vector<Arg> trimmed = args;
    while (trimmed.size() > row.schema.parameters.size() &&
           std::holds_alternative<std::monostate>(trimmed.back())) {
      trimmed.pop_back();
    }
    auto bound = tensor::bind(row.schema, trimmed);
    if (!bound) {
      last_error = bound.error().message;
      continue;
    }
    bool scalar = row.schema.parameters.size() > 1 &&
                  row.schema.parameters[1].type == tensor::ArgType::Scalar;
    if (best == nullptr || (number && scalar && prefer_scalar.count(name) != 0)) best = &row;
  }
  if (best == nullptr) {
    Recorder::get().unsupported(last_error.empty()
                                    ? "the operator aten::" + name
                                    : fmt::format("this form of aten::{} ({})", name, last_error));
  }
  while (args.size() > best->schema.parameters.size()) args.pop_back();
  const tensor::Schema& s = best->schema;
  return emit(s.overload.empty() ? s.name : s.name + "." + s.overload, args, dest);
}

int32_t new_empty(const std::vector<int64_t>& sizes, DType dtype, bool cuda, program::Init init) {
  Recorder& r = Recorder::get();
  TensorImpl t;
  t.dtype = dtype;
  t.sizes = sizes;
  t.strides = contiguous_strides(sizes);
  t.cuda = cuda;
  uint64_t bytes = static_cast<uint64_t>(element_count(sizes)) * program::dtype_bytes(dtype);
  t.storage = r.new_storage(bytes, dtype, cuda, init, program::Role::Temp);
  return r.new_tensor(std::move(t));
}

int32_t contiguous_of(int32_t t) {
  const TensorImpl& impl = Recorder::get().tensor(t);
  if (is_contiguous(impl)) return t;
  // The destination is given: aten::clone by itself keeps the order of dimensions.
  return emit("aten::clone", {arg_of(t)}, {new_empty(impl.sizes, impl.dtype, impl.cuda)})[0];
}

int32_t cast_to(int32_t t, DType dtype) {
  if (Recorder::get().tensor(t).dtype == dtype) return t;
  return emit("aten::_to_copy", {arg_of(t), dtype})[0];
}

int64_t wrap_dim(int64_t d, size_t rank) {
  int64_t n = std::max<int64_t>(static_cast<int64_t>(rank), 1);
  if (d < -n || d >= n) {
    throw c10::IndexError(fmt::format(
        "Dimension out of range (expected to be in range of [{}, {}], but got {})", -n, n - 1, d));
  }
  return d < 0 ? d + n : d;
}

Outs call_operator(const Call& c) {
  if (auto v = call_view(c)) return *v;
  if (auto v = call_create(c)) return *v;
  if (auto v = call_in_place(c)) return *v;
  if (auto v = call_nn(c)) return *v;
  return emit_by_name(c.name, c.args);
}

}  // namespace assay::host
