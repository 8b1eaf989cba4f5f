// Many locations whose images differ, settled together: by what is alike up to the names of inputs,
// behind results that both sides have by the same operators, and with what their formulas share
// looked at once.
#include "check/alike.h"
#include "check/shape_check.h"

namespace assay::check {

namespace {

constexpr size_t kFew = 16;  // not worth a look together

// Local results as results of the check; approximations are one.
class Settled {
 public:
  explicit Settled(std::vector<LocationResult>& results) : results_(results) {}
  // True: the result is new, and to be completed.
  bool approximation(const LocalResult& local, uint64_t count) {
    if (at_ < results_.size()) {
      results_[at_].count += count;
      return false;
    }
    at_ = results_.size();
    LocationResult r;
    r.kind = VerdictKind::Approximation;
    r.reason = local.reason;
    r.differing = local.differing;
    r.count = count;
    results_.push_back(std::move(r));
    return true;
  }

 private:
  std::vector<LocationResult>& results_;
  size_t at_ = SIZE_MAX;  // none yet
};

}  // namespace

// What is settled leaves `open`. Free symbols in place of results that both sides have allow more
// values than there are, so what holds for them holds; what does not is left to whole formulas.
void ShapeCheck::settle_together(size_t k, Positions& open) {
  const auto until = Clock::now() + (budget_.deadline - Clock::now()) * 2 / 5;
  PlanRequest c_request, r_request;
  c_request.cuts = congruent().candidate;
  r_request.cuts = congruent().reference;
  const auto plan_of = [&](const Positions& at, bool candidate) {
    return make_plan(candidate ? candidate_ : reference_, wants_of(pairs_, only(k, at), candidate),
                     candidate ? c_request : r_request);
  };
  std::vector<SymbolInfo> symbols = reference_.symbols;
  symbols.insert(symbols.end(), congruent().symbols.begin(), congruent().symbols.end());
  const OutputPair& pair = pairs_[k];
  const Tolerance tolerance = tolerance_of(pair.reference.dtype, options_.rtol, options_.atol);

  std::map<int64_t, Positions> groups;  // by their first members
  {
    AlikeGroups alike(candidate_, reference_, pair, symbols);
    const auto c_plan = plan_of(open, true), r_plan = plan_of(open, false);
    if (c_plan && r_plan && alike.add(*c_plan, *r_plan, open)) {
      for (Positions& group : alike.take()) groups[group[0]] = std::move(group);
    } else {
      for (const int64_t p : open) groups[p] = {p};
    }
  }
  Positions first;
  for (const auto& group : groups) first.push_back(group.first);
  Settled settled(out_.results);
  for (size_t at = 0, size = first.size(); at < first.size() && Clock::now() < until;) {
    size = std::min(size, first.size() - at);
    const Positions part(first.begin() + static_cast<ptrdiff_t>(at),
                         first.begin() + static_cast<ptrdiff_t>(at + size));
    const auto c_plan = plan_of(part, true), r_plan = plan_of(part, false);
    std::vector<LocalResult> seen;
    if (c_plan && r_plan)
      seen = prove_together(
          {{{candidate_, *c_plan, reference_, *r_plan, pair, part[0], *snapper_, until}, tolerance},
           options_.seed,
           symbols},
          part);
    if (seen.empty()) {
      if (size <= kFew) break;
      size /= 4;
      continue;
    }
    bool any = false;
    for (size_t j = 0; j < part.size(); ++j) {
      if (seen[j].outcome == LocalResult::Outcome::Open) continue;
      any = true;
      const Positions group = std::move(groups[part[j]]);
      groups.erase(part[j]);
      if (seen[j].outcome == LocalResult::Outcome::Equal) {
        out_.outputs[k].proved += group.size();
      } else if (settled.approximation(seen[j], group.size())) {
        LocationResult& r = out_.results.back();
        r.location = {pair.index, pair.name, unravel(part[j], pair.reference.shape)};
        r.loc = origin_of(candidate_, *c_plan, pair.candidate, part[j]);
      }
    }
    if (!any) break;
    at += size;
  }
  open.clear();
  for (const auto& [at, group] : groups) open.insert(open.end(), group.begin(), group.end());
  std::sort(open.begin(), open.end());
}

}  // namespace assay::check
