#pragma once
// Runs a compiled extension's function in the confined runner (libexec/assay/assay-host-runner) and
// gives back what it recorded. The runner has no network, starts no processes, writes only in its
// own temporary folder, and is limited in memory, processor time and wall-clock time.
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "program/program.h"

namespace assay::host {

struct Limits {
  double wall_seconds = 20;
  uint64_t cpu_seconds = 15;
  uint64_t memory_bytes = 4ull << 30;
  uint64_t result_bytes = 256ull << 20;
};

struct SandboxRequest {
  program::Program program;  // buffers and arguments
  std::string extension;     // path of the shared object
  std::string entry;
  Limits limits;
  int run = 0;                      // probing run: other addresses, other probe values
  bool amid = false, side = false;  // Settings::amid, side (rt/recorder.h)
  int calls = 1;  // in the same process: the second has new input tensors, the third the first ones
};

// An element of tensor data that host code read; `value` is the probe that it was given.
struct HostReadRecord {
  int buffer = -1;
  int64_t element = 0;
  uint64_t version = 0;
  program::DType dtype = program::DType::F32;
  double value = 0;
};

struct SandboxResult {
  program::Program program;
  std::vector<HostReadRecord> reads;
  std::vector<std::vector<int>> done;  // Session::done_json, where the call stands amid other work
  std::string returned;                // the form of what was returned: Session::returned
  std::vector<std::string> missing;    // mechanisms of confinement that this kernel lacks
  // What the second and further calls left recorded, from the first step of the first call on, with
  // the arguments and outputs of that call. `later_error`: why there is no more of them.
  std::vector<program::Program> later;
  std::string later_error;
  std::string
      exception;       // host code threw, after a launch was refused: `program` holds what was done
  std::string output;  // what host code printed
};

// Errors: Invalid (exception of host code, arguments that do not fit, no such entry, crash, exit, a
// forbidden action), Unsupported (a construct that the recorder does not know, an undefined
// symbol), Limit (wall-clock or processor time, memory, size of the recording), Io, Internal.
Result<SandboxResult> run_confined(const SandboxRequest& request);

}  // namespace assay::host
