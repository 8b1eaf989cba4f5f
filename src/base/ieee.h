#pragma once
// The IEEE 754 / PTX meaning of every Fn on bit patterns, the single concrete semantics of the
// project: the virtual GPU's concrete domain, constant folding and the IEEE evaluator call it.
// Sources: PTX ISA sections 9.7.1 to 9.7.5 and 9.7.9 (cvt); math functions that nvcc keeps as calls
// are correctly rounded as far as a wider libm evaluation gives it.
#include <cstdint>

#include "base/fn.h"

namespace assay {

// out[l] = fn(a[l], b[l], c[l], d[l]) for l < n. Operands and results are zero-extended bit
// patterns of `type` (or Mods::type2 for conversions' sources); predicates are 0 or 1; unused
// operands may be null; `out` may be one of the operands. IMulWide: result twice as wide.
// Comparisons of packed pairs: bit 0 is the low half's result, bit 1 the high half's. Class R
// operations on integer types are the integer operations. A combination without meaning (see
// ieee_defined) gives zeros.
void ieee_apply(Fn fn, Ty type, const Mods& mods, const uint64_t* a, const uint64_t* b,
                const uint64_t* c, const uint64_t* d, uint64_t* out, int n);

// Whether (fn, type, mods) has a meaning: false for Sqrt on u32, Prmt on b64 and the like.
bool ieee_defined(Fn fn, Ty type, const Mods& mods);

inline uint64_t ieee_apply1(Fn fn, Ty type, const Mods& mods, uint64_t a, uint64_t b = 0,
                            uint64_t c = 0, uint64_t d = 0) {
  uint64_t out = 0;
  ieee_apply(fn, type, mods, &a, &b, &c, &d, &out, 1);
  return out;
}

// Bit pattern <-> double (exact for F16, BF16, F32, F64; rounding to `type` by `round`).
double ieee_to_double(Ty type, uint64_t bits);
uint64_t ieee_from_double(Ty type, double value, Round round = Round::Rn);

}  // namespace assay
