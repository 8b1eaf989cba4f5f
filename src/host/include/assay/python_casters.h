#pragma once
// Conversion between objects and C++ values as pybind11's casters do it: int converts to float,
// float does not to int, None only to optional and object.
#include <map>
#include <unordered_map>

#include "assay/python_objects.h"

namespace pybind11 {

// C++ values of objects: load(object, holder) and get(holder); make(value) gives an object.
template <class T, class = void>
struct Caster;

// What stands for None.
template <class T>
struct NoneCaster {
  using Holder = bool;
  static constexpr const char* kinds = "?";
  static bool load(int32_t o, Holder&) { return assay_obj_kind(o) == assay_abi::ONone; }
  static int32_t make(T) { return 0; }
};
template <>
struct Caster<std::nullptr_t> : NoneCaster<std::nullptr_t> {
  static std::nullptr_t get(bool) { return nullptr; }
};
template <>
struct Caster<std::nullopt_t> : NoneCaster<std::nullopt_t> {
  static std::nullopt_t get(bool) { return std::nullopt; }
};

template <>
struct Caster<bool> {
  using Holder = bool;
  static constexpr const char* kinds = "b";
  static bool load(int32_t o, Holder& h) {
    h = assay_obj_int(o) != 0;
    return assay_obj_kind(o) == assay_abi::OBool;
  }
  static bool get(Holder& h) { return h; }
  static int32_t make(bool v) { return new_object(assay_abi::OBool, v); }
};
template <class T>
struct Caster<T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>>> {
  using Holder = T;
  static constexpr const char* kinds = "i";
  static bool load(int32_t o, Holder& h) {
    int32_t kind = assay_obj_kind(o);
    if (kind != assay_abi::OInt && kind != assay_abi::OBool) return false;
    int64_t v = assay_obj_int(o);
    h = static_cast<T>(v);
    return static_cast<int64_t>(h) == v && (v >= 0 || std::is_signed_v<T>);
  }
  static T get(Holder& h) { return h; }
  static int32_t make(T v) { return new_object(assay_abi::OInt, static_cast<int64_t>(v)); }
};
template <class T>
struct Caster<T, std::enable_if_t<std::is_floating_point_v<T>>> {
  using Holder = T;
  static constexpr const char* kinds = "f";
  static bool load(int32_t o, Holder& h) {
    int32_t kind = assay_obj_kind(o);
    if (kind != assay_abi::OFloat && kind != assay_abi::OInt && kind != assay_abi::OBool) {
      return false;
    }
    h = static_cast<T>(kind == assay_abi::OFloat ? assay_obj_float(o)
                                                 : static_cast<double>(assay_obj_int(o)));
    return true;
  }
  static T get(Holder& h) { return h; }
  static int32_t make(T v) { return new_object(assay_abi::OFloat, 0, v); }
};
template <>
struct Caster<std::string> {
  using Holder = std::string;
  static constexpr const char* kinds = "s";
  static bool load(int32_t o, Holder& h) {
    if (assay_obj_kind(o) != assay_abi::OStr) return false;
    h = assay_obj_str(o);
    return true;
  }
  static std::string& get(Holder& h) { return h; }
  static int32_t make(const std::string& v) { return new_object(assay_abi::OStr, 0, 0, v.c_str()); }
};
template <>
struct Caster<const char*> {
  using Holder = std::string;
  static constexpr const char* kinds = "s";
  static bool load(int32_t o, Holder& h) { return Caster<std::string>::load(o, h); }
  static const char* get(Holder& h) { return h.c_str(); }
  static int32_t make(const char* v) { return new_object(assay_abi::OStr, 0, 0, v); }
};
template <>
struct Caster<at::Tensor> {
  using Holder = at::Tensor;
  static constexpr const char* kinds = "T";
  static bool load(int32_t o, Holder& h) {
    if (assay_obj_kind(o) != assay_abi::OTensor) return false;
    h = at::Tensor::assay_handle(assay_obj_tensor(o));
    return true;
  }
  static at::Tensor& get(Holder& h) { return h; }
  static int32_t make(const at::Tensor& v) {
    return v.defined() ? assay_obj_make_tensor(v.assay_id()) : 0;
  }
};
template <>
struct Caster<c10::ScalarType> {
  using Holder = c10::ScalarType;
  static constexpr const char* kinds = "d";
  static bool load(int32_t o, Holder& h) {
    if (assay_obj_kind(o) != assay_abi::ODtype) return false;
    h = static_cast<c10::ScalarType>(assay_obj_int(o));
    return true;
  }
  static c10::ScalarType get(Holder& h) { return h; }
  static int32_t make(c10::ScalarType v) {
    return new_object(assay_abi::ODtype, static_cast<int64_t>(v));
  }
};
template <>
struct Caster<c10::Scalar> {
  using Holder = c10::Scalar;
  static constexpr const char* kinds = "f";
  static bool load(int32_t o, Holder& h) {
    int32_t kind = assay_obj_kind(o);
    if (kind == assay_abi::OFloat) h = c10::Scalar(assay_obj_float(o));
    if (kind == assay_abi::OInt) h = c10::Scalar(assay_obj_int(o));
    if (kind == assay_abi::OBool) h = c10::Scalar(assay_obj_int(o) != 0);
    return kind == assay_abi::OFloat || kind == assay_abi::OInt || kind == assay_abi::OBool;
  }
  static c10::Scalar& get(Holder& h) { return h; }
  static int32_t make(const c10::Scalar& v) {
    return v.isFloatingPoint() ? Caster<double>::make(v.toDouble())
                               : Caster<int64_t>::make(v.toLong());
  }
};
template <class T>
struct Caster<std::optional<T>> {
  using Holder = std::optional<T>;
  static constexpr const char* kinds = "?";
  static bool load(int32_t o, Holder& h) {
    if (assay_obj_kind(o) == assay_abi::ONone) return true;
    typename Caster<T>::Holder inner{};
    if (!Caster<T>::load(o, inner)) return false;
    h = Caster<T>::get(inner);
    return true;
  }
  static Holder& get(Holder& h) { return h; }
  static int32_t make(const Holder& v) { return v ? Caster<T>::make(*v) : 0; }
};
inline bool is_sequence(int32_t o) {
  int32_t kind = assay_obj_kind(o);
  return kind == assay_abi::OList || kind == assay_abi::OTuple;
}
template <class T>
bool load_items(int32_t o, std::vector<T>& v) {
  if (!is_sequence(o)) return false;
  size_t n = assay_obj_len(o);
  for (size_t k = 0; k < n; ++k) {
    typename Caster<T>::Holder item{};
    if (!Caster<T>::load(assay_obj_at(o, static_cast<int64_t>(k)), item)) return false;
    v.push_back(Caster<T>::get(item));
  }
  return true;
}
template <class T>
struct Caster<std::vector<T>> {
  using Holder = std::vector<T>;
  static constexpr const char* kinds = "L";
  static bool load(int32_t o, Holder& h) { return load_items(o, h); }
  static Holder& get(Holder& h) { return h; }
  static int32_t make(const Holder& v) {
    int32_t o = new_object(assay_abi::OList);
    for (const auto& item : v) assay_obj_append(o, Caster<T>::make(item));
    return o;
  }
};
template <class T, size_t N>
struct Caster<std::array<T, N>> {
  using Holder = std::array<T, N>;
  static constexpr const char* kinds = "L";
  static bool load(int32_t o, Holder& h) {
    std::vector<T> v;
    if (!load_items(o, v) || v.size() != N) return false;
    for (size_t k = 0; k < N; ++k) h[k] = v[k];
    return true;
  }
  static Holder& get(Holder& h) { return h; }
  static int32_t make(const Holder& v) {
    return Caster<std::vector<T>>::make(std::vector<T>(v.begin(), v.end()));
  }
};
template <class T>
struct Caster<c10::ArrayRef<T>> {
  using Holder = std::vector<T>;
  static constexpr const char* kinds = "L";
  static bool load(int32_t o, Holder& h) {
    if (std::is_same_v<T, int64_t> && assay_obj_kind(o) == assay_abi::OInt) {
      h.push_back(static_cast<T>(assay_obj_int(o)));
      return true;
    }
    return load_items(o, h);
  }
  static c10::ArrayRef<T> get(Holder& h) { return h; }
  static int32_t make(c10::ArrayRef<T> v) { return Caster<std::vector<T>>::make(v.vec()); }
};
template <class... T>
struct Caster<std::tuple<T...>> {
  using Holder = std::tuple<T...>;
  static constexpr const char* kinds = "L";
  template <size_t... I>
  static bool load(int32_t o, Holder& h, std::index_sequence<I...>) {
    return (load_one<T>(assay_obj_at(o, I), std::get<I>(h)) && ...);
  }
  template <class U>
  static bool load_one(int32_t o, U& v) {
    typename Caster<U>::Holder item{};
    if (!Caster<U>::load(o, item)) return false;
    v = Caster<U>::get(item);
    return true;
  }
  static bool load(int32_t o, Holder& h) {
    return is_sequence(o) && assay_obj_len(o) == sizeof...(T) &&
           load(o, h, std::index_sequence_for<T...>());
  }
  static Holder& get(Holder& h) { return h; }
  template <size_t... I>
  static int32_t make(const Holder& v, std::index_sequence<I...>) {
    int32_t o = new_object(assay_abi::OTuple);
    (assay_obj_append(o, Caster<T>::make(std::get<I>(v))), ...);
    return o;
  }
  static int32_t make(const Holder& v) { return make(v, std::index_sequence_for<T...>()); }
};
template <class A, class B>
struct Caster<std::pair<A, B>> {
  using Holder = std::pair<A, B>;
  static constexpr const char* kinds = "L";
  static bool load(int32_t o, Holder& h) {
    std::tuple<A, B> t;
    if (!Caster<std::tuple<A, B>>::load(o, t)) return false;
    h = {std::get<0>(t), std::get<1>(t)};
    return true;
  }
  static Holder& get(Holder& h) { return h; }
  static int32_t make(const Holder& v) {
    return Caster<std::tuple<A, B>>::make(std::tuple<A, B>(v.first, v.second));
  }
};
template <class M>
struct MapCaster {
  using Holder = M;
  using Item = typename M::mapped_type;
  static constexpr const char* kinds = "o";
  static bool load(int32_t o, Holder& h) {
    if (assay_obj_kind(o) != assay_abi::ODict) return false;
    const size_t n = assay_obj_len(o);
    for (size_t k = 0; k < n; ++k) {
      const int32_t key = assay_obj_at(o, static_cast<int64_t>(k));
      typename Caster<Item>::Holder item{};
      if (!Caster<Item>::load(assay_obj_get(o, assay_obj_str(key)), item)) return false;
      h.emplace(assay_obj_str(key), Caster<Item>::get(item));
    }
    return true;
  }
  static Holder& get(Holder& h) { return h; }
  static int32_t make(const Holder& v) {
    const int32_t o = new_object(assay_abi::ODict);
    for (const auto& [key, item] : v) assay_obj_set(o, key.c_str(), Caster<Item>::make(item));
    return o;
  }
};
template <class T>
struct Caster<std::map<std::string, T>> : MapCaster<std::map<std::string, T>> {};
template <class T>
struct Caster<std::unordered_map<std::string, T>> : MapCaster<std::unordered_map<std::string, T>> {
};
template <class T>
constexpr assay_abi::ObjectKind kind_of() {
  return std::is_base_of_v<list, T>    ? assay_abi::OList
         : std::is_base_of_v<tuple, T> ? assay_abi::OTuple
         : std::is_base_of_v<dict, T>  ? assay_abi::ODict
         : std::is_base_of_v<bool_, T> ? assay_abi::OBool
         : std::is_base_of_v<int_, T>  ? assay_abi::OInt
         : std::is_base_of_v<str, T>   ? assay_abi::OStr
                                       : assay_abi::OFloat;
}
template <class T>
struct Caster<T, std::enable_if_t<std::is_base_of_v<handle, T>>> {
  using Holder = object;
  static constexpr const char* kinds = "o";
  static constexpr bool any = std::is_same_v<T, object> || std::is_same_v<T, handle> ||
                              std::is_same_v<T, accessor> || std::is_same_v<T, sequence>;
  static bool load(int32_t o, Holder& h) {
    h = object(o);
    // Assay's arguments do not tell lists from tuples.
    if constexpr (std::is_base_of_v<sequence, T> && !any) return is_sequence(o);
    if constexpr (!any) return assay_obj_kind(o) == kind_of<T>();
    return !std::is_same_v<T, sequence> || is_sequence(o);
  }
  static T get(Holder& h) { return T(h); }
  static int32_t make(const handle& v) { return v.assay_id(); }
};

template <class T>
T handle::cast() const {
  using U = std::remove_cv_t<std::remove_reference_t<T>>;
  typename Caster<U>::Holder h{};
  if (id_ < 0 || !Caster<U>::load(id_, h)) {
    throw cast_error("Unable to cast Python instance to C++ type");
  }
  return Caster<U>::get(h);
}
template <class T>
T cast(const handle& h) {
  return h.cast<T>();
}
template <class T, std::enable_if_t<!std::is_base_of_v<handle, T>, int> = 0>
object cast(const T& v) {
  return object(Caster<T>::make(v));
}
template <class T>
void accessor::operator=(const T& v) {
  id_ = Caster<std::decay_t<T>>::make(v);
  assay_obj_set(owner_, key_.c_str(), id_);
}
template <class T>
void list::append(const T& v) {
  assay_obj_append(id_, Caster<std::decay_t<T>>::make(v));
}
template <class T>
int32_t made(const T& v) {
  if constexpr (std::is_convertible_v<const T&, const char*> && !std::is_null_pointer_v<T>)
    return Caster<const char*>::make(v);
  else
    return Caster<std::decay_t<T>>::make(v);
}
template <class... Args>
object handle::operator()(const Args&... args) const {
  const int32_t ids[] = {made(args)..., 0};
  return object(assay_obj_call(id_, ids, static_cast<int32_t>(sizeof...(Args))));
}
template <class... T>
tuple make_tuple(const T&... v) {
  object o(new_object(assay_abi::OTuple));
  (assay_obj_append(o.assay_id(), Caster<std::decay_t<T>>::make(v)), ...);
  return tuple(o);
}
template <class T>
bool isinstance(const handle& h) {
  typename Caster<T>::Holder v{};
  return Caster<T>::load(h.assay_id(), v);
}
inline bool hasattr(const handle& h, const char* name) {
  return assay_obj_attr(h.assay_id(), name) >= 0;
}
inline object getattr(const handle& h, const char* name) { return h.attr(name); }
inline object getattr(const handle& h, const char* name, const object& otherwise) {
  int32_t v = assay_obj_attr(h.assay_id(), name);
  return v < 0 ? otherwise : object(v);
}
inline size_t len(const handle& h) { return assay_obj_len(h.assay_id()); }
inline void print(...) {}

}  // namespace pybind11

// Of Python's own interface, what extensions ask of dicts.
inline int PyMapping_HasKeyString(pybind11::handle o, const char* key) { return o.contains(key); }
inline int PyDict_Check(pybind11::handle o) {
  return assay_obj_kind(o.assay_id()) == assay_abi::ODict;
}
