#pragma once
// Z3 behind one question: can these order constraints between terms hold together? (z3 only here)
#include <functional>
#include <vector>

#include "term/terms.h"

namespace assay::term {

struct OrderConstraint {
  TermId a, b;
  int sign;  // of a - b: -1, 0, 1
};
enum class Feasible : uint8_t { No, Yes, Unknown };

// Leaves are free reals; functions without a theory are uninterpreted (exp is positive).
Feasible feasible(const TermDag& dag, const std::vector<OrderConstraint>& constraints,
                  const std::function<bool(TermId)>& is_leaf, const Snapper& snapper,
                  unsigned timeout_ms);

}  // namespace assay::term
