#pragma once
// Intervals that hold for all inputs: used to discharge definedness obligations (a denominator that
// is never 0, a radicand that is never negative).
#include <cmath>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/fn.h"
#include "machine/trace.h"
#include "term/field.h"
#include "term/store.h"

namespace assay::term {

class IntervalDomain {
 public:
  static constexpr bool kExact = false;  // a product may be fused with a sum
  static constexpr bool kHoldsNan = false;
  struct Row {
    alignas(64) double lo[kRow];
    alignas(64) double hi[kRow];
    uint32_t raw = 0, undef = 0;  // raw: lo holds bits
  };
  struct Cell {
    double lo = -INFINITY, hi = INFINITY;
  };

  void apply(Fn fn, Ty type, const Mods& mods, const Row* a, const Row* b, const Row* c,
             const Row* d, Row& out, uint32_t mask);
  void set_bits(uint64_t bits, Row& out) const;
  void set_bits(const uint64_t* bits, Row& out) const;
  void set_number(Ty type, double value, Row& out) const;
  void set_integer(const int64_t* values, Row& out) const;
  void set_undef(uint64_t, Row& out) const;
  void set_range(uint64_t symbol, double lo, double hi) { ranges_[symbol] = {lo, hi}; }
  void symbol(uint64_t symbol, Ty type, const int64_t* elements, uint32_t mask, Row& out) const;
  void lookup(Store<IntervalDomain>&, int, Ty, const Row&, const int64_t*, int64_t, int64_t,
              uint32_t, Row& out) const {
    set_undef(0, out);
  }
  void scatter(Store<IntervalDomain>&, const machine::IndexedOut&, const Row&, const Row&,
               const Row*) {}
  void clear(Row& out) const { out.raw = out.undef = 0; }
  void broadcast(const Row& from, int lane, Row& out) const;
  void fix_type(Ty type, Row& row, uint32_t mask) const;
  Cell cell(const Row& row, int lane, Ty type) const;
  void set_lane(Row& row, int lane, const Cell& cell) const;
  static void copy_lane(const Row& from, int from_lane, Row& to, int lane);
  Cell combine(Fn fn, Ty type, const Cell& a, const Cell& b);

  // Program counters (traces) at which a denominator may be 0, a logarithm's argument non-positive,
  // a radicand negative. Partial functions elsewhere are total on the domain.
  std::unordered_map<uint32_t, bool> may_fail;
  uint32_t pc = 0;

 private:
  const Row& typed(const Row& in, Ty type, Row& scratch, uint32_t mask) const;
  std::unordered_map<uint64_t, std::pair<double, double>> ranges_;
};

}  // namespace assay::term
