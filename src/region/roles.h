#pragma once
// Warp roles: code that only some warps of a CTA run, because a branch asks for the warp's number.
#include <string>
#include <vector>

#include "ptx/cfg.h"
#include "ptx/module.h"

namespace assay::region {

struct Role {
  std::string name;  // "warps by line 57 taken, setmaxnreg 40"
};

struct Roles {
  std::vector<Role> roles;
  std::vector<int32_t> of_block;  // index in roles; -1: all warps
};

// Branches outside loops whose predicate depends on nothing but the thread's index and constants,
// and is the same for the 32 lanes of a warp: each side that has work of its own is a role.
Roles find_roles(const ptx::Module& m, const ptx::Function& f, const ptx::Cfg& cfg);

}  // namespace assay::region
