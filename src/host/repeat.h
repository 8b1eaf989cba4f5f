#pragma once
// Static state of host code: what a second and a third call in the same process do otherwise than
// the first (cached results and weights, reused output memory, counters of calls).
#include <optional>
#include <string>
#include <vector>

#include "host/sandbox.h"

namespace assay::host {

struct LaterCall {
  std::string what;  // "a second call with new input tensors"
  // All steps since the first call; arguments are those of this call, then the inputs of earlier
  // calls, so that a result that depends on an earlier call differs from the reference.
  program::Program program;
  std::string differs;  // where its steps part from those of the first call; "": nowhere
  // It uses what an earlier call computed from inputs, from parameters alone.
  bool from_inputs = false, from_parameters = false;
};

struct Repetition {
  std::vector<LaterCall> calls;  // those that deserve a look: other steps, or memory kept
  std::vector<program::Note> notes;
};

// `request`: that of the first call. Errors of the later calls become a note; host code that reads
// tensor data is not called again (what it does next may rightly depend on the data).
Repetition repeat_calls(const SandboxRequest& request);

// The parts of it that need no process: `first` is the Program of the first call alone.
std::optional<LaterCall> compare_call(const program::Program& first, const program::Program& before,
                                      program::Program all, std::vector<program::Note>* notes);

}  // namespace assay::host
