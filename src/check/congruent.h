#pragma once
// Results of long reductions that operators of both sides make from the same contents: one symbol
// on both sides, by congruence. What is equal behind these symbols is equal; what is not, may be.
#include <vector>

#include "check/plan.h"

namespace assay::check {

struct CongruentCuts {
  std::vector<Cut> candidate, reference;
  std::vector<SymbolInfo> symbols;  // of the cuts
};

CongruentCuts congruent_cuts(Side& candidate, Side& reference);

}  // namespace assay::check
