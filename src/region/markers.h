#pragma once
// Names that people give to regions. They rename and merge, and never change the map or the code:
//   ASSAY_REGION("name");  in CUDA C++ (assay/region.h): from there to the end of the scope
//   regions.toml:  [[region]] name = "load", lines = ["mm.cu:10-13"], text = ["sa["]
#include "region/map.h"

namespace assay::region {

// Sets Region::label. `toml`: path of regions.toml; "": none. Errors: Io, Syntax, Invalid (a range
// that is none), with their line.
Status apply_markers(const std::string& toml, RegionMap* map);

// A named scope in a source text, 1-based lines, both inside.
struct Scope {
  std::string name;
  uint32_t first = 0, last = 0;
};
// Strings, characters and comments are passed over.
std::vector<Scope> marked_scopes(const std::vector<std::string>& lines);

}  // namespace assay::region
