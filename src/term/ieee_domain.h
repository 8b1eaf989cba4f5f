#pragma once
// Values in IEEE arithmetic at one concrete input: what a GPU computes, up to its approximate
// functions.
#include <cstdint>

#include "base/fn.h"
#include "machine/trace.h"
#include "term/field.h"
#include "term/input_model.h"
#include "term/store.h"

namespace assay::term {

class IeeeDomain {
 public:
  static constexpr bool kExact = false;    // a product may be fused with a sum
  static constexpr bool kHoldsNan = true;  // NaN is a value, and compares as one
  struct Row {
    alignas(64) uint64_t v[kRow];
    uint32_t undef = 0;
  };
  struct Cell {
    uint64_t v = 0;
    bool undef = false;
  };

  explicit IeeeDomain(const InputModel& inputs) : inputs_(inputs) {}

  void apply(Fn fn, Ty type, const Mods& mods, const Row* a, const Row* b, const Row* c,
             const Row* d, Row& out, uint32_t mask) const;
  void set_bits(uint64_t bits, Row& out) const;
  void set_bits(const uint64_t* bits, Row& out) const;
  void set_number(Ty type, double value, Row& out) const;
  void set_integer(const int64_t* values, Row& out) const;
  void set_undef(uint64_t tag, Row& out) const;
  void symbol(uint64_t symbol, Ty type, const int64_t* elements, uint32_t mask, Row& out) const;
  void lookup(Store<IeeeDomain>& store, int buffer, Ty type, const Row& index, const int64_t* base,
              int64_t lo, int64_t hi, uint32_t mask, Row& out) const;
  void scatter(Store<IeeeDomain>& store, const machine::IndexedOut& x, const Row& index,
               const Row& value, const Row* pred) const;
  void clear(Row& out) const { out.undef = 0; }
  void broadcast(const Row& from, int lane, Row& out) const;
  void fix_type(Ty, Row&, uint32_t) const {}
  Cell cell(const Row& row, int lane, Ty) const {
    return {row.v[lane], ((row.undef >> lane) & 1) != 0};
  }
  void set_lane(Row& row, int lane, const Cell& cell) const;
  static void copy_lane(const Row& from, int from_lane, Row& to, int lane);
  Cell combine(Fn fn, Ty type, const Cell& a, const Cell& b) const;
  uint32_t pc = 0;

 private:
  const InputModel& inputs_;
};

}  // namespace assay::term
