#pragma once
// Answers what python/assay/extension.py asks for: compiles extensions and runs their functions.
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "host/candidate.h"
#include "host/compile.h"

namespace assay::host {

class ExtensionServer {
 public:
  explicit ExtensionServer(const CandidateRequest& request, std::string work_dir)
      : request_(request), work_dir_(std::move(work_dir)) {}

  // One line of JSON to one line of JSON. {"error": {"kind", "message"}} where it fails.
  std::string answer(const std::string& line);

  // Fills in the modules that Python knows by number alone. Errors: Invalid (no such number).
  Status attach_modules(program::Program* p) const;

 private:
  struct Extension {
    std::string name;
    Compiled compiled;
  };
  Result<std::string> compile(const std::string& line);
  Result<std::string> call(const std::string& line);
  std::string shapes();
  Result<int> module_number(size_t extension, program::Module module);

  const CandidateRequest& request_;
  std::string work_dir_;
  std::vector<Extension> extensions_;
  std::vector<std::pair<size_t, program::Module>> modules_;  // of an extension
  double seconds_ = 0;
};

}  // namespace assay::host
