#pragma once
// Internal to affine*.cpp: integers that grow by a constant step from CTA to CTA.
#include <cstdint>

#include "machine/uop.h"

namespace assay::machine {

using Wide = __int128;

// One lane of a register: in CTA k of the run, value + k * slope modulo the register's width.
struct Line {
  Wide value = 0;     // as an integer of the type that it is read in; nothing if unknown
  int64_t slope = 0;  // the same in every type of that width
  bool unknown = false;
};

// CTAs 0 .. count - 1 of the run. What is asked of all of them may leave fewer, never none.
struct CtaSpan {
  uint64_t count = 1;
};

// A register's bits as an integer of a type.
Wide integer(uint64_t bits, Ty type);
// The type in which operand i of an Alu or Mad operation is read.
Ty operand_type(const MicroOp& op, size_t i);

// Leaves CTAs in which value + k * slope lies in [least, most]; false: CTA 0 is not one.
bool stay(Wide value, Wide slope, Wide least, Wide most, CtaSpan* run);
// Leaves CTAs in which x and y compare as in CTA 0; false: not known.
bool same_order(const Line& x, const Line& y, Ty type, CtaSpan* run);
// The slope of the result of an Alu or Mad operation on integers, for which CTAs may be left out;
// false: it does not grow by a constant step, or that is not known.
bool slope_of(const MicroOp& op, const Line* x, CtaSpan* run, int64_t* slope);

}  // namespace assay::machine
