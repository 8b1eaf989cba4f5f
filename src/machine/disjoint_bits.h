#pragma once
// Integers whose set bits never meet: `or` and `xor` of such are a sum.
#include "machine/trace_builder.h"

namespace assay::machine {

// In every lane, and for every value of the data, no bit is set in both.
bool disjoint_bits(const TraceBuilder& b, NodeId x, NodeId y);

}  // namespace assay::machine
