#pragma once
// From a cubin, its PTX and its machine instructions to the region map.
#include <memory>
#include <optional>

#include "ptx/module.h"
#include "region/map.h"

namespace assay::region {

struct BuildInput {
  const elf::Cubin* cubin = nullptr;
  std::string file;                   // names the cubin in diagnostics
  const ptx::Module* ptx = nullptr;   // nullptr: none; its lines are those of .nv_debug_line_sass
  const Disassembly* sass = nullptr;  // nullptr: none
};

// Kernels only come out empty where the cubin has none. Errors: those of the line tables.
Result<RegionMap> build_map(const BuildInput& input);

}  // namespace assay::region
