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

namespace at {

// A dim argument: none, one integer, or a list.
struct OptionalIntArrayRef {
  bool has = false, single = false;
  int64_t value = 0;
  IntArrayRef list;
  OptionalIntArrayRef() = default;
  OptionalIntArrayRef(std::nullopt_t) {}
  template <class T, std::enable_if_t<std::is_integral_v<T>, int> = 0>
  OptionalIntArrayRef(T v) : has(true), single(true), value(v) {}
  OptionalIntArrayRef(IntArrayRef v) : has(true), list(v) {}
  OptionalIntArrayRef(const std::vector<int64_t>& v) : has(true), list(v) {}
  OptionalIntArrayRef(std::initializer_list<int64_t> v) : has(v.size() != 0), list(v) {}
  template <size_t N>
  OptionalIntArrayRef(const std::array<int64_t, N>& v) : has(true), list(v) {}
  OptionalIntArrayRef(const std::optional<IntArrayRef>& v) : has(v.has_value()) {
    if (v) list = *v;
  }
  IntArrayRef ref() const { return single ? IntArrayRef(value) : list; }
};
// An IntArrayRef of PyTorch for which one number may stand. Left out or {}, it is the empty list,
// where OptionalIntArrayRef is none, which operators do not take for such a list.
struct IntListRef : OptionalIntArrayRef {
  using OptionalIntArrayRef::OptionalIntArrayRef;
  IntListRef() : OptionalIntArrayRef(IntArrayRef()) {}
  IntListRef(std::initializer_list<int64_t> v) : OptionalIntArrayRef(IntArrayRef(v)) {}
};
struct OptionalScalar {
  std::optional<Scalar> value;
  OptionalScalar() = default;
  OptionalScalar(std::nullopt_t) {}
  template <class T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
  OptionalScalar(T v) : value(v) {}
  OptionalScalar(Scalar v) : value(v) {}
  OptionalScalar(const std::optional<Scalar>& v) : value(v) {}
};
}  // namespace at

#include "assay/bodies.h"

namespace at {

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
  ASSAY_FN IntArrayRef sizes() const
      ASSAY_BODY(const int64_t* p; size_t n; assay_sizes(id_, &p, &n);
                 return IntArrayRef(p, n);) ASSAY_FN IntArrayRef strides() const
      ASSAY_BODY(const int64_t* p; size_t n; assay_strides(id_, &p, &n);
                 return IntArrayRef(p, n);) ASSAY_FN int64_t size(int64_t k) const
      ASSAY_BODY(return wrapped(sizes(), k);) ASSAY_FN int64_t stride(int64_t k) const
      ASSAY_BODY(return wrapped(strides(), k);) ASSAY_FN int64_t dim() const
      ASSAY_BODY(return static_cast<int64_t>(sizes().size());) ASSAY_FN int64_t ndimension() const
      ASSAY_BODY(return dim();) ASSAY_FN int64_t numel() const
      ASSAY_BODY(return assay_numel(id_);) ASSAY_FN size_t nbytes() const
      ASSAY_BODY(return static_cast<size_t>(numel()) * itemsize();) ASSAY_FN int64_t
      storage_offset() const ASSAY_BODY(return assay_storage_offset(id_);) ASSAY_FN ScalarType
      scalar_type() const
      ASSAY_BODY(return static_cast<ScalarType>(assay_dtype(id_));) ASSAY_FN TypeMeta dtype() const
      ASSAY_BODY(return TypeMeta(scalar_type());) ASSAY_FN size_t itemsize() const
      ASSAY_BODY(return elementSize(scalar_type());) ASSAY_FN size_t element_size() const
      ASSAY_BODY(return itemsize();) ASSAY_FN bool is_cuda() const
      ASSAY_BODY(return assay_is_cuda(id_);) ASSAY_FN bool is_cpu() const
      ASSAY_BODY(return !is_cuda();) ASSAY_FN Device device() const
      ASSAY_BODY(return is_cuda() ? Device(kCUDA, 0) : Device(kCPU);) ASSAY_FN int64_t
      get_device() const ASSAY_BODY(return is_cuda() ? 0 : -1;) ASSAY_FN DeprecatedTypeProperties
      type() const ASSAY_BODY(return {scalar_type(), is_cuda()};) ASSAY_FN Layout layout() const
      ASSAY_BODY(return kStrided;) ASSAY_FN TensorOptions options() const
      ASSAY_BODY(return TensorOptions(scalar_type()).device(device());) ASSAY_FN
      bool is_contiguous(MemoryFormat f = MemoryFormat::Contiguous) const
      ASSAY_BODY(return assay_is_contiguous(id_, static_cast<int32_t>(f));) ASSAY_FN
      bool is_non_overlapping_and_dense() const ASSAY_BODY(return is_contiguous();) ASSAY_FN
      bool is_floating_point() const ASSAY_BODY(return isFloatingType(scalar_type());) ASSAY_FN
      bool is_complex() const ASSAY_BODY(return false;) ASSAY_FN bool is_sparse() const
      ASSAY_BODY(return false;) ASSAY_FN bool is_quantized() const
      ASSAY_BODY(return false;) ASSAY_FN bool is_same(const Tensor& o) const
      ASSAY_BODY(return id_ == o.id_;) ASSAY_FN bool is_alias_of(const Tensor& o) const
      ASSAY_BODY(return assay_same_storage(id_, o.id_);) ASSAY_FN bool requires_grad() const
      ASSAY_BODY(return assay_requires_grad(id_);) ASSAY_FN const Tensor& requires_grad_(
          bool = true) const
      ASSAY_BODY(return *this;) ASSAY_FN const Tensor& set_requires_grad(bool) const
      ASSAY_BODY(return *this;) ASSAY_FN MemoryFormat suggest_memory_format() const
      ASSAY_BODY(return dim() == 4 && !is_contiguous() && is_contiguous(MemoryFormat::ChannelsLast)
                            ? MemoryFormat::ChannelsLast
                            : MemoryFormat::Contiguous;) ASSAY_FN Tensor data() const
      ASSAY_BODY(return *this;) ASSAY_FN Tensor grad() const
      ASSAY_BODY(return Tensor();) ASSAY_FN std::string toString() const
      ASSAY_BODY(return type().toString();) ASSAY_FN std::string assay_text() const
      ASSAY_BODY(return assay_tensor_text(id_);) ASSAY_FN void print() const ASSAY_BODY()

