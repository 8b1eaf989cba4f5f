#pragma once
// Functions whose definitions live in the recorder: extensions see declarations only, which keeps
// their compilation short. The recorder compiles these headers with ASSAY_BODIES, so that each
// definition stands beside its declaration.
//   ASSAY_FN Tensor f(...) ASSAY_BODY(return ...;)
#if defined(ASSAY_BODIES)
#define ASSAY_FN __attribute__((used, visibility("default"))) inline
#define ASSAY_BODY(...) \
  { __VA_ARGS__ }
#include <initializer_list>

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
  Arg(const at::OptionalIntArrayRef& v) {
    if (v.has) *this = Arg(v.ref());
  }
  Arg(const at::OptionalScalar& v) : Arg(v.value) {}
  template <class T>
  Arg(const std::optional<T>& v) {
    if (v) *this = Arg(*v);
  }
};
using Args = std::initializer_list<Arg>;
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
#else
#define ASSAY_FN
#define ASSAY_BODY(...) ;
#endif
