#pragma once
// at::Tensor: an index into the recorder's table of tensors. Methods without a body of their own
// are operators of the recorder (see ops.def beside this file).
#include <tuple>

#include "assay/accessor.h"

namespace at {

using namespace c10;  // NOLINT: as PyTorch's headers do

class Tensor;
using TensorList = ::c10::ArrayRef<Tensor>;
using TypeMeta = ::caffe2::TypeMeta;

namespace indexing {
struct None_t {};
struct EllipsisIndexType {};
constexpr EllipsisIndexType Ellipsis{};
struct Slice {
  int64_t start, stop, step;
  Slice(std::optional<int64_t> first = std::nullopt, std::optional<int64_t> last = std::nullopt,
        std::optional<int64_t> by = std::nullopt)
      : start(first.value_or(0)), stop(last.value_or(INT64_MAX)), step(by.value_or(1)) {}
  Slice(std::nullopt_t, std::optional<int64_t> last = std::nullopt,
        std::optional<int64_t> by = std::nullopt)
      : Slice(std::optional<int64_t>(), last, by) {}
};
constexpr std::nullopt_t None = std::nullopt;
struct TensorIndex;
}  // namespace indexing

// x.type(): the old type object.
struct DeprecatedTypeProperties {
  ScalarType scalar_type;
  bool cuda;
  ScalarType scalarType() const { return scalar_type; }
  bool is_cuda() const { return cuda; }
  operator ScalarType() const { return scalar_type; }
  bool operator==(const DeprecatedTypeProperties& o) const {
    return scalar_type == o.scalar_type && cuda == o.cuda;
  }
  bool operator!=(const DeprecatedTypeProperties& o) const { return !(*this == o); }
  std::string toString() const {
    return std::string(cuda ? "torch.cuda." : "torch.") + ::c10::toString(scalar_type) + "Tensor";
  }
  std::string assay_text() const { return toString(); }
};

}  // namespace at

namespace assay_abi {
Value value_of(const at::Tensor& t);
// An argument of any type that operators take.
struct Arg : Value {
  Arg() = default;
  Arg(std::nullopt_t) {}
#define ASSAY_ARG(T, t, field, type) \
  Arg(T v) {                         \
    tag = t;                         \
    field = static_cast<type>(v);    \
  }
  ASSAY_ARG(bool, Bool, i, int64_t)
  ASSAY_ARG(int, Int, i, int64_t)
  ASSAY_ARG(unsigned, Int, i, int64_t)
  ASSAY_ARG(long, Int, i, int64_t)
  ASSAY_ARG(long long, Int, i, int64_t)
  ASSAY_ARG(unsigned long, Int, i, int64_t)
  ASSAY_ARG(float, Double, d, double)
  ASSAY_ARG(double, Double, d, double)
  ASSAY_ARG(c10::ScalarType, Dtype, tensor, int32_t)
#undef ASSAY_ARG
  Arg(const at::Tensor& t) : Value(value_of(t)) {}
  Arg(const c10::Scalar& s) {
    tag = s.assay_kind();
    i = s.isFloatingPoint() ? 0 : s.toLong();
    d = s.toDouble();
  }
  Arg(const char* s) {
    tag = Str;
    p = s;
    n = __builtin_strlen(s);
  }
  Arg(const std::string& s) {
    tag = Str;
    p = s.data();
    n = s.size();
  }
  Arg(c10::IntArrayRef v) {
    tag = Ints;
    p = v.data();
    n = v.size();
  }
  Arg(c10::ArrayRef<double> v) {
    tag = Doubles;
    p = v.data();
    n = v.size();
  }
  Arg(at::TensorList v) {
    tag = Tensors;
    p = v.data();
    n = v.size();
  }
  template <class T>
  Arg(const std::optional<T>& v) {
    if (v) *this = Arg(*v);
  }
};
using Args = std::initializer_list<Arg>;
// dim arguments: none, one integer, or a list.
struct DimArg {
  bool has = false, single = false;
  int64_t value = 0;
  c10::IntArrayRef list;
  DimArg() = default;
  DimArg(std::nullopt_t) {}
  template <class T, std::enable_if_t<std::is_integral_v<T>, int> = 0>
  DimArg(T v) : has(true), single(true), value(v) {}
  DimArg(c10::IntArrayRef v) : has(true), list(v) {}
  DimArg(const std::vector<int64_t>& v) : has(true), list(v) {}
  DimArg(std::initializer_list<int64_t> v) : has(v.size() != 0), list(v) {}
  template <size_t N>
  DimArg(const std::array<int64_t, N>& v) : has(true), list(v) {}
  DimArg(const std::optional<c10::IntArrayRef>& v) : has(v.has_value()) {
    if (v) list = *v;
  }
  c10::IntArrayRef ref() const { return single ? c10::IntArrayRef(value) : list; }
  Arg arg() const { return has ? Arg(ref()) : Arg(); }
};
struct ScalarArg {
  std::optional<c10::Scalar> value;
  ScalarArg() = default;
  ScalarArg(std::nullopt_t) {}
  template <class T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
  ScalarArg(T v) : value(v) {}
  ScalarArg(c10::Scalar v) : value(v) {}
  ScalarArg(const std::optional<c10::Scalar>& v) : value(v) {}
  Arg arg() const { return value ? Arg(*value) : Arg(); }
};
inline size_t run(const char* name, Args args, int32_t* outs, size_t n) {
  Value values[32];
  size_t k = 0;
  for (const Arg& a : args) values[k++] = a;
  return assay_op(name, values, k, outs, n);
}
at::Tensor one(const char* name, Args args);
template <class T = at::Tensor>
std::tuple<T, T> two(const char* name, Args args);
template <class T = at::Tensor>
std::tuple<T, T, T> three(const char* name, Args args);
template <class T = at::Tensor>
std::vector<T> list(const char* name, Args args);
}  // namespace assay_abi

