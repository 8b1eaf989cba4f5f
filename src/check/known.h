#pragma once
// What the host alone has put into a buffer: constant tables, and what it copies there
// (cudaMemcpyToSymbol) or fills in before a launch.
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "program/program.h"

namespace assay::check {

// Does a step before `step` write the buffer? Launches may write whatever they point to, and the
// variables of their module but for const_symbols, the buffers of those in constant memory.
bool written_before(const program::Program& p, int buffer, size_t step,
                    const std::set<int>& const_symbols);

// The bytes of a buffer before step `step`; nothing where some are not known, or are too many.
std::optional<std::vector<uint8_t>> known_contents(const program::Program& p, int buffer,
                                                   size_t step, const std::set<int>& const_symbols);

}  // namespace assay::check
