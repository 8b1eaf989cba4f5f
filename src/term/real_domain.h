#pragma once
// Values over the reals (in f64) at one concrete input, with the condition scale m of
// check_engine.md D2: m(input) = |x|; sums add m; |a| m_b + |b| m_a for products; |f'| m + |f|.
#include <cstdint>
#include <functional>

#include "base/fn.h"
#include "machine/trace.h"
#include "term/field.h"
#include "term/input_model.h"
#include "term/snap.h"
#include "term/store.h"

namespace assay::term {

class RealDomain {
 public:
  static constexpr bool kExact = false;  // a product may be fused with a sum
  static constexpr bool kHoldsNan = false;
  struct Row {
    alignas(64) double v[kRow];
    alignas(64) double m[kRow];
    uint32_t raw = 0, undef = 0;
  };
  struct Cell {
    double v = 0, m = 0;
    bool undef = false;
  };

  RealDomain(const InputModel& inputs, const Snapper& snapper)
      : inputs_(inputs), snapper_(snapper) {}

  void apply(Fn fn, Ty type, const Mods& mods, const Row* a, const Row* b, const Row* c,
             const Row* d, Row& out, uint32_t mask);
  void set_bits(uint64_t bits, Row& out) const;
  void set_bits(const uint64_t* bits, Row& out) const;
  void set_number(Ty type, double value, Row& out) const;
  void set_integer(const int64_t* values, Row& out) const;
  void set_undef(uint64_t tag, Row& out) const;
  void symbol(uint64_t symbol, Ty type, const int64_t* elements, uint32_t mask, Row& out) const;
  void lookup(Store<RealDomain>& store, int buffer, Ty type, const Row& index, const int64_t* base,
              int64_t lo, int64_t hi, uint32_t mask, Row& out);
  void scatter(Store<RealDomain>& store, const machine::IndexedOut& x, const Row& index,
               const Row& value, const Row* pred);
  void clear(Row& out) const { out.raw = out.undef = 0; }
  void broadcast(const Row& from, int lane, Row& out) const;
  void fix_type(Ty type, Row& row, uint32_t mask) const;
  Cell cell(const Row& row, int lane, Ty type) const;
  void set_lane(Row& row, int lane, const Cell& cell) const;
  static void copy_lane(const Row& from, int from_lane, Row& to, int lane);
  Cell combine(Fn fn, Ty type, const Cell& a, const Cell& b);

  // Comparison seen on the way: values, scale, and place; for the margin rule and boundary search.
  std::function<void(uint32_t pc, Fn fn, double a, double b, double scale)> on_compare;
  uint32_t pc = 0;
  uint64_t undefined = 0;  // operations outside their domain (log of a negative number, 1/0, ...)
  // Finite operands, infinite result (poles aside); or 0 where the real result is not.
  uint64_t overflowed = 0;

 private:
  const Row& typed(const Row& in, Ty type, Row& scratch, uint32_t mask) const;
  double literal(Ty type, uint64_t bits) const;
  const InputModel& inputs_;
  const Snapper& snapper_;
};

// fn over the reals in f64 (a, b, c finite or infinite); NaN where undefined.
double real_fn(Fn fn, const Mods& mods, double a, double b, double c);
// A function of one float whose slope is 0 wherever it has one: floor, round, to integer.
bool is_step(Fn fn);

}  // namespace assay::term
