#pragma once
// Runs python/assay/export.py on a ref.py. That is foreign code as host functions are: it runs
// confined (no network, no processes, no writes outside a temporary folder; memory, threads and
// time are limited). What was exported is kept by content.
#include <string>
#include <vector>

#include "base/result.h"

namespace assay::host {

struct ReferenceRequest {
  std::string path;  // ref.py
  bool eval = false;
  bool inputs_only = false;  // the arguments alone
  int altered = 0;           // further shapes
  std::string shapes;        // "NAME=N,...": module-level integers
  std::string function = "module_fn";
  int64_t seed = 42;
  double wall_seconds = 120;
  uint64_t memory_bytes = 8ull << 30;
};

struct ExportedReference {
  std::string json;                  // program::set_from_json reads it; it may hold an error
  std::vector<std::string> missing;  // mechanisms of confinement that this kernel lacks
  bool from_cache = false;
};

// Errors: Limit (time, memory, threads), Invalid (it ended the process, crashed), Io (no Python).
Result<ExportedReference> export_reference(const ReferenceRequest& request);

}  // namespace assay::host
