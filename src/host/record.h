#pragma once
// Compiles a `.cu` PyTorch extension, runs its host function in the sandbox without a GPU, and
// gives what it did as a Program.
#include <string>
#include <vector>

#include "base/result.h"
#include "host/compile.h"
#include "host/repeat.h"
#include "host/sandbox.h"
#include "program/program.h"

namespace assay::host {

struct RecordRequest {
  std::vector<std::string> sources;  // .cu (and .cpp) paths
  std::string entry;                 // name bound with m.def; "": the only one
  // What the function is called with. Tensors are views on `buffers`. Consecutive arguments named
  // "group.key" are passed as one dict where the function takes a Python object.
  std::vector<program::Argument> arguments;
  std::vector<program::Buffer> buffers;
  std::vector<std::string> extra_flags;
  Limits limits;
  bool repeat = false;  // look at further calls in the same process as well
  double compile_seconds = 180;
};

struct Recording {
  program::Program program;
  double compile_seconds = 0, record_seconds = 0;
  bool compiled_from_cache = false;
  std::vector<program::Argument> called;  // in the order of the call; set by the caller
  std::vector<LaterCall> later;           // further calls that differ or use memory of earlier ones
  std::vector<std::string> missing_confinement;
  std::string output;  // what host code printed
};

// The Program's buffers begin with those of the request, in their order and with their roles and
// data; temporaries follow. Notes: "launch-refused" (severity "verdict"), "host-exception" (host
// code threw after a refused launch; the steps are those before), "host-read",
// "input-dependent-host-path", "use-after-free", "harness-cheat" (no kernel computes an output),
// "shared-output", "static-state", ... Errors: those of compile_extension and
// run_confined.
Result<Recording> record(const RecordRequest& request);
// Gives each module its semantic PTX: the unit that defines the same kernels. Errors: Internal.
Status attach_semantic(const Compiled& compiled, program::Program* p);

// Notes outputs that no launch has part in, and what makes them instead ("harness-cheat").
void note_library_outputs(program::Program* p);

Result<program::Program> record_extension(const RecordRequest& request);

}  // namespace assay::host
