#pragma once
// `assay check`: is candidate(x) = reference(x) for all inputs x?
#include <string>
#include <vector>

#include "base/result.h"
#include "check/verdict.h"
#include "host/repeat.h"
#include "program/program.h"

namespace assay::check {

struct CheckOptions {
  std::vector<Location> at;       // these locations,
  std::vector<uint64_t> at_ctas;  // those that these CTAs write; both empty: the engine chooses
  double timeout_s = 120;
  std::optional<double> rtol, atol;  // default by output dtype: DESIGN.md
  uint64_t seed = 1;
  bool whole = false;       // all locations at the given shape
  bool cross_check = true;  // one concrete run of the real build beside the verdict
  int jobs = 2;
};

// Candidate and reference at one shape (argument k of one is argument k of the other).
struct Pair {
  std::string change;  // what was altered, "" for the given shape
  program::Program candidate, reference;
  std::vector<program::Argument> called;  // of the candidate, in the order of its host function
  std::vector<host::LaterCall> later;     // further calls of the candidate, where they need a look
};

// The engine: checks pairs[0] (the given shape) and the altered ones.
Result<Verdict> check_programs(const std::vector<Pair>& pairs, const CheckOptions& options);

// The whole path from files; errors are bad input (Invalid, Syntax, Io), Unsupported or Internal.
struct CheckRequest {
  std::string candidate;  // .cu, .ptx or .assay; .py: a KernelBench program
  std::string reference;  // .py, .json or .assay (exported reference), .cu, .ptx
  std::string inputs;     // two .cu: the .py or .json whose arguments both take
  std::string entry = "forward";
  std::string reference_entry;  // of a reference that is a .cu; "": as entry
  std::string launch_toml;      // for .ptx, or .cu without host function
  bool eval = false;            // reference in eval mode
  std::vector<std::string> nvcc_flags;
  bool altered_shapes = true;
  CheckOptions options;
};
Result<Verdict> check_files(const CheckRequest& request);

}  // namespace assay::check
