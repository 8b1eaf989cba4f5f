#pragma once
// pybind11, as far as extensions use it: functions and modules.
#include "assay/python_casters.h"

namespace pybind11 {

struct arg_v {
  const char* name;
  int32_t value;
  template <class T>
  arg_v(const char* n, const T& v, const char* = nullptr) : name(n), value(made(v)) {}
  arg_v& noconvert(bool = true) { return *this; }
  arg_v& none(bool = true) { return *this; }
};
struct arg {
  const char* name;
  explicit arg(const char* n = nullptr) : name(n) {}
  template <class T>
  arg_v operator=(const T& v) const {
    return {name, v};
  }
  arg& noconvert(bool = true) { return *this; }
  arg& none(bool = true) { return *this; }
};
struct gil_scoped_release {};
struct gil_scoped_acquire {};
template <class... T>
struct call_guard {};
struct kw_only {};
struct pos_only {};
struct name {
  explicit name(const char*) {}
};
struct doc {
  explicit doc(const char*) {}
};
enum class return_value_policy { automatic, copy, move, reference, take_ownership };

struct Extras {
  const char* names[128] = {};
  int32_t defaults[128];
  size_t n = 0;
  Extras() {
    for (int32_t& d : defaults) d = -1;
  }
  void add(const arg& a) {
    if (n < 128) names[n++] = a.name;
  }
  void add(const arg_v& a) {
    if (n < 128) {
      names[n] = a.name;
      defaults[n++] = a.value;
    }
  }
  template <class T>
  void add(const T&) {}
};

namespace detail_bind {
template <class F, class R, class... A>
struct Bound {
  template <size_t... I>
  static int32_t call(F& f, const int32_t* objects, std::index_sequence<I...>) {
    std::tuple<typename Caster<std::decay_t<A>>::Holder...> holders{};
    if (!(Caster<std::decay_t<A>>::load(objects[I], std::get<I>(holders)) && ...)) {
      return assay_abi::kMismatch;
    }
    (void)objects;
    if constexpr (std::is_void_v<R>) {
      f(Caster<std::decay_t<A>>::get(std::get<I>(holders))...);
      return 0;
    } else {
      return Caster<std::decay_t<R>>::make(
          f(Caster<std::decay_t<A>>::get(std::get<I>(holders))...));
    }
  }
  static int32_t invoke(void* closure, const int32_t* objects) {
    return call(*static_cast<F*>(closure), objects, std::index_sequence_for<A...>());
  }
  static void bind(const char* name, F f, const Extras& extras) {
    std::string kinds;
    ((kinds += Caster<std::decay_t<A>>::kinds), ...);
    assay_def(name, &invoke, new F(static_cast<F&&>(f)), sizeof...(A), kinds.c_str(), extras.names,
              extras.defaults);
  }
};
template <class F>
struct Signature : Signature<decltype(&F::operator())> {};
template <class C, class R, class... A>
struct Signature<R (C::*)(A...) const> {
  template <class F>
  using Type = Bound<F, R, A...>;
};
template <class C, class R, class... A>
struct Signature<R (C::*)(A...)> {
  template <class F>
  using Type = Bound<F, R, A...>;
};
template <class R, class... A>
struct Signature<R (*)(A...)> {
  template <class F>
  using Type = Bound<F, R, A...>;
};
}  // namespace detail_bind

// What is stored in a module is of no concern to the functions that are called.
struct AttrProxy {
  template <class T>
  void operator=(const T&) const {}
};

// &f of the overload with these parameters.
template <class... A>
struct overload_cast_impl {
  template <class R>
  constexpr auto operator()(R (*f)(A...)) const {
    return f;
  }
};
template <class... A>
constexpr overload_cast_impl<A...> overload_cast{};

class module_ : public object {
 public:
  AttrProxy attr(const char*) const { return {}; }
  template <class F, class... X>
  module_& def(const char* name, F&& f, const X&... extras) {
    using D = std::decay_t<F>;
    Extras all;
    (all.add(extras), ...);
    detail_bind::Signature<D>::template Type<D>::bind(name, f, all);
    return *this;
  }
  const char*& doc() {
    static const char* text = nullptr;
    return text;
  }
  module_ def_submodule(const char*, const char* = nullptr) { return *this; }
  static object import(const char* name) {
    assay_unsupported((std::string("importing the Python module ") + name).c_str());
    return object();
  }
  static object import_(const char* name) { return import(name); }
};
using module = module_;

inline namespace literals {
inline arg operator""_a(const char* name, size_t) { return arg(name); }
}  // namespace literals

}  // namespace pybind11
namespace py = pybind11;

#define PYBIND11_MODULE(name, variable, ...)                                   \
  static void assay_init_module(::pybind11::module_& variable);                \
  extern "C" __attribute__((visibility("default"))) void assay_module_init() { \
    ::pybind11::module_ assay_module;                                          \
    assay_init_module(assay_module);                                           \
  }                                                                            \
  static void assay_init_module(::pybind11::module_& variable)
