#pragma once
// From a file to its region map: .cu (also a PyTorch extension), .ptx, .cubin.
#include <string>
#include <vector>

#include "region/map.h"

namespace assay::measure {

struct LoadRequest {
  std::string path;
  std::string arch;                // "sm_90a"; "": that of PTX text, sm_90a for a .cu
  std::vector<std::string> flags;  // for nvcc
  std::string ptx;                 // PTX text file that a cubin was made of; "": the embedded one
  std::string regions;             // regions.toml; ""
  uint32_t threads = 0;            // of a CTA, for occupancy; 0: bounds of the kernel, or several
  double wall_seconds = 180;
};

// Errors: Io, those of compiling, of the cubin and its line tables, of regions.toml.
Result<region::RegionMap> load_map(const LoadRequest& request);

}  // namespace assay::measure
