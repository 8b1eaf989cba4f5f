#pragma once
// Immediate dominators of a graph by the semi-NCA algorithm (Georgiadis), without recursion.
#include <cstdint>
#include <vector>

namespace assay::ptx {

// succs[v] are the successors of vertex v. Result: idom[v], -1 for the root and for vertices that
// the root does not reach.
std::vector<int32_t> dominators(const std::vector<std::vector<uint32_t>>& succs, uint32_t root);

}  // namespace assay::ptx
