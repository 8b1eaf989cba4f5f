#pragma once
// Long sums: two expressions are brought to linear forms, what both have is cancelled, and the rest
// falls apart into groups of summands that share inputs. Groups that are the same up to the names
// of their inputs are proved once, by cases over their comparisons.
#include "check/side.h"
#include "term/field_domain.h"
#include "term/snap.h"
#include "term/terms.h"

namespace assay::check {

// True: candidate = reference wherever the reference is defined. False: not proved; dag has terms
// more. Where the candidate takes a logarithm, a root or a quotient that the reference does not,
// its definedness is a question of its own (engine: definedness). Throws Late.
bool equal_by_summands(term::TermDag& dag, const term::FieldDomain::Settings& settings,
                       const term::Snapper& snapper, const std::vector<SymbolInfo>& symbols,
                       term::TermId candidate_root, term::TermId reference_root);

}  // namespace assay::check