          ASSAY_FN void* data_ptr() const ASSAY_BODY(return assay_data_ptr(id_, -1);) ASSAY_FN const
      void* const_data_ptr() const ASSAY_BODY(return data_ptr();) ASSAY_FN
      void* mutable_data_ptr() const ASSAY_BODY(return data_ptr();) template <class T>
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
  ASSAY_FN Scalar item() const
      ASSAY_BODY(double d = 0; int64_t i = 0; assay_item(id_, &d, &i);
                 if (is_floating_point()) return Scalar(d);
                 return scalar_type() == kBool ? Scalar(i != 0) : Scalar(i);) template <class T>
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
  ASSAY_FN Tensor contiguous(MemoryFormat f = MemoryFormat::Contiguous) const
      ASSAY_BODY(return assay_abi::one("contiguous", {*this, static_cast<int>(f)});) ASSAY_FN Tensor
      clone(std::optional<MemoryFormat> f = std::nullopt) const
      ASSAY_BODY(return assay_abi::one("clone",
                                       {*this, static_cast<int>(f.value_or(
                                                   MemoryFormat::Preserve))});) ASSAY_FN Tensor
      clone(TensorOptions) const ASSAY_BODY(return clone();) ASSAY_FN Tensor
      to(const TensorOptions& o, bool = false, bool copy = false,
         std::optional<MemoryFormat> = std::nullopt) const
      ASSAY_BODY(assay_abi::Arg t, d; if (o.dtype_) t = assay_abi::Arg(*o.dtype_);
                 if (o.device_) d = assay_abi::Arg(o.device_->is_cuda());
                 return assay_abi::one("to", {*this, t, d, copy});) ASSAY_FN Tensor
      to(ScalarType t, bool = false, bool copy = false) const
      ASSAY_BODY(return to(TensorOptions(t), false, copy);) ASSAY_FN Tensor
      to(TypeMeta t, bool = false, bool copy = false) const
      ASSAY_BODY(return to(TensorOptions(t), false, copy);) ASSAY_FN Tensor
      to(Device d, bool = false, bool copy = false) const
      ASSAY_BODY(return to(TensorOptions(d), false, copy);) ASSAY_FN Tensor
      to(DeviceType d, bool = false, bool copy = false) const
      ASSAY_BODY(return to(TensorOptions(d), false, copy);) ASSAY_FN Tensor
      to(Device d, ScalarType t, bool = false, bool copy = false) const
      ASSAY_BODY(return to(TensorOptions(t).device(d), false, copy);) ASSAY_FN Tensor
      to(const Tensor& o) const ASSAY_BODY(return to(o.options());) ASSAY_FN Tensor
      type(ScalarType t) const ASSAY_BODY(return to(t);) ASSAY_FN Tensor
      type_as(const Tensor& o) const ASSAY_BODY(return to(o.options());) ASSAY_FN Tensor
      toType(ScalarType t) const ASSAY_BODY(return to(t);) ASSAY_FN Tensor cuda() const
      ASSAY_BODY(return to(kCUDA);) ASSAY_FN Tensor cpu() const
      ASSAY_BODY(return to(kCPU);) ASSAY_FN Tensor to(const char* d) const
      ASSAY_BODY(return to(Device(d));) ASSAY_FN Tensor
      new_empty(IntArrayRef s, TensorOptions o = {}) const
      ASSAY_BODY(return make("empty", s, o);) ASSAY_FN Tensor
      new_zeros(IntArrayRef s, TensorOptions o = {}) const
      ASSAY_BODY(return make("zeros", s, o);) ASSAY_FN Tensor
      new_ones(IntArrayRef s, TensorOptions o = {}) const
      ASSAY_BODY(return make("ones", s, o);) ASSAY_FN Tensor
      new_full(IntArrayRef s, Scalar v, TensorOptions o = {}) const
      ASSAY_BODY(TensorOptions w = merged(o);
                 return assay_abi::one("full",
                                       {s, v, w.dtype().toScalarType(), w.device().is_cuda()});)

