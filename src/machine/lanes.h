#pragma once
// Scalar operations on 32 lanes at once: the fast paths of the concrete semantics, bit for bit
// equal to ieee_apply (tests/unit/machine/lanes_test.cpp). Lane arrays hold uint32_t (types of 32
// bits and less) or uint64_t. A destination may be one of the sources. Compiled twice, for any
// x86-64 and for AVX2 with FMA; the better one is chosen once, at run time.
#include <cstdint>

#include "base/fn.h"

namespace assay::machine {

using LaneFn = void (*)(void* d, const void* a, const void* b, const void* c);
using CmpFn = uint32_t (*)(const void* a, const void* b);  // bit l: lane l compares true

// How the lanes of one access lie in memory.
enum class AddrShape : uint8_t { Uniform, Contiguous, Other };

struct LaneTable {
  LaneFn (*fn)(Fn fn, Ty type, const Mods& mods);          // null: no fast path, use ieee_apply
  CmpFn (*cmp)(Fn fn, Ty type, const Mods& mods);          // likewise
  LaneFn (*mad)(Fn mul, Ty type);                          // d = mul(a, b) + c, mul: IMul, IMulWide
  void (*blend32)(void* d, const void* s, uint32_t mask);  // d = s in the lanes of mask
  void (*blend64)(void* d, const void* s, uint32_t mask);
  void (*select32)(void* d, const void* a, const void* b, uint32_t mask);  // mask ? a : b
  void (*select64)(void* d, const void* a, const void* b, uint32_t mask);
  // out[l] = base[l] + imm; base: uint32_t lanes, wrapping at 32 bits, or uint64_t lanes.
  void (*addr32)(uint64_t* out, const uint32_t* base, uint32_t imm);
  void (*addr64)(uint64_t* out, const uint64_t* base, uint64_t imm);
  AddrShape (*shape)(const uint64_t* addr, uint32_t bytes);    // of all 32 lanes
  AddrShape (*shape32)(const uint32_t* addr, uint32_t bytes);  // likewise, modulo 2^32
  // Lane l: tags[l] == first + l for all 32 lanes.
  bool (*is_run)(const uint64_t* tags, uint64_t first);
};

const LaneTable& lanes();

}  // namespace assay::machine
