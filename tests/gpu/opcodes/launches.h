#pragma once
// Launches that a device accepts or refuses, to check machine/device.h against a real one.
#include <string>
#include <vector>

#include "machine/device.h"

namespace assay::opcodes {

struct LaunchProbe {
  std::string name;
  std::string entry;  // in launch_module_text()
  machine::LaunchRequest request;
  bool set_max_dynamic = false;  // the attribute is set to request.max_dynamic_shared before
};

const std::vector<LaunchProbe>& launch_probes();
std::string launch_module_text();

}  // namespace assay::opcodes
