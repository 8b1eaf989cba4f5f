#pragma once
// Result<T>: a value or a Diag. No exception crosses a folder's edge.
#include <cstdint>
#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace assay {

// What kind of trouble. Each maps to one exit code (docs/ARCHITECTURE.md, "Exit codes").
enum class DiagKind : uint8_t {
  Syntax,       // text that does not parse
  Invalid,      // well-formed, but wrong: shapes, arguments, undefined symbols
  Unsupported,  // right, but Assay does not know this construct
  Limit,        // a resource limit (time, memory, size) was hit
  Io,           // files, processes
  Internal      // a bug in Assay
};

struct SrcLoc {
  std::string file;
  uint32_t line = 0;  // 1-based; 0: unknown
  uint32_t column = 0;
};

struct Diag {
  DiagKind kind = DiagKind::Internal;
  std::string message;
  SrcLoc loc;
};

template <class T>
using Result = tl::expected<T, Diag>;
using Status = Result<void>;

inline tl::unexpected<Diag> fail(DiagKind kind, std::string message, SrcLoc loc = {}) {
  return tl::unexpected<Diag>(Diag{kind, std::move(message), std::move(loc)});
}

const char* diag_kind_name(DiagKind kind);
std::string format_diag(const Diag& diag);  // "file:line:col: error (kind): message"

}  // namespace assay

#define ASSAY_CONCAT_(a, b) a##b
#define ASSAY_CONCAT(a, b) ASSAY_CONCAT_(a, b)
// ASSAY_TRY(x, expr): x = value of expr, or return its Diag.
#define ASSAY_TRY(lhs, expr) ASSAY_TRY_(ASSAY_CONCAT(assay_try_, __LINE__), lhs, expr)
#define ASSAY_TRY_(tmp, lhs, expr)                                        \
  auto tmp = (expr);                                                      \
  if (!tmp) return tl::unexpected<::assay::Diag>(std::move(tmp.error())); \
  lhs = std::move(*tmp)
#define ASSAY_CHECK(expr)                                                                     \
  do {                                                                                        \
    auto assay_status = (expr);                                                               \
    if (!assay_status) return tl::unexpected<::assay::Diag>(std::move(assay_status.error())); \
  } while (false)
