#pragma once
// What the region map needs to know of a PTX function beyond its graph: classes, source chains,
// copies made by unrolling.
#include <vector>

#include "ptx/cfg.h"
#include "ptx/module.h"
#include "region/map.h"

namespace assay::region {

Class ptx_class(const ptx::Instr& i);
// A lane's; 0: no access.
uint32_t ptx_access_bytes(const ptx::Function& f, const ptx::Instr& i);

// By `.loc`; empty: there is none, or it is line 0.
Chain ptx_chain(const ptx::Module& m, const ptx::Instr& i);

// A key that equal operations of unrolled copies share; 0 for those that copies share or lose
// (address arithmetic, moves, parameters).
uint64_t copy_key(const ptx::Instr& i);

using CopyKeys = std::vector<uint64_t>;  // in program order, of one statement in one loop

// How often the code repeats: the largest number that divides how often each key occurs; 1 where a
// single key alone would say so.
uint32_t count_copies(const CopyKeys& keys);
// `others` if the only key of these occurs a multiple of so many times, else 1.
uint32_t fitting_copies(const CopyKeys& keys, uint32_t others);
// With `copies` of them, in which each of `keys` is; 0 keys go with the one before.
std::vector<uint32_t> assign_copies(const CopyKeys& keys, uint32_t copies);

}  // namespace assay::region
