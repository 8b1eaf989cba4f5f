#pragma once
// Element types, devices and layouts. Half and BFloat16 compute through float, as PyTorch's do, and
// convert on the device with the instructions of cuda_fp16.h and cuda_bf16.h.
#include <limits>
#include <optional>

#include "assay/error.h"

struct __half;
struct __nv_bfloat16;

namespace c10 {

enum class ScalarType : int8_t {
  Byte = 0,
  Char = 1,
  Short = 2,
  Int = 3,
  Long = 4,
  Half = 5,
  Float = 6,
  Double = 7,
  ComplexHalf = 8,
  ComplexFloat = 9,
  ComplexDouble = 10,
  Bool = 11,
  QInt8 = 12,
  QUInt8 = 13,
  QInt32 = 14,
  BFloat16 = 15,
  Float8_e5m2 = 23,
  Float8_e4m3fn = 24,
  Undefined = 45,
};

inline const char* toString(ScalarType t) {
  switch (t) {
    case ScalarType::Byte:
      return "Byte";
    case ScalarType::Char:
      return "Char";
    case ScalarType::Short:
      return "Short";
    case ScalarType::Int:
      return "Int";
    case ScalarType::Long:
      return "Long";
    case ScalarType::Half:
      return "Half";
    case ScalarType::Float:
      return "Float";
    case ScalarType::Double:
      return "Double";
    case ScalarType::Bool:
      return "Bool";
    case ScalarType::BFloat16:
      return "BFloat16";
    default:
      return "Unknown";
  }
}

inline size_t elementSize(ScalarType t) {
  switch (t) {
    case ScalarType::Byte:
    case ScalarType::Char:
    case ScalarType::Bool:
      return 1;
    case ScalarType::Short:
    case ScalarType::Half:
    case ScalarType::BFloat16:
      return 2;
    case ScalarType::Int:
    case ScalarType::Float:
      return 4;
    default:
      return 8;
  }
}

inline bool isFloatingType(ScalarType t) {
  return t == ScalarType::Half || t == ScalarType::Float || t == ScalarType::Double ||
         t == ScalarType::BFloat16;
}
inline bool isIntegralType(ScalarType t, bool include_bool = false) {
  return t == ScalarType::Byte || t == ScalarType::Char || t == ScalarType::Short ||
         t == ScalarType::Int || t == ScalarType::Long || (include_bool && t == ScalarType::Bool);
}
inline bool isReducedFloatingType(ScalarType t) {
  return t == ScalarType::Half || t == ScalarType::BFloat16;
}

namespace detail {

inline uint32_t float_bits(float f) {
  uint32_t u;
  __builtin_memcpy(&u, &f, 4);
  return u;
}
inline float bits_float(uint32_t u) {
  float f;
  __builtin_memcpy(&f, &u, 4);
  return f;
}

inline uint16_t half_from_float_host(float value) {
  uint32_t u = float_bits(value), sign = (u >> 16) & 0x8000u;
  u &= 0x7fffffffu;
  if (u > 0x7f800000u) return static_cast<uint16_t>(0x7fffu);
  if (u >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);
  if (u < 0x33000001u) return static_cast<uint16_t>(sign);
  int shift = u < 0x38800000u ? 126 - static_cast<int>(u >> 23) : 13;
  uint32_t m = u < 0x38800000u ? (u & 0x7fffffu) | 0x800000u : u - 0x38000000u;
  uint32_t result = m >> shift, rest = m & ((1u << shift) - 1u), half = 1u << (shift - 1);
  if (rest > half || (rest == half && (result & 1u) != 0)) ++result;
  return static_cast<uint16_t>(sign | result);
}
inline float half_to_float_host(uint16_t h) {
  uint32_t sign = (h & 0x8000u) << 16, exponent = (h >> 10) & 31u, m = h & 0x3ffu;
  if (exponent == 31) return bits_float(sign | 0x7f800000u | (m << 13));
  if (exponent != 0) return bits_float(sign | ((exponent + 112u) << 23) | (m << 13));
  float v = static_cast<float>(m) * 5.9604644775390625e-8f;
  return sign != 0 ? -v : v;
}
inline uint16_t bf16_from_float_host(float value) {
  uint32_t u = float_bits(value);
  if ((u & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
  return static_cast<uint16_t>((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
}

}  // namespace detail

struct alignas(2) Half {
  unsigned short x;
  struct from_bits_t {};
  static constexpr C10_HOST_DEVICE from_bits_t from_bits() { return from_bits_t(); }
  Half() = default;
  constexpr C10_HOST_DEVICE Half(unsigned short bits, from_bits_t) : x(bits) {}
  C10_HOST_DEVICE Half(float value) {
#if defined(__CUDA_ARCH__)
    asm("{  cvt.rn.f16.f32 %0, %1;}\n" : "=h"(x) : "f"(value));
#else
    x = detail::half_from_float_host(value);
#endif
  }
  C10_HOST_DEVICE operator float() const {
#if defined(__CUDA_ARCH__)
    float f;
    asm("{  cvt.f32.f16 %0, %1;}\n" : "=f"(f) : "h"(x));
    return f;
#else
    return detail::half_to_float_host(x);
#endif
  }
  template <class H, std::enable_if_t<std::is_same_v<H, __half>, int> = 0>
  C10_HOST_DEVICE Half(const H& h) : x(*reinterpret_cast<const unsigned short*>(&h)) {}
  template <class H, std::enable_if_t<std::is_same_v<H, __half>, int> = 0>
  C10_HOST_DEVICE operator H() const {
    return *reinterpret_cast<const H*>(&x);
  }
};

struct alignas(2) BFloat16 {
  unsigned short x;
  struct from_bits_t {};
  static constexpr C10_HOST_DEVICE from_bits_t from_bits() { return from_bits_t(); }
  BFloat16() = default;
  constexpr C10_HOST_DEVICE BFloat16(unsigned short bits, from_bits_t) : x(bits) {}
  C10_HOST_DEVICE BFloat16(float value) {
#if defined(__CUDA_ARCH__)
    asm("{  cvt.rn.bf16.f32 %0, %1;}\n" : "=h"(x) : "f"(value));
#else
    x = detail::bf16_from_float_host(value);
#endif
  }
  C10_HOST_DEVICE operator float() const {
#if defined(__CUDA_ARCH__)
    float f;
    asm("{ cvt.f32.bf16 %0, %1;}\n" : "=f"(f) : "h"(x));
    return f;
#else
    return detail::bits_float(static_cast<uint32_t>(x) << 16);
#endif
  }
  template <class H, std::enable_if_t<std::is_same_v<H, __nv_bfloat16>, int> = 0>
  C10_HOST_DEVICE BFloat16(const H& h) : x(*reinterpret_cast<const unsigned short*>(&h)) {}
  template <class H, std::enable_if_t<std::is_same_v<H, __nv_bfloat16>, int> = 0>
  C10_HOST_DEVICE operator H() const {
    return *reinterpret_cast<const H*>(&x);
  }
};

#define ASSAY_REDUCED_OP(T, op)                                                                    \
  inline C10_HOST_DEVICE T operator op(const T& a, const T& b) {                                   \
    return static_cast<float>(a) op static_cast<float>(b);                                         \
  }                                                                                                \
  inline C10_HOST_DEVICE T& operator op##=(T& a, const T& b) { return a = a op b; }                \
  inline C10_HOST_DEVICE float operator op(T a, float b) { return static_cast<float>(a) op b; }    \
  inline C10_HOST_DEVICE float operator op(float a, T b) { return a op static_cast<float>(b); }    \
  inline C10_HOST_DEVICE float& operator op##=(float& a, const T& b) {                             \
    return a op## = static_cast<float>(b);                                                         \
  }                                                                                                \
  inline C10_HOST_DEVICE double operator op(T a, double b) { return static_cast<double>(a) op b; } \
  inline C10_HOST_DEVICE double operator op(double a, T b) { return a op static_cast<double>(b); } \
  inline C10_HOST_DEVICE T operator op(T a, int b) { return a op T(static_cast<float>(b)); }       \
  inline C10_HOST_DEVICE T operator op(int a, T b) { return T(static_cast<float>(a)) op b; }       \
  inline C10_HOST_DEVICE T operator op(T a, int64_t b) { return a op T(static_cast<float>(b)); }   \
  inline C10_HOST_DEVICE T operator op(int64_t a, T b) { return T(static_cast<float>(a)) op b; }
#define ASSAY_REDUCED_TYPE(T) \
  ASSAY_REDUCED_OP(T, +)      \
  ASSAY_REDUCED_OP(T, -)      \
  ASSAY_REDUCED_OP(T, *)      \
  ASSAY_REDUCED_OP(T, /)      \
  inline C10_HOST_DEVICE T operator-(const T& a) { return -static_cast<float>(a); }
ASSAY_REDUCED_TYPE(Half)
ASSAY_REDUCED_TYPE(BFloat16)
#undef ASSAY_REDUCED_TYPE
#undef ASSAY_REDUCED_OP

#if defined(__CUDACC__)
inline __device__ Half __ldg(const Half* p) {
  return Half(::__ldg(reinterpret_cast<const unsigned short*>(p)), Half::from_bits());
}
inline __device__ BFloat16 __ldg(const BFloat16* p) {
  return BFloat16(::__ldg(reinterpret_cast<const unsigned short*>(p)), BFloat16::from_bits());
}
#endif

namespace impl {
template <ScalarType N>
struct ScalarTypeToCPPType;
template <class T>
struct CppTypeToScalarType;
#define ASSAY_FORALL_TYPES(F)                                                           \
  F(uint8_t, Byte)                                                                      \
  F(int8_t, Char)                                                                       \
  F(int16_t, Short)                                                                     \
  F(int, Int)                                                                           \
  F(int64_t, Long) F(::c10::Half, Half) F(float, Float) F(double, Double) F(bool, Bool) \
      F(::c10::BFloat16, BFloat16)
#define ASSAY_MAP(T, name)                                \
  template <>                                             \
  struct ScalarTypeToCPPType<ScalarType::name> {          \
    using type = T;                                       \
  };                                                      \
  template <>                                             \
  struct CppTypeToScalarType<T> {                         \
    static constexpr ScalarType value = ScalarType::name; \
  };
ASSAY_FORALL_TYPES(ASSAY_MAP)
#undef ASSAY_MAP
template <>
struct CppTypeToScalarType<long long> {
  static constexpr ScalarType value = ScalarType::Long;
};
template <>
struct CppTypeToScalarType<__half> {
  static constexpr ScalarType value = ScalarType::Half;
};
template <>
struct CppTypeToScalarType<__nv_bfloat16> {
  static constexpr ScalarType value = ScalarType::BFloat16;
};
template <ScalarType N>
using ScalarTypeToCPPTypeT = typename ScalarTypeToCPPType<N>::type;
}  // namespace impl
template <class T>
using CppTypeToScalarType = impl::CppTypeToScalarType<T>;

#define ASSAY_CONSTANT(T, name) constexpr ScalarType k##name = ScalarType::name;
ASSAY_FORALL_TYPES(ASSAY_CONSTANT)
#undef ASSAY_CONSTANT
constexpr ScalarType kUInt8 = kByte, kInt8 = kChar, kInt16 = kShort, kInt32 = kInt, kInt64 = kLong,
                     kFloat16 = kHalf, kFloat32 = kFloat, kFloat64 = kDouble, kU8 = kByte,
                     kI8 = kChar, kI16 = kShort, kI32 = kInt, kI64 = kLong, kF16 = kHalf,
                     kF32 = kFloat, kF64 = kDouble;

enum class DeviceType : int8_t { CPU = 0, CUDA = 1, Meta = 9 };
constexpr DeviceType kCPU = DeviceType::CPU, kCUDA = DeviceType::CUDA, kMeta = DeviceType::Meta;
using DeviceIndex = int8_t;

struct Device {
  using Type = DeviceType;
  DeviceType type_ = DeviceType::CPU;
  DeviceIndex index_ = -1;
  Device() = default;
  Device(DeviceType type, int index = -1) : type_(type), index_(static_cast<DeviceIndex>(index)) {}
  Device(const std::string& text) {
    size_t colon = text.find(':');
    std::string kind = text.substr(0, colon);
    TORCH_CHECK(kind == "cuda" || kind == "cpu",
                "Expected one of cpu, cuda device type at start of ", "device string: ", text);
    type_ = kind == "cuda" ? DeviceType::CUDA : DeviceType::CPU;
    if (colon != std::string::npos)
      index_ = static_cast<DeviceIndex>(std::stoi(text.substr(colon + 1)));
  }
  Device(const char* text) : Device(std::string(text)) {}
  DeviceType type() const { return type_; }
  DeviceIndex index() const { return index_; }
  bool has_index() const { return index_ >= 0; }
  bool is_cuda() const { return type_ == DeviceType::CUDA; }
  bool is_cpu() const { return type_ == DeviceType::CPU; }
  bool operator==(const Device& o) const { return type_ == o.type_ && index_ == o.index_; }
  bool operator!=(const Device& o) const { return !(*this == o); }
  std::string str() const {
    std::string s = is_cuda() ? "cuda" : "cpu";
    return index_ >= 0 ? s + ":" + std::to_string(static_cast<int>(index_)) : s;
  }
  std::string assay_text() const { return str(); }
};

enum class Layout : int8_t { Strided };
constexpr Layout kStrided = Layout::Strided;
enum class MemoryFormat : int8_t { Contiguous, Preserve, ChannelsLast, ChannelsLast3d };
inline const char* toString(DeviceType t) { return t == DeviceType::CUDA ? "cuda" : "cpu"; }

using std::nullopt;
using std::nullopt_t;
using std::optional;
template <class T>
constexpr std::optional<std::decay_t<T>> make_optional(T&& v) {
  return std::optional<std::decay_t<T>>(static_cast<T&&>(v));
}

}  // namespace c10

namespace caffe2 {
class TypeMeta {
 public:
  TypeMeta() = default;
  TypeMeta(::c10::ScalarType t) : type_(t) {}
  operator ::c10::ScalarType() const { return type_; }
  ::c10::ScalarType toScalarType() const { return type_; }
  size_t itemsize() const { return ::c10::elementSize(type_); }
  const char* name() const { return ::c10::toString(type_); }
  template <class T>
  bool Match() const {
    return ::c10::CppTypeToScalarType<T>::value == type_;
  }
  template <class T>
  static TypeMeta Make() {
    return TypeMeta(::c10::CppTypeToScalarType<T>::value);
  }
  std::string assay_text() const { return name(); }

 private:
  ::c10::ScalarType type_ = ::c10::ScalarType::Float;
};
inline bool operator==(const TypeMeta& a, const TypeMeta& b) {
  return a.toScalarType() == b.toScalarType();
}
inline bool operator!=(const TypeMeta& a, const TypeMeta& b) { return !(a == b); }
inline bool operator==(const TypeMeta& a, ::c10::ScalarType b) { return a.toScalarType() == b; }
inline bool operator!=(const TypeMeta& a, ::c10::ScalarType b) { return a.toScalarType() != b; }
inline bool operator==(::c10::ScalarType a, const TypeMeta& b) { return b == a; }
inline bool operator!=(::c10::ScalarType a, const TypeMeta& b) { return b != a; }
}  // namespace caffe2

namespace std {
template <>
class numeric_limits<c10::Half> {
 public:
  static constexpr bool is_specialized = true, is_signed = true, is_integer = false,
                        has_infinity = true, has_quiet_NaN = true;
  static constexpr int digits = 11, digits10 = 3, max_digits10 = 5;
  static constexpr C10_HOST_DEVICE c10::Half bits(unsigned short b) {
    return c10::Half(b, c10::Half::from_bits());
  }
  static constexpr C10_HOST_DEVICE c10::Half min() { return bits(0x0400); }
  static constexpr C10_HOST_DEVICE c10::Half lowest() { return bits(0xFBFF); }
  static constexpr C10_HOST_DEVICE c10::Half max() { return bits(0x7BFF); }
  static constexpr C10_HOST_DEVICE c10::Half epsilon() { return bits(0x1400); }
  static constexpr C10_HOST_DEVICE c10::Half infinity() { return bits(0x7C00); }
  static constexpr C10_HOST_DEVICE c10::Half quiet_NaN() { return bits(0x7E00); }
  static constexpr C10_HOST_DEVICE c10::Half denorm_min() { return bits(0x0001); }
};
template <>
class numeric_limits<c10::BFloat16> {
 public:
  static constexpr bool is_specialized = true, is_signed = true, is_integer = false,
                        has_infinity = true, has_quiet_NaN = true;
  static constexpr int digits = 8, digits10 = 2, max_digits10 = 4;
  static constexpr C10_HOST_DEVICE c10::BFloat16 bits(unsigned short b) {
    return c10::BFloat16(b, c10::BFloat16::from_bits());
  }
  static constexpr C10_HOST_DEVICE c10::BFloat16 min() { return bits(0x0080); }
  static constexpr C10_HOST_DEVICE c10::BFloat16 lowest() { return bits(0xFF7F); }
  static constexpr C10_HOST_DEVICE c10::BFloat16 max() { return bits(0x7F7F); }
  static constexpr C10_HOST_DEVICE c10::BFloat16 epsilon() { return bits(0x3C00); }
  static constexpr C10_HOST_DEVICE c10::BFloat16 infinity() { return bits(0x7F80); }
  static constexpr C10_HOST_DEVICE c10::BFloat16 quiet_NaN() { return bits(0x7FC0); }
  static constexpr C10_HOST_DEVICE c10::BFloat16 denorm_min() { return bits(0x0001); }
};
}  // namespace std
