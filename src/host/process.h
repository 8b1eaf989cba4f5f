#pragma once
// Child processes: started without a shell, in a process group of their own, with a wall-clock
// limit and capped output; the whole group is killed at the limit.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace assay::host {

struct ProcessSpec {
  std::vector<std::string> argv;
  std::string input;             // given on standard input
  std::string cwd;               // "": the caller's
  std::vector<std::string> env;  // "NAME=value" set or replaced; "NAME": removed
  bool clean_env = false;        // start from nothing instead of the caller's environment
  double wall_seconds = 120;
  size_t max_output = 1 << 20;  // of standard output and error together; more is dropped
  size_t max_result = 0;        // > 0: descriptor 3 is a pipe, read up to this many bytes
  uint64_t max_resident = 0;    // > 0: the process is killed when it holds more bytes of memory
  uint64_t max_threads = 0;     // > 0: likewise, threads
  // Called with each line on descriptor 3 that starts with "ask ", without that word. What it
  // returns is written to standard input, a line. Such lines are no part of `result`, and the time
  // that it takes counts for no limit.
  std::function<std::string(const std::string&)> answer;
};

struct ProcessResult {
  int exit_code = -1;  // if it exited
  int signal = 0;      // if it was killed
  bool timed_out = false;
  bool result_too_long = false;
  bool too_much_memory = false, too_many_threads = false;
  std::string output;  // standard output and error, interleaved
  std::string result;  // what came on descriptor 3
  double seconds = 0;
};

// Errors: Io (cannot start).
Result<ProcessResult> run_process(const ProcessSpec& spec);

}  // namespace assay::host
