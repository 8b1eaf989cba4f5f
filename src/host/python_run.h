#pragma once
// Runs a module of python/assay, confined: what it loads (ref.py, a KernelBench program) is foreign
// code.
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "host/process.h"

namespace assay::host {

struct PythonRun {
  std::string who;                     // "the reference": subject of messages
  std::string path;                    // the foreign file, for messages
  std::vector<std::string> arguments;  // of the interpreter, from "-m" on
  double wall_seconds = 120;
  uint64_t memory_bytes = 8ull << 30;
  std::function<std::string(const std::string&)> answer;  // ProcessSpec::answer
};

struct PythonAnswer {
  std::string text;                  // what the module wrote behind its first line
  std::vector<std::string> missing;  // mechanisms of confinement that this kernel lacks
  bool keep = false;                 // its first line: the answer may be kept
  bool succeeded = false;            // exit code 0
};

// Errors: Limit (time, memory, threads), Invalid (the foreign code ended the process, crashed), Io.
Result<PythonAnswer> run_python(const PythonRun& run, const std::filesystem::path& work);

// The same without confinement, for modules that run no foreign code.
Result<ProcessResult> run_own_python(const PythonRun& run, const std::filesystem::path& work,
                                     size_t max_result);

// The interpreter itself: what stands in PATH may be a script that starts it (pyenv), and a
// confined process starts no other.
const std::string& python_interpreter();

// The end of a process's output as part of a message; "" where it printed nothing.
std::string printed(const std::string& output);

}  // namespace assay::host
