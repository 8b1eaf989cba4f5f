#pragma once
// ArrayRef, Scalar, TensorOptions.
#include <array>
#include <initializer_list>
#include <vector>

#include "assay/scalar_type.h"

namespace c10 {

template <class T>
class ArrayRef {
 public:
  using value_type = T;
  using iterator = const T*;
  using const_iterator = const T*;
  constexpr ArrayRef() = default;
  constexpr ArrayRef(const T& one) : data_(&one), size_(1) {}
  constexpr ArrayRef(const T* data, size_t size) : data_(data), size_(size) {}
  constexpr ArrayRef(const T* begin, const T* end)
      : data_(begin), size_(static_cast<size_t>(end - begin)) {}
  template <class A>
  ArrayRef(const std::vector<T, A>& v) : data_(v.data()), size_(v.size()) {}
  template <size_t N>
  constexpr ArrayRef(const std::array<T, N>& v) : data_(v.data()), size_(N) {}
  template <size_t N>
  constexpr ArrayRef(const T (&v)[N]) : data_(v), size_(N) {}
  constexpr ArrayRef(const std::initializer_list<T>& v)
      : data_(v.begin() == v.end() ? nullptr : v.begin()), size_(v.size()) {}

  constexpr iterator begin() const { return data_; }
  constexpr iterator end() const { return data_ + size_; }
  constexpr const T* data() const { return data_; }
  constexpr size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  const T& front() const { return at(0); }
  const T& back() const { return at(size_ - 1); }
  constexpr const T& operator[](size_t k) const { return data_[k]; }
  const T& at(size_t k) const {
    TORCH_CHECK(k < size_, "ArrayRef: invalid index Index = ", k, "; Length = ", size_);
    return data_[k];
  }
  ArrayRef slice(size_t first, size_t count) const { return ArrayRef(data_ + first, count); }
  ArrayRef slice(size_t first) const { return slice(first, size_ - first); }
  std::vector<T> vec() const { return std::vector<T>(begin(), end()); }
  bool equals(ArrayRef o) const {
    if (size_ != o.size_) return false;
    for (size_t k = 0; k < size_; ++k) {
      if (!(data_[k] == o.data_[k])) return false;
    }
    return true;
  }

 private:
  const T* data_ = nullptr;
  size_t size_ = 0;
};
template <class T>
bool operator==(ArrayRef<T> a, ArrayRef<T> b) {
  return a.equals(b);
}
template <class T>
bool operator!=(ArrayRef<T> a, ArrayRef<T> b) {
  return !a.equals(b);
}
template <class T>
bool operator==(const std::vector<T>& a, ArrayRef<T> b) {
  return ArrayRef<T>(a).equals(b);
}
template <class T>
bool operator==(ArrayRef<T> a, const std::vector<T>& b) {
  return a.equals(ArrayRef<T>(b));
}
template <class T>
bool operator!=(const std::vector<T>& a, ArrayRef<T> b) {
  return !(a == b);
}
template <class T>
bool operator!=(ArrayRef<T> a, const std::vector<T>& b) {
  return !(a == b);
}
using IntArrayRef = ArrayRef<int64_t>;
using SymIntArrayRef = ArrayRef<int64_t>;

// A number of Python: bool, int or float.
class Scalar {
 public:
  Scalar() : Scalar(int64_t{0}) {}
#define ASSAY_SCALAR_INT(T) \
  Scalar(T v)               \
      : kind_(assay_abi::Value::Int), i_(static_cast<int64_t>(v)), d_(static_cast<double>(v)) {}
  ASSAY_SCALAR_INT(int)
  ASSAY_SCALAR_INT(unsigned)
  ASSAY_SCALAR_INT(long)
  ASSAY_SCALAR_INT(long long)
  ASSAY_SCALAR_INT(unsigned long)
  ASSAY_SCALAR_INT(unsigned long long)
  ASSAY_SCALAR_INT(short)
  ASSAY_SCALAR_INT(signed char)
  ASSAY_SCALAR_INT(unsigned char)
#undef ASSAY_SCALAR_INT
  Scalar(float v) : kind_(assay_abi::Value::Double), i_(0), d_(v) {}
  Scalar(double v) : kind_(assay_abi::Value::Double), i_(0), d_(v) {}
  Scalar(Half v) : Scalar(static_cast<float>(v)) {}
  Scalar(BFloat16 v) : Scalar(static_cast<float>(v)) {}
  Scalar(bool v) : kind_(assay_abi::Value::Bool), i_(v), d_(v) {}
  bool isFloatingPoint() const { return kind_ == assay_abi::Value::Double; }
  bool isIntegral(bool include_bool = false) const {
    return kind_ == assay_abi::Value::Int || (include_bool && isBoolean());
  }
  bool isBoolean() const { return kind_ == assay_abi::Value::Bool; }
  template <class T>
  T to() const {
    return isFloatingPoint() ? static_cast<T>(d_) : static_cast<T>(i_);
  }
  double toDouble() const { return to<double>(); }
  float toFloat() const { return to<float>(); }
  int64_t toLong() const { return to<int64_t>(); }
  int toInt() const { return to<int>(); }
  bool toBool() const { return to<bool>(); }
  Half toHalf() const { return Half(to<float>()); }
  ScalarType type() const { return isFloatingPoint() ? kDouble : isBoolean() ? kBool : kLong; }
  Scalar operator-() const { return isFloatingPoint() ? Scalar(-d_) : Scalar(-i_); }
  int32_t assay_kind() const { return kind_; }
  std::string assay_text() const {
    return isFloatingPoint() ? std::to_string(d_) : std::to_string(i_);
  }