namespace at {

using OptionalIntArrayRef = assay_abi::DimArg;
using OptionalScalar = assay_abi::ScalarArg;

class Tensor {
 public:
  Tensor() = default;
  static Tensor assay_handle(int32_t id) {
    Tensor t;
    t.id_ = id;
    return t;
  }
  int32_t assay_id() const { return id_; }

  bool defined() const { return id_ >= 0; }
  void reset() { id_ = -1; }
  IntArrayRef sizes() const {
    const int64_t* p;
    size_t n;
    assay_sizes(id_, &p, &n);
    return IntArrayRef(p, n);
  }
  IntArrayRef strides() const {
    const int64_t* p;
    size_t n;
    assay_strides(id_, &p, &n);
    return IntArrayRef(p, n);
  }
  int64_t size(int64_t k) const { return wrapped(sizes(), k); }
  int64_t stride(int64_t k) const { return wrapped(strides(), k); }
  int64_t dim() const { return static_cast<int64_t>(sizes().size()); }
  int64_t ndimension() const { return dim(); }
  int64_t numel() const { return assay_numel(id_); }
  size_t nbytes() const { return static_cast<size_t>(numel()) * itemsize(); }
  int64_t storage_offset() const { return assay_storage_offset(id_); }
  ScalarType scalar_type() const { return static_cast<ScalarType>(assay_dtype(id_)); }
  TypeMeta dtype() const { return TypeMeta(scalar_type()); }
  size_t itemsize() const { return elementSize(scalar_type()); }
  size_t element_size() const { return itemsize(); }
  bool is_cuda() const { return assay_is_cuda(id_); }
  bool is_cpu() const { return !is_cuda(); }
  Device device() const { return is_cuda() ? Device(kCUDA, 0) : Device(kCPU); }
  int64_t get_device() const { return is_cuda() ? 0 : -1; }
  DeprecatedTypeProperties type() const { return {scalar_type(), is_cuda()}; }
  Layout layout() const { return kStrided; }
  TensorOptions options() const { return TensorOptions(scalar_type()).device(device()); }
  bool is_contiguous(MemoryFormat f = MemoryFormat::Contiguous) const {
    return assay_is_contiguous(id_, static_cast<int32_t>(f));
  }
  bool is_non_overlapping_and_dense() const { return is_contiguous(); }
  bool is_floating_point() const { return isFloatingType(scalar_type()); }
  bool is_complex() const { return false; }
  bool is_sparse() const { return false; }
  bool is_quantized() const { return false; }
  bool is_same(const Tensor& o) const { return id_ == o.id_; }
  bool is_alias_of(const Tensor& o) const { return assay_same_storage(id_, o.id_); }
  bool requires_grad() const { return assay_requires_grad(id_); }
  const Tensor& requires_grad_(bool = true) const { return *this; }
  const Tensor& set_requires_grad(bool) const { return *this; }
  MemoryFormat suggest_memory_format() const {
    return dim() == 4 && !is_contiguous() && is_contiguous(MemoryFormat::ChannelsLast)
               ? MemoryFormat::ChannelsLast
               : MemoryFormat::Contiguous;
  }
  Tensor data() const { return *this; }
  Tensor grad() const { return Tensor(); }
  std::string toString() const { return type().toString(); }
  std::string assay_text() const { return assay_tensor_text(id_); }
  void print() const {}

