#pragma once
// Locations whose formulas are the same up to the names of their inputs: what is proved or bounded
// for one holds for all of them.
#include <vector>

#include "check/outputs.h"
#include "check/plan.h"

namespace assay::check {

// Groups of positions of one output, each ascending, in the order of their first members. Two are
// alike if a renaming of input elements (one to one, same type and range) turns the pair of
// expressions (candidate, reference) of one into that of the other. The plans must cover all
// positions. Cones too large for expressions, or indexed by data, stand alone. Throws Late.
std::vector<Positions> alike(const Side& candidate, const Plan& c_plan, const Side& reference,
                             const Plan& r_plan, const OutputPair& pair,
                             const Positions& positions);

}  // namespace assay::check
