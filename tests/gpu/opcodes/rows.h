#pragma once
// One row for each opcode, type and mode whose concrete meaning base/ieee.h defines: the PTX
// instruction, the scalar operation that it should equal, and a table of operands. The same rows
// make the kernels that a GPU runs (ptx.h), the golden file (golden.h) and the comparisons.
#include <cstdint>
#include <string>
#include <vector>

#include "base/fn.h"

namespace assay::opcodes {

struct Row {
  // Operands are %a %b %c %e, the result %d (or %p, a predicate).
  std::string ptx;
  Fn fn = Fn::Add;
  Ty type = Ty::F32;
  Mods mods;
  std::vector<Ty> operands;  // types of the values fed in, in PTX order
  std::vector<int> order;    // ieee operand i is PTX operand order[i]
  Ty result = Ty::F32;
  // Approximate forms: largest distance of results in units in the last place, or the absolute
  // error where the ISA states one. 0 and 0: every bit.
  double ulps = 0, absolute = 0;
  // Operands outside the range in which the ISA states an error are not compared.
  double lo = 0, hi = 0;  // lo < hi: |a| in [lo, hi]
};

// All rows, in a fixed order.
const std::vector<Row>& rows();

inline constexpr int kTuples = 96;  // operand tuples of each row

// Bit patterns of operand `index` of tuple `t`: corners of the type crossed with one another, then
// random values. Depends on nothing but the arguments.
uint64_t operand(const Row& r, int index, int t);

// Bits that a result of the row occupies (predicates: 1).
uint32_t result_bits(const Row& r);

// The value that base/ieee.h gives.
uint64_t expected(const Row& r, int t);

// Whether a device's result agrees with the expected one; `why` says how far it is off.
bool agrees(const Row& r, int t, uint64_t device, std::string* why);

}  // namespace assay::opcodes