  void* data_ptr() const { return assay_data_ptr(id_, -1); }
  const void* const_data_ptr() const { return data_ptr(); }
  void* mutable_data_ptr() const { return data_ptr(); }
  template <class T>
  T* data_ptr() const {
    using U = std::remove_cv_t<T>;
    return static_cast<T*>(
        assay_data_ptr(id_, static_cast<int32_t>(CppTypeToScalarType<U>::value)));
  }
  template <class T>
  const std::remove_const_t<T>* const_data_ptr() const {
    return data_ptr<std::remove_const_t<T>>();
  }
  template <class T>
  T* mutable_data_ptr() const {
    return data_ptr<T>();
  }
  template <class T>
  T* data() const {
    return data_ptr<T>();
  }
  Scalar item() const {
    double d = 0;
    int64_t i = 0;
    assay_item(id_, &d, &i);
    if (is_floating_point()) return Scalar(d);
    return scalar_type() == kBool ? Scalar(i != 0) : Scalar(i);
  }
  template <class T>
  T item() const {
    return item().to<T>();
  }
  template <class T, size_t N>
  TensorAccessor<T, N> accessor() const {
    check_rank(N);
    return TensorAccessor<T, N>(data_ptr<T>(), sizes().data(), strides().data());
  }
  template <class T, size_t N, template <class> class P = DefaultPtrTraits, class I = int64_t>
  GenericPackedTensorAccessor<T, N, P, I> generic_packed_accessor() const {
    check_rank(N);
    return GenericPackedTensorAccessor<T, N, P, I>(data_ptr<T>(), sizes().data(), strides().data());
  }
  template <class T, size_t N, template <class> class P = DefaultPtrTraits>
  PackedTensorAccessor32<T, N, P> packed_accessor32() const {
    TORCH_CHECK(
        numel() <= INT32_MAX,
        "numel needs to be smaller than int32_t max; otherwise, please use packed_accessor64");
    return generic_packed_accessor<T, N, P, int32_t>();
  }
  template <class T, size_t N, template <class> class P = DefaultPtrTraits>
  PackedTensorAccessor64<T, N, P> packed_accessor64() const {
    return generic_packed_accessor<T, N, P, int64_t>();
  }
  template <class T, size_t N, template <class> class P = DefaultPtrTraits, class I = int64_t>
  GenericPackedTensorAccessor<T, N, P, I> packed_accessor() const {
    return generic_packed_accessor<T, N, P, I>();
  }

