#pragma once
// Whether two lanes of a trace hold the same value because they were computed in the same way.
#include "machine/trace.h"

namespace assay::machine {

// True: lane `x` of node `a` and lane `y` of node `b` are equal for all inputs, bit for bit. False
// says nothing (they differ in how they were computed, or more than `budget` nodes are involved).
bool same_value(const Trace& t, NodeId a, uint32_t x, NodeId b, uint32_t y, int budget = 512);

}  // namespace assay::machine