 private:
  int32_t kind_;
  int64_t i_;
  double d_;
};
template <>
inline Half Scalar::to<Half>() const {
  return Half(to<float>());
}
template <>
inline BFloat16 Scalar::to<BFloat16>() const {
  return BFloat16(to<float>());
}

struct TensorOptions {
  std::optional<ScalarType> dtype_;
  std::optional<Device> device_;
  std::optional<MemoryFormat> memory_format_;
  bool requires_grad_ = false;

  TensorOptions() = default;
  TensorOptions(ScalarType t) : dtype_(t) {}
  TensorOptions(caffe2::TypeMeta t) : dtype_(t.toScalarType()) {}
  TensorOptions(Device d) : device_(d) {}
  TensorOptions(DeviceType d) : device_(Device(d)) {}
  TensorOptions(const char* d) : device_(Device(d)) {}
  TensorOptions(const std::string& d) : device_(Device(d)) {}
  TensorOptions(Layout) {}
  TensorOptions(MemoryFormat f) : memory_format_(f) {}

  TensorOptions dtype(std::optional<ScalarType> t) const {
    TensorOptions o = *this;
    o.dtype_ = t;
    return o;
  }
  TensorOptions dtype(ScalarType t) const { return dtype(std::optional<ScalarType>(t)); }
  TensorOptions dtype(caffe2::TypeMeta t) const { return dtype(t.toScalarType()); }
  template <class T>
  TensorOptions dtype() const {
    return dtype(CppTypeToScalarType<T>::value);
  }
  TensorOptions device(Device d) const {
    TensorOptions o = *this;
    o.device_ = d;
    return o;
  }
  TensorOptions device(DeviceType d, int index = -1) const { return device(Device(d, index)); }
  TensorOptions device(const std::string& d) const { return device(Device(d)); }
  TensorOptions device(const char* d) const { return device(Device(d)); }
  TensorOptions device(std::optional<Device> d) const {
    TensorOptions o = *this;
    o.device_ = d;
    return o;
  }
  TensorOptions device_index(int index) const { return device(Device(kCUDA, index)); }
  TensorOptions layout(Layout) const { return *this; }
  TensorOptions requires_grad(bool r) const {
    TensorOptions o = *this;
    o.requires_grad_ = r;
    return o;
  }
  TensorOptions requires_grad(std::optional<bool> r) const {
    return requires_grad(r.value_or(false));
  }
  TensorOptions pinned_memory(bool) const { return *this; }
  TensorOptions memory_format(MemoryFormat f) const {
    TensorOptions o = *this;
    o.memory_format_ = f;
    return o;
  }
  caffe2::TypeMeta dtype() const { return dtype_.value_or(kFloat); }
  Device device() const { return device_.value_or(Device()); }
  Layout layout() const { return kStrided; }
  bool requires_grad() const { return requires_grad_; }
  bool has_dtype() const { return dtype_.has_value(); }
  bool has_device() const { return device_.has_value(); }
};
inline TensorOptions dtype(ScalarType t) { return TensorOptions(t); }
inline TensorOptions dtype(caffe2::TypeMeta t) { return TensorOptions(t); }
inline TensorOptions device(Device d) { return TensorOptions(d); }
inline TensorOptions device(DeviceType d, int index = -1) {
  return TensorOptions(Device(d, index));
}
inline TensorOptions layout(Layout) { return TensorOptions(); }
inline TensorOptions requires_grad(bool r = true) { return TensorOptions().requires_grad(r); }
inline TensorOptions memory_format(MemoryFormat f) { return TensorOptions(f); }

}  // namespace c10
