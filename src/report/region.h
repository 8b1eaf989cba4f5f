#pragma once
// Region maps and their comparison as text and as JSON (docs/region_map.md).
#include <string>

#include "measure/diff.h"
#include "region/map.h"
#include "report/report.h"

namespace assay::report {

inline constexpr int kRegionSchemaVersion = 1;

struct RegionTextOptions {
  TextOptions text;
  std::string kernel;  // only functions whose name holds this; "": all
  bool code = false;   // every machine instruction below its region
};

std::string text(const region::RegionMap& map, const RegionTextOptions& options);
// `code`: with every machine instruction.
std::string json(const region::RegionMap& map, bool code);

std::string text(const measure::Diff& diff, const TextOptions& options);
std::string json(const measure::Diff& diff);

}  // namespace assay::report