  // Copies and moves between devices and types.
  Tensor contiguous(MemoryFormat f = MemoryFormat::Contiguous) const {
    return assay_abi::one("contiguous", {*this, static_cast<int>(f)});
  }
  Tensor clone(std::optional<MemoryFormat> f = std::nullopt) const {
    return assay_abi::one("clone", {*this, static_cast<int>(f.value_or(MemoryFormat::Preserve))});
  }
  Tensor clone(TensorOptions) const { return clone(); }
  Tensor to(const TensorOptions& o, bool = false, bool copy = false,
            std::optional<MemoryFormat> = std::nullopt) const {
    assay_abi::Arg t, d;
    if (o.dtype_) t = assay_abi::Arg(*o.dtype_);
    if (o.device_) d = assay_abi::Arg(o.device_->is_cuda());
    return assay_abi::one("to", {*this, t, d, copy});
  }
  Tensor to(ScalarType t, bool = false, bool copy = false) const {
    return to(TensorOptions(t), false, copy);
  }
  Tensor to(TypeMeta t, bool = false, bool copy = false) const {
    return to(TensorOptions(t), false, copy);
  }
  Tensor to(Device d, bool = false, bool copy = false) const {
    return to(TensorOptions(d), false, copy);
  }
  Tensor to(DeviceType d, bool = false, bool copy = false) const {
    return to(TensorOptions(d), false, copy);
  }
  Tensor to(Device d, ScalarType t, bool = false, bool copy = false) const {
    return to(TensorOptions(t).device(d), false, copy);
  }
  Tensor to(const Tensor& o) const { return to(o.options()); }
  Tensor type(ScalarType t) const { return to(t); }
  Tensor type_as(const Tensor& o) const { return to(o.options()); }
  Tensor toType(ScalarType t) const { return to(t); }
  Tensor cuda() const { return to(kCUDA); }
  Tensor cpu() const { return to(kCPU); }
  Tensor to(const char* d) const { return to(Device(d)); }
  Tensor new_empty(IntArrayRef s, TensorOptions o = {}) const { return make("empty", s, o); }
  Tensor new_zeros(IntArrayRef s, TensorOptions o = {}) const { return make("zeros", s, o); }
  Tensor new_ones(IntArrayRef s, TensorOptions o = {}) const { return make("ones", s, o); }
  Tensor new_full(IntArrayRef s, Scalar v, TensorOptions o = {}) const {
    TensorOptions w = merged(o);
    return assay_abi::one("full", {s, v, w.dtype().toScalarType(), w.device().is_cuda()});
  }

