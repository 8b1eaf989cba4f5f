// Locations whose images differ only behind results that both sides have by the same operators:
// settled for all values of those results, where a proof or a bound needs no more.
#include "check/alike.h"
#include "check/shape_check.h"

namespace assay::check {

// What is settled leaves `open`. Free symbols in place of the results allow more values than there
// are, so what holds for them holds; what does not is left to the whole formulas.
void ShapeCheck::settle_behind_cuts(size_t k, Positions& open) {
  if (open.size() < 2 || congruent().candidate.empty()) return;
  PlanRequest c_request, r_request;
  c_request.cuts = congruent().candidate;
  r_request.cuts = congruent().reference;
  const auto plans_of = [&](const Positions& at, bool candidate) {
    return make_plan(candidate ? candidate_ : reference_,
                     wants_of(pairs_, only(k, at), candidate), candidate ? c_request : r_request);
  };
  std::vector<SymbolInfo> symbols = reference_.symbols;
  symbols.insert(symbols.end(), congruent().symbols.begin(), congruent().symbols.end());
  AlikeGroups groups(candidate_, reference_, pairs_[k], symbols);
  {
    const auto c_plan = plans_of(open, true), r_plan = plans_of(open, false);
    if (!c_plan || !r_plan || !groups.add(*c_plan, *r_plan, open)) return;
  }
  const Tolerance tolerance =
      tolerance_of(pairs_[k].reference.dtype, options_.rtol, options_.atol);
  std::optional<size_t> said;  // approximations are one result
  Positions rest;
  int failures = 0;  // in a row
  for (const Positions& group : groups.take()) {
    constexpr int kMaxFailures = 3;
    LocalResult local;
    if (group.size() > 1 && failures < kMaxFailures && Clock::now() < budget_.deadline) {
      const auto c_plan = plans_of({group[0]}, true), r_plan = plans_of({group[0]}, false);
      if (c_plan && r_plan)
        local = prove_locally({{{candidate_, *c_plan, reference_, *r_plan, pairs_[k], group[0],
                                 *snapper_, budget_.deadline},
                                tolerance},
                               options_.seed,
                               symbols});
    }
    if (local.outcome == LocalResult::Outcome::Open) {
      if (group.size() > 1) ++failures;
      rest.insert(rest.end(), group.begin(), group.end());
      continue;
    }
    failures = 0;
    if (local.outcome == LocalResult::Outcome::Equal) {
      out_.outputs[k].proved += group.size();
      continue;
    }
    if (said) {
      out_.results[*said].count += group.size();
      continue;
    }
    said = out_.results.size();
    LocationResult r;
    r.kind = VerdictKind::Approximation;
    r.reason = local.reason;
    r.differing = local.differing;
    r.location = {pairs_[k].index, pairs_[k].name, unravel(group[0], pairs_[k].reference.shape)};
    if (const auto plan = plans_of({group[0]}, true))
      r.loc = origin_of(candidate_, *plan, pairs_[k].candidate, group[0]);
    r.count = group.size();
    out_.results.push_back(std::move(r));
  }
  std::sort(rest.begin(), rest.end());
  open = std::move(rest);
}

}  // namespace assay::check
