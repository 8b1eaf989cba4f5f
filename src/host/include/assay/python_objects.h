#pragma once
// pybind11's objects: indices into the recorder's table.
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
  object operator()(const Args&... args) const;
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
  // Of a list of pairs (what items() gives), or a dict as it is.
  dict(const object& o) : object(o) {
    if (assay_obj_kind(id_) != assay_abi::OList) return;
    id_ = new_object(assay_abi::ODict);
    for (size_t k = 0; k < assay_obj_len(o.assay_id()); ++k) {
      const int32_t pair = assay_obj_at(o.assay_id(), static_cast<int64_t>(k));
      assay_obj_set(id_, assay_obj_str(assay_obj_at(pair, 0)), assay_obj_at(pair, 1));
    }
  }
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

}  // namespace pybind11
