#pragma once
// Where a function starts work that goes on by itself, where it waits, and what each wait is for.
#include <functional>

#include "ptx/cfg.h"
#include "ptx/module.h"
#include "region/map.h"

namespace assay::region {

struct Waits {
  std::vector<Site> sites;
  std::vector<Edge> edges;
};

// `region_of`: of each instruction of the body. Sites of one region that do the same are one.
Waits find_waits(const ptx::Module& m, const ptx::Function& f, const ptx::Cfg& cfg,
                 const std::vector<int32_t>& region_of);

}  // namespace assay::region
