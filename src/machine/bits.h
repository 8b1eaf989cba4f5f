#pragma once
// Concrete semantics of micro-operations on the bits of a warp's registers: integers, predicates,
// moves, shuffles and votes, and float arithmetic by base/ieee. `all` says that the mask covers
// every lane that is alive, so that the other lanes may be overwritten.
#include <cstdint>

#include "machine/uop.h"
#include "machine/warp.h"

namespace assay::machine {

void bits_alu(Warp& w, const MicroOp& op, uint32_t mask, bool all);
void bits_mad(Warp& w, const MicroOp& op, uint32_t mask, bool all);
void bits_carry(Warp& w, const MicroOp& op, uint32_t mask);
void bits_mov(Warp& w, const MicroOp& op, uint32_t mask, bool all);
void bits_setp(Warp& w, const MicroOp& op, uint32_t mask);
void bits_plogic(Warp& w, const MicroOp& op, uint32_t mask);
void bits_selp(Warp& w, const MicroOp& op, uint32_t mask, bool all);
void bits_pack(Warp& w, const Kernel& k, const MicroOp& op, uint32_t mask, bool all);
void bits_unpack(Warp& w, const Kernel& k, const MicroOp& op, uint32_t mask, bool all);
void bits_isspace(Warp& w, const MicroOp& op, uint32_t mask);
// Warp operations. Lanes outside `mask` take no part; a shuffle from one gives its register's bits.
// `from` (if given): the lane that each lane reads.
void bits_shfl(Warp& w, const MicroOp& op, uint32_t mask, bool all, uint8_t* from = nullptr);
void bits_vote(Warp& w, const MicroOp& op, uint32_t mask);
void bits_match(Warp& w, const MicroOp& op, uint32_t mask, bool all);
void bits_redux(Warp& w, const MicroOp& op, uint32_t mask, bool all);
void bits_elect(Warp& w, const MicroOp& op, uint32_t mask, bool all);

// Executes any of the above that belongs to registers alone; false: op is of another kind.
bool bits_execute(Warp& w, const Kernel& k, const MicroOp& op, uint32_t mask, bool all);

// The scalar behind a generic Alu operation: the same for one lane's bits.
uint64_t bits_scalar(const MicroOp& op, uint64_t a, uint64_t b, uint64_t c, uint64_t d);

// New memory contents of an atomic (PTX ISA 9.7.13.5); operands are bit patterns of the type.
uint64_t atom_apply(AtomFn fn, Ty type, uint64_t old, uint64_t b, uint64_t c);

// Writes 32-bit or 64-bit lanes under a mask.
void write_word(Warp& w, RegRef r, const uint32_t* v, uint32_t mask, bool all);
void write_double(Warp& w, RegRef r, const uint64_t* v, uint32_t mask, bool all);
void write_pred(Warp& w, RegRef r, uint32_t v, uint32_t mask);

inline uint32_t guard_mask(Warp& w, const MicroOp& op, uint32_t mask) {
  if (!op.guard) return mask;
  uint32_t p = *w.reg(op.guard);
  return mask & (op.guard_neg ? ~p : p);
}

}  // namespace assay::machine
