#pragma once
// pybind11, as far as extensions use it. Objects are indices into the recorder's table; argument
// conversion follows pybind11's casters (int converts to float, float does not to int, None only to
// optional and object).
#include <utility>

#include "assay/ops.h"

namespace pybind11 {

class cast_error : public std::runtime_error {
  using std::runtime_error::runtime_error;
};
using error_already_set = cast_error;
using reference_cast_error = cast_error;
class type_error : public std::runtime_error {
  using std::runtime_error::runtime_error;
};
class value_error : public std::runtime_error {
  using std::runtime_error::runtime_error;
};
class key_error : public std::runtime_error {
  using std::runtime_error::runtime_error;
};
class index_error : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

class object;
class str;
class iterator;
class accessor;
using ssize_t = int64_t;
using size_t = ::size_t;

class handle {
 public:
  handle() = default;
  explicit handle(int32_t id) : id_(id) {}
  int32_t assay_id() const { return id_; }
  bool is_none() const { return assay_obj_kind(id_) == assay_abi::ONone; }
  bool is(handle o) const { return id_ == o.id_; }
  handle ptr() const { return *this; }
  explicit operator bool() const { return id_ >= 0; }
  bool operator==(handle o) const { return id_ == o.id_; }
  const handle& inc_ref() const { return *this; }
  const handle& dec_ref() const { return *this; }
  template <class T>
  T cast() const;
  accessor attr(const char* name) const;
  accessor operator[](const char* key) const;
  accessor operator[](const std::string& key) const;
  accessor operator[](int64_t k) const;
  accessor operator[](int k) const;
  accessor operator[](size_t k) const;
  bool contains(const char* key) const { return assay_obj_get(id_, key) >= 0; }
  bool contains(const std::string& key) const { return contains(key.c_str()); }
  iterator begin() const;
  iterator end() const;
  template <class... Args>
  object operator()(const Args&...) const;
  std::string assay_text() const { return assay_obj_str(id_); }

 protected:
  int32_t id_ = 0;
};

class object : public handle {
 public:
  object() = default;
  explicit object(int32_t id) : handle(id) {}
  object(handle h) : handle(h) {}
  object release() { return *this; }
};
template <class... Args>
object handle::operator()(const Args&...) const {
  assay_unsupported("calling a Python object from C++");
  return object();
}

class accessor : public object {
 public:
  accessor(int32_t owner, std::string key, int32_t id)
      : object(id), owner_(owner), key_(static_cast<std::string&&>(key)) {}
  template <class T>
  void operator=(const T& v);

 private:
  int32_t owner_;
  std::string key_;
};
class iterator {
 public:
  iterator(int32_t owner, int64_t k) : owner_(owner), k_(k) {}
  object operator*() const { return object(assay_obj_at(owner_, k_)); }
  iterator& operator++() {
    ++k_;
    return *this;
  }
  bool operator!=(const iterator& o) const { return k_ != o.k_; }
  bool operator==(const iterator& o) const { return k_ == o.k_; }

