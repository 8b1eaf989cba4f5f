// Which of a submission's compiler flags reach the compiler.
#include <fmt/format.h>

#include "host/compile.h"

namespace assay::host {

namespace {

bool starts(const std::string& s, const char* prefix) { return s.rfind(prefix, 0) == 0; }

// Change what the kernel computes.
bool is_semantic(const std::string& f) {
  for (const char* p : {"--use_fast_math",
                        "-use_fast_math",
                        "-ftz=",
                        "--ftz=",
                        "-fmad=",
                        "--fmad=",
                        "-prec-div=",
                        "--prec-div=",
                        "-prec-sqrt=",
                        "--prec-sqrt=",
                        "--expt-relaxed-constexpr",
                        "-expt-relaxed-constexpr",
                        "--expt-extended-lambda",
                        "--extended-lambda",
                        "-extended-lambda",
                        "-D",
                        "-U",
                        "--restrict",
                        "-restrict",
                        "-maxrregcount",
                        "--maxrregcount",
                        "--default-stream",
                        "-default-stream",
                        "-fno-strict-aliasing"}) {
    if (starts(f, p)) return true;
  }
  return false;
}

// Say nothing about results: optimisation of host code, linking, assembling, warnings, targets.
bool is_neutral(const std::string& f) {
  for (const char* p : {"-O",
                        "--optimize",
                        "-l",
                        "-L",
                        "-Wl,",
                        "-W",
                        "-w",
                        "-g",
                        "-lineinfo",
                        "--generate-line-info",
                        "-std=",
                        "--std=",
                        "-arch",
                        "--gpu-architecture",
                        "-gencode",
                        "--generate-code",
                        "-Xptxas",
                        "--ptxas-options",
                        "-Xcompiler",
                        "--compiler-options",
                        "-v",
                        "--verbose",
                        "-t",
                        "--threads",
                        "-m64",
                        "-fPIC",
                        "-diag-suppress",
                        "--diag-suppress",
                        "-Xcudafe",
                        "--extra-device-vectorization",
                        "-allow-unsupported-compiler",
                        "--ptxas",
                        "-march=",
                        "-mtune=",
                        "-ffast-math",
                        "-funroll-loops",
                        "-fopenmp",
                        "-code",
                        "--resource-usage",
                        "-res-usage",
                        "-split-compile",
                        "--split-compile",
                        "-dlto",
                        "-rdynamic"}) {
    if (starts(f, p)) return true;
  }
  return false;
}

// Flags whose value is the next word.
bool takes_value(const std::string& f) {
  for (const char* name : {"-D",
                           "-U",
                           "-maxrregcount",
                           "--maxrregcount",
                           "-l",
                           "-L",
                           "-std",
                           "--std",
                           "-arch",
                           "--gpu-architecture",
                           "-gencode",
                           "--generate-code",
                           "-Xptxas",
                           "--ptxas-options",
                           "-Xcompiler",
                           "--compiler-options",
                           "-Xcudafe",
                           "-t",
                           "--threads",
                           "-O",
                           "-code",
                           "--default-stream",
                           "-default-stream",
                           "-diag-suppress",
                           "--diag-suppress"}) {
    if (f == name) return true;
  }
  return false;
}

}  // namespace

Result<std::vector<std::string>> allowed_flags(const std::vector<std::string>& flags) {
  std::vector<std::string> kept;
  for (size_t k = 0; k < flags.size(); ++k) {
    const std::string& f = flags[k];
    if (f.empty()) continue;
    bool semantic = is_semantic(f);
    if (!semantic && !is_neutral(f)) {
      return fail(DiagKind::Invalid,
                  fmt::format("the compiler flag '{}' is not one that Assay passes on", f));
    }
    if (semantic) kept.push_back(f);
    if (takes_value(f) && k + 1 < flags.size()) {
      ++k;
      if (semantic) kept.push_back(flags[k]);
    }
  }
  return kept;
}

}  // namespace assay::host