  Tensor operator[](int64_t k) const { return assay_abi::one("select", {*this, 0, k}); }
  Tensor operator[](const Tensor& k) const {
    return assay_abi::one("index", {*this, TensorList(k)});
  }
  Tensor index(std::initializer_list<indexing::TensorIndex> indices) const;
  Tensor index(ArrayRef<indexing::TensorIndex> indices) const;
  const Tensor& index_put_(std::initializer_list<indexing::TensorIndex> indices,
                           const Tensor& v) const;
  const Tensor& index_put_(std::initializer_list<indexing::TensorIndex> indices, Scalar v) const;
  Tensor operator-() const { return assay_abi::one("neg", {*this}); }
  Tensor operator~() const { return assay_abi::one("bitwise_not", {*this}); }
#define ASSAY_COMPOUND(op, name)                                                          \
  const Tensor& operator op(const Tensor& o) const { return in_place(name, {*this, o}); } \
  const Tensor& operator op(const Scalar& o) const { return in_place(name, {*this, o}); }
  ASSAY_COMPOUND(+=, "add_")
  ASSAY_COMPOUND(-=, "sub_")
  ASSAY_COMPOUND(*=, "mul_")
  ASSAY_COMPOUND(/=, "div_")
#undef ASSAY_COMPOUND

#define ASSAY_METHOD(name, params, args) \
  Tensor name params const { return assay_abi::one(#name, ASSAY_BRACES args); }
#define ASSAY_METHOD_IN_PLACE(name, params, args) \
  const Tensor& name params const { return in_place(#name, ASSAY_BRACES args); }
#define ASSAY_METHOD_PAIR(name, params, args) \
  std::tuple<Tensor, Tensor> name params const { return assay_abi::two(#name, ASSAY_BRACES args); }
#define ASSAY_METHOD_LIST(name, params, args) \
  std::vector<Tensor> name params const { return assay_abi::list(#name, ASSAY_BRACES args); }
#define ASSAY_BRACES(...) \
  { *this __VA_OPT__(, ) __VA_ARGS__ }
#include "assay/methods.inc"
#undef ASSAY_BRACES
#undef ASSAY_METHOD
#undef ASSAY_METHOD_IN_PLACE
#undef ASSAY_METHOD_PAIR
#undef ASSAY_METHOD_LIST

  bool equal(const Tensor& o) const;
  void backward() const { assay_unsupported("Tensor::backward"); }

 private:
  static int64_t wrapped(IntArrayRef v, int64_t k) {
    int64_t n = static_cast<int64_t>(v.size());
    if (k < -n || k >= n) {
      ::c10::detail::raise<IndexError>("", "Dimension out of range (expected to be in range of [",
                                       -n, ", ", n - 1, "], but got ", k, ")");
    }
    return v[static_cast<size_t>(k < 0 ? k + n : k)];
  }
  void check_rank(size_t n) const {
    TORCH_CHECK(static_cast<size_t>(dim()) == n, "TensorAccessor expected ", n,
                " dims but tensor has ", dim());
  }
  TensorOptions merged(const TensorOptions& o) const {
    TensorOptions w = options();
    if (o.dtype_) w.dtype_ = o.dtype_;
    if (o.device_) w.device_ = o.device_;
    return w;
  }
  Tensor make(const char* name, IntArrayRef s, const TensorOptions& o) const {
    TensorOptions w = merged(o);
    return assay_abi::one(name, {s, w.dtype().toScalarType(), w.device().is_cuda()});
  }
  const Tensor& in_place(const char* name, assay_abi::Args args) const {
    int32_t out = -1;
    assay_abi::run(name, args, &out, 1);
    return *this;
  }

  int32_t id_ = -1;
};
static_assert(sizeof(Tensor) == sizeof(int32_t), "lists of tensors are lists of indices");

namespace indexing {
// Encoded for the operator "index": a list of (kind, a, b, c) and the tensors.
struct TensorIndex {
  int64_t kind = 0, a = 0, b = 0, c = 1;  // 0 None, 1 Ellipsis, 2 integer, 3 slice, 4 tensor
  Tensor tensor;
  TensorIndex(std::nullopt_t) {}
  TensorIndex(None_t) {}
  TensorIndex(EllipsisIndexType) : kind(1) {}
  TensorIndex(const char*) : kind(1) {}
  TensorIndex(int v) : kind(2), a(v) {}
  TensorIndex(long v) : kind(2), a(v) {}
  TensorIndex(long long v) : kind(2), a(v) {}
  TensorIndex(Slice s) : kind(3), a(s.start), b(s.stop), c(s.step) {}
  TensorIndex(Tensor t) : kind(4), tensor(t) {}
};
}  // namespace indexing

inline Tensor Tensor::index(ArrayRef<indexing::TensorIndex> indices) const {
  std::vector<int64_t> code;
  std::vector<Tensor> tensors;
  for (const indexing::TensorIndex& k : indices) {
    code.insert(code.end(), {k.kind, k.a, k.b, k.c});
    if (k.kind == 4) tensors.push_back(k.tensor);
  }
  return assay_abi::one("index_general", {*this, IntArrayRef(code), TensorList(tensors)});
}
inline Tensor Tensor::index(std::initializer_list<indexing::TensorIndex> indices) const {
  return index(ArrayRef<indexing::TensorIndex>(indices.begin(), indices.size()));
}
inline const Tensor& Tensor::index_put_(std::initializer_list<indexing::TensorIndex> indices,
                                        const Tensor& v) const {
  for (const indexing::TensorIndex& k : indices) {
    if (k.kind == 4) assay_unsupported("index_put_ with a tensor of indices");
  }
  index(indices).in_place("copy_", {index(indices), v});
  return *this;
}
inline const Tensor& Tensor::index_put_(std::initializer_list<indexing::TensorIndex> indices,
                                        Scalar v) const {
  for (const indexing::TensorIndex& k : indices) {
    if (k.kind == 4) assay_unsupported("index_put_ with a tensor of indices");
  }
  index(indices).in_place("fill_", {index(indices), v});
  return *this;
}

#define ASSAY_OPERATOR(op, name)                                \
  inline Tensor operator op(const Tensor& a, const Tensor& b) { \
    return assay_abi::one(name, {a, b});                        \
  }                                                             \
  inline Tensor operator op(const Tensor& a, const Scalar& b) { \
    return assay_abi::one(name, {a, b});                        \
  }                                                             \
  inline Tensor operator op(const Scalar& a, const Tensor& b) { \
    return assay_abi::one("r" name, {b, a});                    \
  }
ASSAY_OPERATOR(+, "add")
ASSAY_OPERATOR(-, "sub")
ASSAY_OPERATOR(*, "mul")
ASSAY_OPERATOR(/, "div")
ASSAY_OPERATOR(==, "eq")
ASSAY_OPERATOR(!=, "ne")
ASSAY_OPERATOR(<, "lt")
ASSAY_OPERATOR(<=, "le")
ASSAY_OPERATOR(>, "gt")
ASSAY_OPERATOR(>=, "ge")
ASSAY_OPERATOR(&, "bitwise_and")
ASSAY_OPERATOR(|, "bitwise_or")
#undef ASSAY_OPERATOR

template <class C, class T>
auto operator<<(C& stream, const T& t)
    -> std::enable_if_t<std::is_same_v<T, Tensor> || std::is_same_v<T, DeprecatedTypeProperties>,
                        C&> {
  stream << t.assay_text().c_str();
  return stream;
}

}  // namespace at

namespace c10 {
template <class C, class T>
auto operator<<(C& stream, const T& t)
    -> decltype(t.assay_text(), std::enable_if_t<!std::is_same_v<C, std::string>>(), stream.flush(),
                stream) {
  stream << t.assay_text().c_str();
  return stream;
}
template <class C>
auto operator<<(C& stream, ScalarType t) -> decltype(stream.flush(), stream) {
  stream << toString(t);
  return stream;
}
template <class C, class T>
auto operator<<(C& stream, ArrayRef<T> v) -> decltype(stream.flush(), stream) {
  stream << ::c10::str(v).c_str();
  return stream;
}
}  // namespace c10
namespace caffe2 {
template <class C>
auto operator<<(C& stream, const TypeMeta& t) -> decltype(stream.flush(), stream) {
  stream << t.name();
  return stream;
}
}  // namespace caffe2

namespace assay_abi {
inline Value value_of(const at::Tensor& t) {
  Value v;
  v.tag = Value::Tensor;
  v.tensor = t.assay_id();
  return v;
}
inline at::Tensor one(const char* name, Args args) {
  int32_t out = -1;
  run(name, args, &out, 1);
  return at::Tensor::assay_handle(out);
}
template <class T>
std::tuple<T, T> two(const char* name, Args args) {
  int32_t outs[2] = {-1, -1};
  run(name, args, outs, 2);
  return {T::assay_handle(outs[0]), T::assay_handle(outs[1])};
}
template <class T>
std::tuple<T, T, T> three(const char* name, Args args) {
  int32_t outs[3] = {-1, -1, -1};
  run(name, args, outs, 3);
  return {T::assay_handle(outs[0]), T::assay_handle(outs[1]), T::assay_handle(outs[2])};
}
template <class T>
std::vector<T> list(const char* name, Args args) {
  int32_t outs[1024];
  size_t n = run(name, args, outs, 1024);
  std::vector<T> v;
  for (size_t k = 0; k < n; ++k) v.push_back(T::assay_handle(outs[k]));
  return v;
}
}  // namespace assay_abi
