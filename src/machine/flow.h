#pragma once
// Control and data flow of a decoded kernel: basic blocks, reconvergence points, which operations
// can touch data.
#include <cstdint>
#include <vector>

#include "machine/uop.h"

namespace assay::machine {

// Fills blocks, block_of, MicroOp::{top, reconv, pure} and RegInfo::tainted. A register is tainted
// if it may hold something that was loaded, a float result or a clock, or is written under a branch
// or guard that depends on such a thing; a pure operation has neither a tainted operand nor a
// tainted result and so is concrete in every domain.
//
// floats_are_data: float results and constants count as data (traces keep them as nodes); false:
// only what memory holds does.
void analyse(Kernel& k, bool floats_are_data = true);

// The registers that an operation reads and writes (with guard, vectors, carry).
struct UseDef {
  std::vector<uint32_t> uses, defs;
};
void use_def(const Kernel& k, const MicroOp& op, UseDef& out);

// Blocks between block `b` and its immediate post-dominator, both excluded (all blocks that a path
// from b can reach before it).
std::vector<uint32_t> region(const Kernel& k, uint32_t b);

bool ends_block(const MicroOp& op);

// Which accesses a slice keeps, with everything that their addresses and guards, and whether they
// are reached, depend on. Stores and atomics to global memory are always kept.
struct SliceOptions {
  bool global_loads = true;
  bool shared = true;  // loads, stores and atomics
  bool sync = true;    // barriers and warp synchronisation
  bool loops = false;  // branches of loops that may never end (loops.h)
};
// The kernel without operations that nothing kept needs. Branches that decide nothing kept become
// jumps to their post-dominator, so that loops without kept operations vanish (with `loops`: only
// loops that end). Loads whose result
// is not needed and stores whose data is not read again keep only the access (MicroOp::value).
Kernel slice(const Kernel& k, const SliceOptions& options);

// Registers that are live at the start of each block.
class Liveness {
 public:
  explicit Liveness(const Kernel& k);
  bool live_in(uint32_t block, uint32_t reg) const {
    return (in_[block * words_ + reg / 64] >> (reg % 64)) & 1;
  }

 private:
  size_t words_ = 0;
  std::vector<uint64_t> in_;
};

}  // namespace assay::machine
