#pragma once
// Verdicts and diagnostics as text for people and as JSON for programs.
#include <string>

#include "base/result.h"
#include "check/verdict.h"

namespace assay::report {

inline constexpr int kJsonSchemaVersion = 1;

struct TextOptions {
  bool color = false;
  bool verbose = false;    // all locations, timings by phase, the witness script
  size_t max_results = 3;  // unproved locations shown in full at each shape unless verbose
};

// What was checked and for whom it holds, or the input that refutes it, both values, the differing
// part and the kernel's source line. Ends in a newline. Control characters of untrusted text
// (source lines, compiler messages) are replaced.
std::string text(const check::Verdict& verdict, const TextOptions& options);

// One diagnostic with its source line and a caret.
std::string text(const Diag& diag, const TextOptions& options);

// "file.cu:12:5 | source line | caret", from the file if it can be read; empty otherwise.
std::string excerpt(const SrcLoc& loc, const TextOptions& options);

// The whole verdict; layout: the structs of check/verdict.h, field by field. Numbers that JSON
// lacks are the strings "inf", "-inf" and "nan".
std::string json(const check::Verdict& verdict, int exit_code);
std::string json(const Diag& diag, int exit_code);

// Exit code of a check or tool that ended with this diagnostic: 3 Unsupported, 2 Limit,
// 5 Internal, else 4.
int exit_code(const Diag& diag);

// "name[3, 17]", "name" for a scalar.
std::string place(const std::string& name, const std::vector<int64_t>& index);

// 1,234,567.
std::string grouped(uint64_t n);

// Replaces control characters but newline and tab, and invalid UTF-8, so that foreign text cannot
// steer the terminal.
std::string clean(std::string_view text);

}  // namespace assay::report