          ASSAY_FN Tensor
          operator[](int64_t k) const
      ASSAY_BODY(return assay_abi::one("select", {*this, 0, k});) ASSAY_FN Tensor
      operator[](const Tensor& k) const
      ASSAY_BODY(return assay_abi::one("index", {*this, TensorList(k)});) Tensor
      index(std::initializer_list<indexing::TensorIndex> indices) const;
  Tensor index(ArrayRef<indexing::TensorIndex> indices) const;
  const Tensor& index_put_(std::initializer_list<indexing::TensorIndex> indices,
                           const Tensor& v) const;
  const Tensor& index_put_(std::initializer_list<indexing::TensorIndex> indices, Scalar v) const;
  ASSAY_FN Tensor operator-() const
      ASSAY_BODY(return assay_abi::one("neg", {*this});) ASSAY_FN Tensor
      operator~() const ASSAY_BODY(return assay_abi::one("bitwise_not", {*this});)
#define ASSAY_COMPOUND(op, name)                                                  \
  ASSAY_FN const Tensor& operator op(const Tensor& o)                             \
      const ASSAY_BODY(return in_place(name, {*this, o});) ASSAY_FN const Tensor& \
      operator op(const Scalar& o) const ASSAY_BODY(return in_place(name, {*this, o});)
          ASSAY_COMPOUND(+=, "add_") ASSAY_COMPOUND(-=, "sub_") ASSAY_COMPOUND(*=, "mul_")
              ASSAY_COMPOUND(/=, "div_")
#undef ASSAY_COMPOUND

#define ASSAY_METHOD(name, params, args) \
  ASSAY_FN Tensor name params const ASSAY_BODY(return assay_abi::one(#name, ASSAY_BRACES args);)
#define ASSAY_METHOD_IN_PLACE(name, params, args)                                               \
  ASSAY_FN const Tensor& name params const ASSAY_BODY(assay_abi::one(#name, ASSAY_BRACES args); \
                                                      return *this;)
#define ASSAY_METHOD_PAIR(name, params, args)                       \
  ASSAY_FN std::tuple<Tensor, Tensor> name params const ASSAY_BODY( \
      return assay_abi::two(#name, ASSAY_BRACES args);)
#define ASSAY_METHOD_LIST(name, params, args)                \
  ASSAY_FN std::vector<Tensor> name params const ASSAY_BODY( \
      return assay_abi::list(#name, ASSAY_BRACES args);)
#define ASSAY_BRACES(...) \
  { *this __VA_OPT__(, ) __VA_ARGS__ }
#include "assay/methods.inc"
#undef ASSAY_BRACES
#undef ASSAY_METHOD
#undef ASSAY_METHOD_IN_PLACE
#undef ASSAY_METHOD_PAIR
#undef ASSAY_METHOD_LIST

                  ASSAY_FN bool equal(const Tensor& o) const
      ASSAY_BODY(return sizes() == o.sizes() && eq(o).all().item().toBool();) ASSAY_FN
      void backward() const ASSAY_BODY(assay_unsupported("Tensor::backward");)

          private
      : ASSAY_FN static int64_t wrapped(IntArrayRef v, int64_t k)
            ASSAY_BODY(int64_t n = static_cast<int64_t>(v.size()); if (k < -n || k >= n) {
              ::c10::detail::raise<IndexError>(
                  "", "Dimension out of range (expected to be in range of [", -n, ", ", n - 1,
                  "], but got ", k, ")");
            } return v[static_cast<size_t>(k < 0 ? k + n : k)];) ASSAY_FN
        void check_rank(size_t n) const
        ASSAY_BODY(TORCH_CHECK(static_cast<size_t>(dim()) == n, "TensorAccessor expected ", n,
                               " dims but tensor has ", dim());) ASSAY_FN TensorOptions
        merged(const TensorOptions& o) const
        ASSAY_BODY(TensorOptions w = options(); if (o.dtype_) w.dtype_ = o.dtype_;
                   if (o.device_) w.device_ = o.device_; return w;) ASSAY_FN Tensor
        make(const char* name, IntArrayRef s, const TensorOptions& o) const
        ASSAY_BODY(TensorOptions w = merged(o);
                   return assay_abi::one(name,
                                         {s, w.dtype().toScalarType(), w.device().is_cuda()});)
#if defined(ASSAY_BODIES)
            const Tensor& in_place(const char* name, assay_abi::Args args) const {
    int32_t out = -1;
    assay_abi::run(name, args, &out, 1);
    return *this;
  }
#endif

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

#define ASSAY_OPERATOR(op, name)                                           \
  ASSAY_FN Tensor operator op(const Tensor& a, const Tensor& b)            \
      ASSAY_BODY(return assay_abi::one(name, {a, b});) ASSAY_FN Tensor     \
      operator op(const Tensor& a, const Scalar& b)                        \
          ASSAY_BODY(return assay_abi::one(name, {a, b});) ASSAY_FN Tensor \
          operator op(const Scalar& a, const Tensor& b)                    \
              ASSAY_BODY(return assay_abi::one("r" name, {b, a});)
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

#if defined(ASSAY_BODIES)
namespace at {
ASSAY_FN Tensor Tensor::index(ArrayRef<indexing::TensorIndex> indices) const {
  std::vector<int64_t> code;
  std::vector<Tensor> tensors;
  for (const indexing::TensorIndex& k : indices) {
    code.insert(code.end(), {k.kind, k.a, k.b, k.c});
    if (k.kind == 4) tensors.push_back(k.tensor);
  }
  return assay_abi::one("index_general", {*this, IntArrayRef(code), TensorList(tensors)});
}
ASSAY_FN Tensor Tensor::index(std::initializer_list<indexing::TensorIndex> indices) const {
  return index(ArrayRef<indexing::TensorIndex>(indices.begin(), indices.size()));
}
ASSAY_FN const Tensor& Tensor::index_put_(std::initializer_list<indexing::TensorIndex> indices,
                                          const Tensor& v) const {
  for (const indexing::TensorIndex& k : indices) {
    if (k.kind == 4) assay_unsupported("index_put_ with a tensor of indices");
  }
  index(indices).in_place("copy_", {index(indices), v});
  return *this;
}
ASSAY_FN const Tensor& Tensor::index_put_(std::initializer_list<indexing::TensorIndex> indices,
                                          Scalar v) const {
  for (const indexing::TensorIndex& k : indices) {
    if (k.kind == 4) assay_unsupported("index_put_ with a tensor of indices");
  }
  index(indices).in_place("fill_", {index(indices), v});
  return *this;
}
}  // namespace at
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
#endif
