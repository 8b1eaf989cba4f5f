#pragma once
// CTAs that do the same but for where in global memory they do it. One CTA is run; beside the bits
// of a register stands by how much it grows from one CTA to the next along an axis of the grid.
#include <cstdint>
#include <vector>

#include "machine/run.h"

namespace assay::machine {

// How many CTAs from `first` (linear) on along `axis` of the grid, at most `count`, are alike: all
// go the same way with the same values, but that the address of an access to global memory may grow
// by the same number of bytes from each CTA to the next (a number for each access and lane). Their
// accesses are whole: each lies in one area, aligned, wherever its address is known, and an area
// that the launch stores to is moved through at one speed, so that what is read of it is what was
// stored there. Data are symbols: the same function of what is read. Never 0.
// Errors: Unsupported (a value that depends on the CTA in another way, branches on data, atomics on
// global memory, cooperative launches, clusters), Limit.
Result<uint64_t> ctas_alike(const Kernel& kernel, const Launch& launch,
                            const std::vector<BufferEnv>& env, uint64_t first, uint32_t axis,
                            uint64_t count);

}  // namespace assay::machine
