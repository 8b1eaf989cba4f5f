#pragma once
// Expressions of single lanes: a hash-consed DAG, and the domain that builds it. Used for small
// cones only (sweeping, reports): one node a lane operation.
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/fn.h"
#include "machine/trace.h"
#include "term/field.h"
#include "term/snap.h"
#include "term/store.h"

namespace assay::term {

using TermId = uint32_t;

struct Term {
  enum class Kind : uint8_t { Symbol, Number, Integer, Apply, Select, Undef } kind = Kind::Apply;
  Fn fn = Fn::Add;
  Ty type = Ty::F32;
  Mods mods;
  TermId arg[4] = {0, 0, 0, 0};
  uint64_t symbol = 0;  // Symbol, Undef (tag)
  int64_t element = 0;  // Symbol; Integer: the value
  double value = 0;     // Number (of `type`, before snapping)
  uint32_t pc = 0;      // where it was first made (traces)
};

class TermDag {
 public:
  TermDag() : terms_(1) {}
  TermId symbol(uint64_t symbol, Ty type, int64_t element);
  TermId number(Ty type, double value);
  TermId integer(int64_t value);
  TermId undef(uint64_t tag);
  TermId apply(Fn fn, Ty type, const Mods& mods, const TermId* args, int count, uint32_t pc);
  const Term& operator[](TermId id) const { return terms_[id]; }
  size_t size() const { return terms_.size(); }
  // Infix text with at most `limit` nodes; names gives a text for cut terms ("" if not cut).
  std::string text(TermId id, const std::unordered_map<TermId, std::string>& names,
                   int limit = 40) const;

 private:
  TermId intern(const Term& t);
  // 0: as it stands.
  TermId constant_last(Fn fn, Ty type, const Mods& mods, const TermId* args, uint32_t pc);
  std::vector<Term> terms_;  // terms_[0] is a dummy
  // Open addressing: ids by hash, 0 where free; a power of two, at most half full.
  std::vector<TermId> index_ = std::vector<TermId>(64, 0);
};

class TermDomain {
 public:
  static constexpr bool kExact = false;  // a product may be fused with a sum
  static constexpr bool kHoldsNan = false;
  struct Row {
    uint64_t t[kRow];  // term ids; raw lanes: bits
    uint32_t raw = 0, undef = 0;
  };
  struct Cell {
    TermId t = 0;
  };
  // max_terms: beyond it, `overflow` is set and results are meaningless.
  TermDomain(TermDag& dag, size_t max_terms) : dag_(dag), max_terms_(max_terms) {}

  void apply(Fn fn, Ty type, const Mods& mods, const Row* a, const Row* b, const Row* c,
             const Row* d, Row& out, uint32_t mask);
  void set_bits(uint64_t bits, Row& out) const;
  void set_bits(const uint64_t* bits, Row& out) const;
  void set_number(Ty type, double value, Row& out);
  void set_integer(const int64_t* values, Row& out);
  void set_undef(uint64_t tag, Row& out);
  void symbol(uint64_t symbol, Ty type, const int64_t* elements, uint32_t mask, Row& out);
  void lookup(Store<TermDomain>& store, int buffer, Ty type, const Row& index, const int64_t* base,
              int64_t lo, int64_t hi, uint32_t mask, Row& out);
  void scatter(Store<TermDomain>& store, const machine::IndexedOut& x, const Row& index,
               const Row& value, const Row* pred);
  void clear(Row& out) const { out.raw = out.undef = 0; }
  void broadcast(const Row& from, int lane, Row& out) const;
  void fix_type(Ty type, Row& row, uint32_t mask);
  Cell cell(const Row& row, int lane, Ty type);
  void set_lane(Row& row, int lane, const Cell& cell) const;
  static void copy_lane(const Row& from, int from_lane, Row& to, int lane);
  Cell combine(Fn fn, Ty type, const Cell& a, const Cell& b);

  uint32_t pc = 0;
  bool overflow = false;

 private:
  TermId lane_term(const Row& row, int lane, Ty type);
  TermDag& dag_;
  size_t max_terms_;
};

}  // namespace assay::term