 private:
  int32_t owner_;
  int64_t k_;
};
inline iterator handle::begin() const { return iterator(id_, 0); }
inline iterator handle::end() const {
  return iterator(id_, static_cast<int64_t>(assay_obj_len(id_)));
}
inline accessor handle::attr(const char* name) const {
  int32_t v = assay_obj_attr(id_, name);
  if (v < 0) {
    ::c10::detail::raise<::c10::Error>("", "AttributeError: '", assay_text(),
                                       "' has no attribute '", name, "'");
  }
  return accessor(id_, name, v);
}
inline accessor handle::operator[](const char* key) const {
  return accessor(id_, key, assay_obj_get(id_, key));
}
inline accessor handle::operator[](const std::string& key) const { return (*this)[key.c_str()]; }
inline accessor handle::operator[](int64_t k) const {
  int64_t n = static_cast<int64_t>(assay_obj_len(id_));
  if (k < 0) k += n;
  if (k < 0 || k >= n) throw index_error("IndexError: list index out of range");
  return accessor(id_, "", assay_obj_at(id_, k));
}
inline accessor handle::operator[](int k) const { return (*this)[static_cast<int64_t>(k)]; }
inline accessor handle::operator[](size_t k) const { return (*this)[static_cast<int64_t>(k)]; }

inline int32_t new_object(assay_abi::ObjectKind kind, int64_t i = 0, double d = 0,
                          const char* s = nullptr) {
  return assay_obj_make(kind, i, d, s);
}

class none : public object {
 public:
  none() : object(0) {}
};
class bool_ : public object {
 public:
  bool_(bool v = false) : object(new_object(assay_abi::OBool, v)) {}
  bool_(const object& o) : object(o) {}
  operator bool() const { return assay_obj_int(id_) != 0; }
};
class int_ : public object {
 public:
  int_(int64_t v = 0) : object(new_object(assay_abi::OInt, v)) {}
  int_(const object& o) : object(o) {}
  operator int64_t() const { return assay_obj_int(id_); }
  operator int() const { return static_cast<int>(assay_obj_int(id_)); }
};
class float_ : public object {
 public:
  float_(double v = 0) : object(new_object(assay_abi::OFloat, 0, v)) {}
  float_(const object& o) : object(o) {}
  operator double() const { return assay_obj_float(id_); }
  operator float() const { return static_cast<float>(assay_obj_float(id_)); }
};
class str : public object {
 public:
  str(const char* s = "") : object(new_object(assay_abi::OStr, 0, 0, s)) {}
  str(const std::string& s) : str(s.c_str()) {}
  explicit str(handle h) : str(assay_obj_str(h.assay_id())) {}
  operator std::string() const { return assay_obj_str(id_); }
};
class sequence : public object {
 public:
  using object::object;
  sequence(const object& o) : object(o) {}
  size_t size() const { return assay_obj_len(id_); }
  bool empty() const { return size() == 0; }
};
class list : public sequence {
 public:
  list() : sequence(object(new_object(assay_abi::OList))) {}
  explicit list(size_t n) : list() {
    for (size_t k = 0; k < n; ++k) assay_obj_append(id_, 0);
  }
  list(const object& o) : sequence(o) {}
  template <class T>
  void append(const T& v);
};
class tuple : public sequence {
 public:
  tuple() : sequence(object(new_object(assay_abi::OTuple))) {}
  tuple(const object& o) : sequence(o) {}
};
class dict : public object {
 public:
  dict() : object(new_object(assay_abi::ODict)) {}
  dict(const object& o) : object(o) {}
  size_t size() const { return assay_obj_len(id_); }
  // Iterating a dict gives (key, value) pairs here, its keys in Python; both uses are by pairs.
  struct item_iterator {
    int32_t owner;
    int64_t k;
    std::pair<object, object> operator*() const {
      object key(assay_obj_at(owner, k));
      return {key, object(assay_obj_get(owner, assay_obj_str(key.assay_id())))};
    }
    item_iterator& operator++() {
      ++k;
      return *this;
    }
    bool operator!=(const item_iterator& o) const { return k != o.k; }
  };
  item_iterator begin() const { return {id_, 0}; }
  item_iterator end() const { return {id_, static_cast<int64_t>(size())}; }
};
class args : public tuple {
  using tuple::tuple;
};
class kwargs : public dict {
  using dict::dict;
};
class buffer : public object {
  using object::object;
};

// C++ values of objects: load(object, holder) and get(holder); make(value) gives an object.
template <class T, class = void>
struct Caster;

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

// Binding.
struct arg_v {
  const char* name;
  int32_t value;
};
struct arg {
  const char* name;
  explicit arg(const char* n = nullptr) : name(n) {}
  template <class T>
  arg_v operator=(const T& v) const {
    return {name, Caster<std::decay_t<T>>::make(v)};
  }
  arg_v operator=(std::nullopt_t) const { return {name, 0}; }
  arg_v operator=(const char* v) const { return {name, Caster<const char*>::make(v)}; }
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

class module_ : public object {
 public:
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

struct AttrProxy {
  template <class T>
  void operator=(const T&) {}
};

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
