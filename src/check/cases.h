#pragma once
// Equality of two small cones by cases over their comparisons (each difference positive, negative,
// zero), decided in the field; and a bound on the difference of two functions of one variable.
#include <functional>
#include <optional>

#include "term/field_domain.h"
#include "term/terms.h"

namespace assay::check {

using CellFn = std::function<term::FieldDomain::Cell(term::TermId)>;

// The image of one term from those of its arguments.
term::FieldDomain::Cell eval_cell(const term::TermDag& dag, term::FieldDomain& domain,
                                  term::TermId id, const CellFn& arg);

struct CaseRequest {
  const term::TermDag& dag;
  term::FieldDomain& domain;
  const term::Snapper& snapper;
  term::TermId a, b;
  std::function<bool(term::TermId)> is_leaf;
  CellFn image;  // of leaves
  // Wherever the reference is defined, b is computed: a case in which b takes a logarithm or a root
  // of a negative number lies outside of the domain, and a must not.
  bool b_is_defined = false;
};

// True: a = b in every consistent case (an inconsistent one is shown so by Z3). False: not proved.
bool prove_by_cases(const CaseRequest& request);

// max |a - b| / (m + |b| + floor) over the reals, if both cones have the same single leaf and the
// supremum is seen on a dense grid of magnitudes 1e-8 .. 1e8; nothing if there are more leaves.
std::optional<double> bound_unary(const CaseRequest& request, double floor);

}  // namespace assay::check
