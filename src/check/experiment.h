#pragma once
// Concrete inputs: a seed, a distribution for each symbol, sparse overrides. Values are
// Philox4x32-10 numbers mapped by exact operations and rounded to the symbol's type, so that a
// script can make them again (DESIGN.md, witness).
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "check/side.h"
#include "check/verdict.h"
#include "program/philox.h"
#include "term/input_model.h"

namespace assay::check {

using program::Draw;

class Experiment : public term::InputModel {
 public:
  Experiment(const std::vector<SymbolInfo>& symbols, uint64_t seed);

  static Experiment from_witness(const std::vector<SymbolInfo>& symbols, const program::Witness& w);
  void set_all(const Draw& draw);  // of the float symbols
  void set(uint64_t symbol, const Draw& draw) {
    id_ = next_id();
    draws_[symbol] = draw;
  }
  void override_value(uint64_t symbol, int64_t element, double value);
  const Draw& draw_of(uint64_t symbol) const { return draws_.at(symbol); }
  bool has(uint64_t symbol) const { return draws_.count(symbol) != 0; }

  void values(uint64_t symbol, Ty type, const int64_t* elements, uint32_t mask,
              double* out) const override;
  double value(uint64_t symbol, int64_t element) const;
  Witness witness() const;
  // The same with negative floats folded to positive ones; nothing if there are none. For
  // references that are defined on positive inputs alone (logarithms, roots).
  std::optional<Experiment> folded() const;
  std::string name;  // what it tries, for reports

 private:
  struct Block;
  Block* block(uint64_t symbol, int64_t element) const;
  void draw(uint64_t symbol, const SymbolInfo& info, int64_t first, size_t count,
            double* out) const;
  double drawn(uint64_t symbol, int64_t element, const SymbolInfo& info) const;
  void drawn_run(uint64_t symbol, int64_t first, int count, const SymbolInfo& info,
                 double* out) const;
  static uint64_t next_id();
  uint64_t id_ = next_id();  // of seed and draws: copies share it, a new draw changes it
  const std::vector<SymbolInfo>& symbols_;
  std::unordered_map<uint64_t, const SymbolInfo*> info_;
  uint64_t seed_;
  std::unordered_map<uint64_t, Draw> draws_;
  std::map<std::pair<uint64_t, int64_t>, double> overrides_;
};

// The structured experiments of check_engine.md D9, in order: signs, scales, ties, boundaries,
// one-hots at `suspects` (elements that only one side reads), non-default parameters.
struct Suspect {
  uint64_t symbol = 0;
  int64_t element = 0;
};
// `spots`: elements of the location's cone that get spikes.
std::vector<Experiment> structured_experiments(const std::vector<SymbolInfo>& symbols,
                                               const std::vector<Suspect>& suspects,
                                               const std::vector<Suspect>& spots,
                                               const std::vector<double>& boundaries,
                                               uint64_t seed);

}  // namespace assay::check
