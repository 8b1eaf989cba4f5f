#pragma once
// Locations whose formulas are the same up to the names of their inputs: what is proved or bounded
// for one holds for all of them.
#include <map>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "check/outputs.h"
#include "check/plan.h"
#include "term/terms.h"

namespace assay::check {

// Reads expressions in one order, names every term by the time of its first visit, and hashes what
// it sees: equal keys (128 bits) are equal expressions up to a renaming of input elements that is
// one to one and keeps their types and ranges.
class FormulaReader {
 public:
  using Key = std::pair<uint64_t, uint64_t>;
  FormulaReader(const term::TermDag& dag, const std::vector<SymbolInfo>& symbols);
  // False: some part has no name that could be changed.
  bool read(std::span<const term::TermId> roots, Key* key);  // throws Late
  uint64_t visits() const { return visits_; }                // terms read so far

 private:
  bool visit(term::TermId id);
  void add(uint64_t x);
  const term::TermDag& dag_;
  std::unordered_map<uint64_t, uint64_t> kinds_;  // of the inputs
  std::unordered_map<term::TermId, uint64_t> names_;
  std::vector<term::TermId> stack_;
  Key hash_;
  uint64_t visits_ = 0;
  DeadlineCheck late_;
};

// Groups of positions of one output, each ascending, in the order of their first members. Two are
// alike if a renaming of input elements (one to one, same type and range) turns the pair of
// expressions (candidate, reference) of one into that of the other. Cones too large for
// expressions, or indexed by data, stand alone, and so do those that come after as much as is worth
// reading was read.
class AlikeGroups {
 public:
  // symbols: what the plans start from; it must outlive this.
  AlikeGroups(const Side& candidate, const Side& reference, const OutputPair& pair,
              const std::vector<SymbolInfo>& symbols)
      : candidate_(candidate), reference_(reference), pair_(pair), symbols_(symbols) {}
  // The plans must cover the positions. False: too many for one look; none was added. Throws Late.
  bool add(const Plan& c_plan, const Plan& r_plan, std::span<const int64_t> positions);
  void add_alone(int64_t position) { groups_.push_back({position}); }
  std::vector<Positions> take() { return std::move(groups_); }

 private:
  const Side& candidate_;
  const Side& reference_;
  const OutputPair& pair_;
  const std::vector<SymbolInfo>& symbols_;
  std::vector<Positions> groups_;
  std::map<FormulaReader::Key, size_t> known_;
  uint64_t visits_ = 0;
};

}  // namespace assay::check
