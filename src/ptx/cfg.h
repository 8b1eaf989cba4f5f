#pragma once
// Control-flow graph of a function's body: basic blocks, orders, dominators, post-dominators
// (reconvergence points), natural loops; and which registers an instruction reads and writes.
// Everything is near-linear in the size of the body.
#include <cstdint>
#include <vector>

#include "ptx/module.h"

namespace assay::ptx {

struct Block {
  uint32_t first = 0, end = 0;  // instructions [first, end)
  std::vector<uint32_t> succs;  // blocks, or Cfg::exit(); a taken branch's targets come first
  std::vector<uint32_t> preds;
  // Immediate dominator; kNone for the entry and for unreachable blocks.
  int32_t idom = kNone;
  // Immediate post-dominator: a block or Cfg::exit(). A block from which no path leads to the end
  // (an endless loop) has exit().
  uint32_t ipdom = 0;
  int32_t loop = kNone;  // innermost loop, an index in Cfg::loops
  bool reachable = false;
};

// A natural loop: the blocks that reach a latch without passing the header.
struct Loop {
  uint32_t header = 0;
  int32_t parent = kNone;
  uint32_t depth = 1;             // 1: outermost
  std::vector<uint32_t> latches;  // blocks with an edge back to the header
};

struct Cfg {
  std::vector<Block> blocks;       // block 0 is the entry; none for an empty body
  std::vector<uint32_t> rpo;       // reachable blocks in reverse postorder
  std::vector<uint32_t> block_of;  // of each instruction
  std::vector<Loop> loops;         // outer before inner
  bool reducible = true;           // false: some cycle has two entries

  uint32_t exit() const { return static_cast<uint32_t>(blocks.size()); }
  bool in_loop(uint32_t block, int32_t loop) const;
  // First instruction at which the threads of a branch at `instr` meet again; body.size(): at the
  // end of the function.
  uint32_t reconvergence(uint32_t instr) const;
};

Cfg build_cfg(const Function& f);

// Registers an instruction reads (with its guard, address bases, elements) and writes. Written
// registers of a guarded instruction keep their old value where the guard is false. For rows whose
// operands are free the first operand's registers count as written and read.
struct DefUse {
  std::vector<int32_t> defs, uses;
  bool reads_carry = false, writes_carry = false;  // CC.CF of extended-precision arithmetic
};
void def_use(const Function& f, const Instr& i, DefUse* out);  // out is emptied first

// Ends a path (if not guarded): ret, exit, trap.
bool is_terminator(Op op);

}  // namespace assay::ptx
