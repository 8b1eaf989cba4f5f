#pragma once
// KernelBench programs: a Python file whose `ModelNew` builds kernels with load_inline or load.
// python/assay/candidate.py runs it confined and records what forward does; each time it builds an
// extension or calls one it asks, and Assay compiles the sources and runs the host function in the
// runner, as it does for a .cu.
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "host/repeat.h"
#include "program/program.h"

namespace assay::host {

using ShapeChange = std::vector<program::Change>;  // as Program::changed

struct CandidateRequest {
  std::string path;       // model_new.py
  std::string reference;  // ref.py: get_inputs, get_init_inputs, the names of its parameters
  bool eval = false;
  int64_t seed = 42;
  std::vector<std::string> extra_flags;  // for nvcc, besides those of the program
  double wall_seconds = 120;             // of Python; as much again for what it asks for
  uint64_t memory_bytes = 8ull << 30;
  // The altered shapes to record as well; called once, when the given shape is recorded.
  std::function<std::vector<ShapeChange>()> altered;
};

struct RecordedCandidate {
  // The given shape, then altered ones (Program::changed). An argument's source is that of the
  // reference's argument that it stands for ("input:K", "parameter:NAME", "state:NAME" with the
  // reference's names), or "own".
  program::ProgramSet set;
  std::vector<LaterCall> later;
  std::vector<std::string> missing_confinement;
};

// Errors: those of run_python; Invalid where the program is wrong (its own exceptions, sources that
// do not compile), with the Python line; Unsupported.
Result<RecordedCandidate> record_candidate(const CandidateRequest& request);

}  // namespace assay::host
