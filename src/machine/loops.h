#pragma once
// Loops that may never end.
#include <cstdint>
#include <vector>

#include "machine/uop.h"

namespace assay::machine {

// Branches that decide how often a loop runs, unless the loop counts: one exit, passed in every
// turn, compares a register that each turn changes by a constant with a bound that no turn changes.
// A slice that keeps these operations ends only if the kernel's control does.
std::vector<uint32_t> open_loop_exits(const Kernel& k);

// No loop reads what may differ from turn to turn though all registers are the same: memory, other
// lanes, clocks, results of barriers. A warp that comes to an earlier state again then never ends.
bool loops_are_closed(const Kernel& k);

}  // namespace assay::machine
