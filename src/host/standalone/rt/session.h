#pragma once
// One call of an extension's function, as the runner drives it.
#include <string>

#include "host/standalone/rt/recorder.h"

namespace assay::host {

struct Outcome {
  bool ok = false;
  std::string kind;  // see host/protocol.h
  std::string message;
};

class ASSAY_EXPORT Session {
 public:
  static Session& get();
  // Starts a recording: the request's Program (buffers and arguments) as JSON.
  Outcome begin(const std::string& program_json, const Settings& settings);
  // Calls `entry` with the arguments of the Recorder's Program; "": the only function.
  Outcome call(const std::string& entry);
  // Before a further call in the same process: with new input tensors, or with those of the
  // request. Parameters and states stay.
  void next_call(bool new_inputs);
  // What was recorded. `reads`: JSON array of the host reads. Bytes of the request's own buffers
  // are left out, and what they begin with (the parent has both).
  Outcome program_json(std::string* text);
  std::string reads_json();
  std::string unsupported_reason();
  // The steps that are done before what follows on the default stream, and on the current one.
  std::string done_json();
  // What the last call returned, as JSON: "tensor" (the next of the outputs), null, a number,
  // {"list": [...]}, {"tuple": [...]}, {"dict": [[KEY, ...]]}, {"text": ...}.
  const std::string& returned() const { return returned_; }

 private:
  std::string returned_ = "null";
  std::vector<program::Argument> first_arguments_;
};

}  // namespace assay::host
