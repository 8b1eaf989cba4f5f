#pragma once
// c10::Error, TORCH_CHECK and their relatives.
#include <exception>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "assay/abi.h"
#include "assay/macros.h"

namespace c10 {

class Error : public std::exception {
 public:
  explicit Error(std::string message) : message_(static_cast<std::string&&>(message)) {}
  const char* what() const noexcept override { return message_.c_str(); }
  const char* what_without_backtrace() const noexcept { return message_.c_str(); }
  const std::string& msg() const { return message_; }

 private:
  std::string message_;
};
class IndexError : public Error {
  using Error::Error;
};
class ValueError : public Error {
  using Error::Error;
};
class TypeError : public Error {
  using Error::Error;
};
class NotImplementedError : public Error {
  using Error::Error;
};

namespace detail {

inline void append(std::string& s, const char* v) { s += v == nullptr ? "(null)" : v; }
inline void append(std::string& s, const std::string& v) { s += v; }
inline void append(std::string& s, char v) { s += v; }
inline void append(std::string& s, bool v) { s += v ? '1' : '0'; }
template <class T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
void append(std::string& s, T v) {
  s += std::to_string(v);
}
template <class T, std::enable_if_t<std::is_enum_v<T>, int> = 0>
auto append(std::string& s, T v) -> decltype(toString(v), void()) {
  s += toString(v);
}
template <class T>
auto append(std::string& s, const T& v) -> decltype(v.assay_text(), void()) {
  s += v.assay_text();
}
template <class T>
auto append(std::string& s, const T& v)
    -> decltype(v.begin(), v.end(), v.size(), std::enable_if_t<!std::is_same_v<T, std::string>>()) {
  s += '[';
  bool first = true;
  for (const auto& item : v) {
    if (!first) s += ", ";
    first = false;
    append(s, item);
  }
  s += ']';
}
inline void append(std::string& s, ...) { s += "(value)"; }

}  // namespace detail

template <class... Args>
std::string str(const Args&... args) {
  std::string s;
  (detail::append(s, args), ...);
  return s;
}

namespace detail {
template <class E, class... Args>
[[noreturn]] void raise(const char* otherwise, const Args&... args) {
  std::string message = ::c10::str(args...);
  throw E(message.empty() ? std::string(otherwise) : message);
}
}  // namespace detail

}  // namespace c10

#define TORCH_CHECK_WITH(type, cond, ...)                                                \
  do {                                                                                   \
    if (!(cond)) {                                                                       \
      ::c10::detail::raise<::c10::type>("Expected " #cond " to be true, but got false.", \
                                        ##__VA_ARGS__);                                  \
    }                                                                                    \
  } while (false)
#define TORCH_CHECK(cond, ...) TORCH_CHECK_WITH(Error, cond __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_INDEX(cond, ...) TORCH_CHECK_WITH(IndexError, cond __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_VALUE(cond, ...) TORCH_CHECK_WITH(ValueError, cond __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_TYPE(cond, ...) TORCH_CHECK_WITH(TypeError, cond __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_NOT_IMPLEMENTED(cond, ...) \
  TORCH_CHECK_WITH(NotImplementedError, cond __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_INTERNAL_ASSERT(cond, ...) TORCH_CHECK_WITH(Error, cond __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_INTERNAL_ASSERT_DEBUG_ONLY(cond, ...) \
  TORCH_CHECK_WITH(Error, cond __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_EQ(a, b) TORCH_CHECK((a) == (b), "Check failed: " #a " == " #b)
#define TORCH_CHECK_NE(a, b) TORCH_CHECK((a) != (b), "Check failed: " #a " != " #b)
#define TORCH_CHECK_LT(a, b) TORCH_CHECK((a) < (b), "Check failed: " #a " < " #b)
#define TORCH_CHECK_LE(a, b) TORCH_CHECK((a) <= (b), "Check failed: " #a " <= " #b)
#define TORCH_CHECK_GT(a, b) TORCH_CHECK((a) > (b), "Check failed: " #a " > " #b)
#define TORCH_CHECK_GE(a, b) TORCH_CHECK((a) >= (b), "Check failed: " #a " >= " #b)
#define AT_ASSERT(cond, ...) TORCH_CHECK_WITH(Error, cond __VA_OPT__(, ) __VA_ARGS__)
#define AT_ASSERTM(cond, ...) TORCH_CHECK_WITH(Error, cond __VA_OPT__(, ) __VA_ARGS__)
#define AT_CHECK(cond, ...) TORCH_CHECK_WITH(Error, cond __VA_OPT__(, ) __VA_ARGS__)
#define AT_ERROR(...) ::c10::detail::raise<::c10::Error>("error" __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_LINALG(cond, ...) TORCH_CHECK_WITH(Error, cond __VA_OPT__(, ) __VA_ARGS__)
#define TORCH_CHECK_ARG(cond, n, ...) TORCH_CHECK(cond, "invalid argument " #n ": ", __VA_ARGS__)
#define TORCH_WARN(...) ((void)::c10::str(__VA_ARGS__))
#define TORCH_WARN_ONCE(...) ((void)::c10::str(__VA_ARGS__))
