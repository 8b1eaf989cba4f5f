#include "tensor/context.h"

#include <fmt/format.h>

#include <set>

namespace assay::tensor {

using program::Arg;
using program::TensorView;

namespace {
constexpr int64_t kMaxExtent = int64_t{1} << 40;

constexpr size_t kMaxRank = 12;

// Bounds that keep all address arithmetic of a lowering inside int64.
bool shape_fits(const Shape& shape) {
  double numel = 1;
  for (int64_t d : shape) {
    if (d < 0 || d > kMaxExtent) return false;
    numel *= static_cast<double>(std::max<int64_t>(d, 1));
  }
  return numel < 0x1p48 && shape.size() <= kMaxRank;
}

bool well_formed(const TensorView& v) {
  if (v.shape.size() != v.strides.size() || !shape_fits(v.shape)) return false;
  for (int64_t s : v.strides) {
    if (s > kMaxExtent || s < -kMaxExtent) return false;
  }
  return v.offset >= 0 && v.offset < (int64_t{1} << 50);
}

bool in_range(int64_t v) { return v >= -kMaxExtent && v <= kMaxExtent; }
}  // namespace

Context::Context(const Schema& schema, std::vector<Arg> bound, std::string name,
                 const std::vector<TensorView>* outputs)
    : schema_(schema), bound_(std::move(bound)), name_(std::move(name)), outputs_(outputs) {
  in_place_ = name_.ends_with('_') && !name_.ends_with("__");
  tensor_of_arg_.resize(bound_.size());
  for (size_t k = 0; k < bound_.size(); ++k) {
    auto add = [&](const TensorView& v) {
      if (v.buffer < 0) {
        tensor_of_arg_[k].push_back(-1);
        return;
      }
      if (v.shape.size() > kMaxRank) {
        unsupported(fmt::format("rank {}", v.shape.size()));
      } else if (!well_formed(v)) {
        invalid(fmt::format("malformed tensor '{}'", schema_.parameters[k].name));
      }
      tensor_of_arg_[k].push_back(add_view(v).tensor);
    };
    if (auto* v = std::get_if<TensorView>(&bound_[k])) add(*v);
    auto* i = std::get_if<int64_t>(&bound_[k]);
    bool bounded =
        schema_.parameters[k].type == ArgType::Int && schema_.parameters[k].name != "ignore_index";
    if (i != nullptr && bounded && !in_range(*i)) {
      invalid(fmt::format("argument '{}' is out of range", schema_.parameters[k].name));
      *i = 0;
    }
    if (auto* v = std::get_if<Shape>(&bound_[k])) {
      for (int64_t& e : *v) {
        if (in_range(e)) continue;
        invalid(fmt::format("argument '{}' is out of range", schema_.parameters[k].name));
        e = 0;
      }
    }
    if (auto* l = std::get_if<std::vector<TensorView>>(&bound_[k])) {
      for (const TensorView& v : *l) add(v);
    }
  }
}

std::string_view Context::base() const {
  std::string_view s = name_;
  if (s.starts_with("aten::")) s.remove_prefix(6);
  if (in_place_) s.remove_suffix(1);
  return s;
}

void Context::record(DiagKind kind, std::string message) {
  if (!error_) error_ = Diag{kind, fmt::format("{}: {}", name_, message), {}};
}

Ref Context::add_view(const TensorView& view) {
  lowered_.tensors.push_back({view, false});
  return {static_cast<int>(lowered_.tensors.size()) - 1, view.dtype, view.offset, view.shape,
          view.strides};
}

const Arg* Context::find(std::string_view name) const {
  for (size_t k = 0; k < bound_.size(); ++k) {
    if (schema_.parameters[k].name == name) return &bound_[k];
  }
  return nullptr;
}

bool Context::given(std::string_view name) const {
  const Arg* a = find(name);
  return a != nullptr && !std::holds_alternative<std::monostate>(*a);
}

std::optional<Ref> Context::maybe(std::string_view name) {
  const Arg* a = find(name);
  if (a == nullptr || !std::holds_alternative<TensorView>(*a)) return std::nullopt;
  int t = tensor_of_arg_[static_cast<size_t>(a - bound_.data())][0];
  const TensorView& v = lowered_.tensors[t].view;
  return Ref{t, v.dtype, v.offset, v.shape, v.strides};
}

Ref Context::tensor(std::string_view name) {
  if (auto r = maybe(name)) return *r;
  invalid(fmt::format("argument '{}' must be a tensor", name));
  return temp(DType::F32, {});
}

std::vector<std::optional<Ref>> Context::optional_tensors(std::string_view name) {
  std::vector<std::optional<Ref>> refs;
  const Arg* a = find(name);
  if (a == nullptr) return refs;
  for (int t : tensor_of_arg_[static_cast<size_t>(a - bound_.data())]) {
    if (t < 0) {
      refs.emplace_back();
      continue;
    }
    const TensorView& v = lowered_.tensors[t].view;
    refs.emplace_back(Ref{t, v.dtype, v.offset, v.shape, v.strides});
  }
  return refs;
}

std::vector<Ref> Context::tensors(std::string_view name) {
  std::vector<Ref> refs;
  for (auto& r : optional_tensors(name)) {
    if (r) {
      refs.push_back(*r);
    } else {
      invalid(fmt::format("argument '{}' holds an undefined tensor", name));
    }
  }
  return refs;
}

Operand Context::operand(std::string_view name) {
  const Arg* a = find(name);
  Operand o;
  if (a == nullptr) {
    invalid(fmt::format("argument '{}' is missing", name));
  } else if (auto* i = std::get_if<int64_t>(a)) {
    o.scalar = *i;
  } else if (auto* d = std::get_if<double>(a)) {
    o.scalar = *d;
  } else if (auto* b = std::get_if<bool>(a)) {
    o.scalar = *b;
  } else {
    o.ref = tensor(name);
  }
  return o;
}

int64_t Context::integer(std::string_view name, int64_t otherwise) const {
  const Arg* a = find(name);
  auto* i = a ? std::get_if<int64_t>(a) : nullptr;
  return i ? *i : otherwise;
}

Scalar Context::scalar(std::string_view name, Scalar otherwise) const {
  const Arg* a = find(name);
  if (a == nullptr) return otherwise;
  if (auto* i = std::get_if<int64_t>(a)) return *i;
  if (auto* d = std::get_if<double>(a)) return *d;
  if (auto* b = std::get_if<bool>(a)) return *b;
  return otherwise;
}

double Context::number(std::string_view name, double otherwise) const {
  return std::visit([](auto v) { return static_cast<double>(v); }, scalar(name, otherwise));
}

bool Context::flag(std::string_view name, bool otherwise) const {
  const Arg* a = find(name);
  auto* b = a ? std::get_if<bool>(a) : nullptr;
  return b ? *b : otherwise;
}

std::string Context::str(std::string_view name, std::string_view otherwise) const {
  const Arg* a = find(name);
  auto* s = a ? std::get_if<std::string>(a) : nullptr;
  return s ? *s : std::string(otherwise);
}

Shape Context::ints(std::string_view name) const {
  const Arg* a = find(name);
  if (a != nullptr) {
    if (auto* v = std::get_if<Shape>(a)) return *v;
    if (auto* i = std::get_if<int64_t>(a)) return {*i};
  }
  return {};
}

std::optional<DType> Context::dtype(std::string_view name) const {
  const Arg* a = find(name);
  auto* d = a ? std::get_if<DType>(a) : nullptr;
  return d ? std::optional(*d) : std::nullopt;
}

Ref Context::temp(DType dtype, const Shape& shape) {
  TensorView view;
  view.dtype = dtype;
  view.shape = shape;
  view.strides = contiguous_strides(shape);
  lowered_.tensors.push_back({view, true});
  return {static_cast<int>(lowered_.tensors.size()) - 1, dtype, 0, shape, view.strides};
}

Ref Context::out(size_t k, DType dtype, const Shape& shape) {
  if (in_place_ && k == 0) {
    if (auto self = maybe("self")) {
      dtype = self->dtype;
      if (self->shape != shape) {
        invalid(fmt::format("in-place result has shape {}, self {}", shape_text(shape),
                            shape_text(self->shape)));
      }
    }
  }
  if (!shape_fits(shape)) {
    invalid(fmt::format("output {} of shape {}", k, shape_text(shape)));
    return temp(dtype, Shape(shape.size(), 0));
  }
  if (specs_.size() <= k) specs_.resize(k + 1);
  specs_[k] = {dtype, shape};
  if (outputs_ == nullptr || k >= outputs_->size() || (*outputs_)[k].buffer < 0) {
    return temp(dtype, shape);
  }
  const TensorView& view = (*outputs_)[k];
  if (view.shape != shape || view.dtype != dtype || !well_formed(view)) {
    invalid(fmt::format("output {} is {} {}, should be {} {}", k, program::dtype_name(view.dtype),
                        shape_text(view.shape), program::dtype_name(dtype), shape_text(shape)));
    return temp(dtype, shape);
  }
  return add_view(view);
}

int Context::wrap_dim(int64_t dim, int rank) {
  int64_t n = std::max(rank, 1);  // a scalar has dimensions -1 and 0
  if (dim < -n || dim >= n) {
    invalid(fmt::format("dimension {} is out of range for rank {}", dim, rank));
    return 0;
  }
  return static_cast<int>(dim < 0 ? dim + n : dim);
}

std::vector<int> Context::wrap_dims(const Shape& dims, int rank, bool empty_is_all) {
  std::set<int> distinct;
  for (int64_t d : dims) {
    int w = wrap_dim(d, rank);
    if (!distinct.insert(w).second) invalid(fmt::format("dimension {} appears twice", d));
  }
  if (dims.empty() && empty_is_all) {
    for (int k = 0; k < rank; ++k) distinct.insert(k);
  }
  if (rank == 0) distinct.clear();
  return {distinct.begin(), distinct.end()};
}

Result<Lowered> Context::finish() {
  if (!error_ && outputs_ != nullptr && outputs_->size() > specs_.size()) {
    invalid(fmt::format("has {} outputs, {} given", specs_.size(), outputs_->size()));
  }
  if (error_) return tl::unexpected<Diag>(std::move(*error_));
  return std::move(lowered_);
}

}  // namespace assay::tensor
