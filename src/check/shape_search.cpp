// Locations whose images differ: search for inputs, local proofs, confirmation on the real build.
#include <fmt/format.h>

#include <set>

#include "check/alike.h"
#include "check/order.h"
#include "check/replay.h"
#include "check/shape_check.h"
#include "check/values.h"

namespace assay::check {

// Every position whose images differ is looked at: three of them by a search, then, unless one of
// them refutes, all by local proofs. What no time is left for is unknown, never counted as
// proved.
Status ShapeCheck::examine(const ImageDiff& diff) {
  for (size_t k = 0; k < pairs_.size(); ++k) {
    Positions open = diff.differ[k];
    open.insert(open.end(), diff.undefined[k].begin(), diff.undefined[k].end());
    std::sort(open.begin(), open.end());
    std::map<int64_t, int64_t> done;
    bool refuted = false, open_end = false;
    if (open.size() > 1) {
      const auto next = static_cast<int64_t>(out_.results.size());
      refuted = refuted_soon(k, open.front());
      if (refuted)
        done[open.front()] = next;
      else
        settle_together(k, open);
    }
    if (open.empty()) continue;
    const std::set<int64_t> picks = {open.front(), open[open.size() / 2], open.back()};
    for (int64_t position : picks) {
      if (done.count(position) != 0) continue;
      const size_t before = out_.results.size();
      const bool proved = examine_one(k, position, true);
      done[position] = proved ? -1 : static_cast<int64_t>(before);
      refuted = refuted ||
                (out_.results.size() > before && out_.results.back().kind == VerdictKind::Refuted);
      // Of an altered shape nothing else is asked than a refutation, or an approximation of all.
      open_end = !proved && out_.results.back().kind != VerdictKind::Approximation;
      if (!given_ && open_end) break;
    }
    if (refuted) continue;
    if (given_ || !open_end) {
      examine_rest(k, open, done);
    } else if (open.size() > 1) {
      not_examined(k, open.size() - 1);
    }
  }
  return {};
}

// done: positions looked at, with the index of their result, or -1: proved. Of locations whose
// formulas are alike one is looked at.
void ShapeCheck::examine_rest(size_t k, const Positions& open,
                              const std::map<int64_t, int64_t>& done) {
  std::map<std::pair<VerdictKind, std::string>, int64_t> said;  // results that say the same are one
  uint64_t late = 0;
  for (const Positions& group : alike_positions(k, open)) {
    std::optional<int64_t> result;
    uint64_t rest = 0;
    for (int64_t position : group) {
      auto known = done.find(position);
      if (known == done.end())
        ++rest;
      else
        result = known->second;
    }
    if (rest == 0) continue;
    if (!result && (late != 0 || Clock::now() > budget_.deadline)) {
      late += rest;
      continue;
    }
    if (!result) {
      const auto before = static_cast<int64_t>(out_.results.size());
      result = -1;
      --rest;
      if (!examine_one(k, group.front(), false)) {
        const LocationResult& r = out_.results.back();
        auto [known, fresh] = said.try_emplace({r.kind, r.cls}, before);
        result = known->second;
        if (!fresh) {
          out_.results.pop_back();
          ++rest;
        }
      }
    }
    if (*result < 0)
      out_.outputs[k].proved += rest;
    else
      out_.results[static_cast<size_t>(*result)].count += rest;
  }
  if (late != 0) not_examined(k, late);
}

// Positions of one output alone.
std::vector<Positions> ShapeCheck::only(size_t k, Positions positions) const {
  std::vector<Positions> out(pairs_.size());
  out[k] = std::move(positions);
  return out;
}

std::vector<Positions> ShapeCheck::alike_positions(size_t k, const Positions& open) {
  constexpr size_t kFew = 16;  // not worth a plan of their own
  AlikeGroups groups(candidate_, reference_, pairs_[k], reference_.symbols);
  for (size_t at = 0, size = open.size(); at < open.size();) {
    const Positions part(open.begin() + static_cast<ptrdiff_t>(at),
                         open.begin() + static_cast<ptrdiff_t>(std::min(open.size(), at + size)));
    const std::vector<Positions> all = only(k, part);
    bool seen = false;
    if (size > kFew) {
      const auto c_plan = make_plan(candidate_, wants_of(pairs_, all, true));
      const auto r_plan = make_plan(reference_, wants_of(pairs_, all, false));
      if (!c_plan || !r_plan)
        size = 0;
      else
        seen = groups.add(*c_plan, *r_plan, part);
    }
    if (!seen && size > kFew) {
      size = std::max(kFew, size / 4);
      continue;
    }
    if (!seen)
      for (size_t j = at; j < open.size(); ++j) groups.add_alone(open[j]);
    at = seen ? at + part.size() : open.size();
  }
  return groups.take();
}

void ShapeCheck::not_examined(size_t k, uint64_t count) {
  LocationResult r;
  r.kind = VerdictKind::Unknown;
  r.cls = "limit";
  r.location.output = pairs_[k].index;
  r.location.output_name = pairs_[k].name;
  r.count = count;
  r.reason = fmt::format("images differ at {} further locations that no time was spent on", count);
  out_.results.push_back(std::move(r));
}

Result<ShapeCheck::Cones> ShapeCheck::cones_of(size_t k, int64_t position) {
  const std::vector<Positions> one = only(k, {position});
  Cones out{
      k, position, {}, {}, tolerance_of(pairs_[k].reference.dtype, options_.rtol, options_.atol)};
  ASSAY_TRY(out.c_plan, make_plan(candidate_, wants_of(pairs_, one, true)));
  ASSAY_TRY(out.r_plan, make_plan(reference_, wants_of(pairs_, one, false)));
  return out;
}

// True: proved locally. False: a result was added. `thorough`: all experiments, else the first
// few.
bool ShapeCheck::examine_one(size_t k, int64_t position, bool thorough) {
  const OutputPair& pair = pairs_[k];
  const auto cones = cones_of(k, position);
  LocationResult r;
  if (!cones) {
    r.cls = "limit";
    r.reason = cones.error().message;
    r.location = {pair.index, pair.name, unravel(position, pair.reference.shape)};
    out_.results.push_back(std::move(r));
    return false;
  }
  const SearchRequest request = cones->request(*this);
  std::optional<LocalResult> local;
  const SearchResult found = search_location(request, thorough, local);
  if (found.outcome == SearchResult::Outcome::Refuted) {
    add_refutation(request, found);
    return false;
  }
  r = settle(request, found, local);
  if (r.kind == VerdictKind::Proved) {
    ++out_.outputs[k].proved;
    return true;
  }
  r.location = {pair.index, pair.name, unravel(position, pair.reference.shape)};
  r.loc = origin_of(candidate_, cones->c_plan, pair.candidate, position);
  out_.results.push_back(std::move(r));
  return false;
}

void ShapeCheck::add_refutation(const SearchRequest& rq, const SearchResult& found) {
  LocationResult r = found.result;
  if (refuting_.size() < 2 && r.witness && r.witness->inputs) {
    refuting_.push_back(Experiment::from_witness(symbols_, *r.witness->inputs));
    refuting_.back().name = found.worst_experiment;
  }
  confirm(r, rq.c_plan, rq.r_plan, rq.pair, rq.position, rq.tolerance);
  if (default_parameters_hide(rq, r.witness)) {
    r.cls = "default-parameters";
    r.reason += "; at the default values of the parameters they agree";
  }
  if (r.loc.line == 0) r.loc = origin_of(candidate_, rq.c_plan, rq.pair.candidate, rq.position);
  out_.results.push_back(std::move(r));
  blame_race(rq, out_.results.back());
}

// Of a launch in which accesses race, the other schedule is tried on the input that refutes.
void ShapeCheck::blame_race(const SearchRequest& rq, LocationResult& r) {
  const Defects& mine = defects_[0];
  if ((r.cls != "value" && r.cls != "undefined") || !r.witness || !r.witness->inputs ||
      !mine.races_in(rq.c_plan))
    return;
  Wants wants;
  wants[rq.pair.candidate.buffer].insert(rq.pair.candidate.element(rq.position));
  const auto other = make_plan(candidate_, wants, true);
  if (!other) return;
  const Experiment e = Experiment::from_witness(symbols_, *r.witness->inputs);
  const auto value = [&](const Plan& plan) {
    return exact_value(candidate_, plan, rq.pair.candidate, rq.position, e, *snapper_);
  };
  mine.blame_race(r, rq.c_plan, value(rq.c_plan), value(*other));
}

std::vector<Experiment> ShapeCheck::experiments_for(const SearchRequest& rq,
                                                    const std::vector<Suspect>& spots) {
  const std::vector<Suspect> suspects =
      support_difference(candidate_, rq.c_plan, reference_, rq.r_plan);
  std::vector<Experiment> all = refuting_;  // what refuted other locations comes first
  for (Experiment& e :
       structured_experiments(symbols_, suspects, spots, boundaries_, options_.seed))
    all.push_back(std::move(e));
  return all;
}

// A few inputs at one location. True: one refutes; a result was added.
bool ShapeCheck::refuted_soon(size_t k, int64_t position) {
  const auto cones = cones_of(k, position);
  if (!cones) return false;
  const SearchRequest request = cones->request(*this);
  SearchResult found;
  search_few(request, found);
  if (found.outcome != SearchResult::Outcome::Refuted) return false;
  add_refutation(request, found);
  return true;
}

void ShapeCheck::search_few(const SearchRequest& rq, SearchResult& found) {
  constexpr size_t kFew = 8;
  const std::vector<Experiment> all = experiments_for(rq, {});
  search(rq, std::span(all).first(std::min(all.size(), refuting_.size() + kFew)), found);
}

// A few inputs of every kind; where they show no more than rounding, a look at the formulas,
// which may prove the location; bands of large elements, then the other inputs.
SearchResult ShapeCheck::search_location(const SearchRequest& rq, bool thorough,
                                         std::optional<LocalResult>& local) {
  constexpr size_t kHead = 20;
  constexpr double kRounding = 1e-12;
  SearchResult found;
  if (!thorough) {
    search_few(rq, found);
    return found;
  }
  const std::vector<Suspect> spots =
      cone_spots(reference_, rq.r_plan, rq.pair.reference, rq.position);
  const std::vector<Experiment> experiments = experiments_for(rq, spots);
  const std::span<const Experiment> all(experiments);
  auto refuted = [&] { return found.outcome == SearchResult::Outcome::Refuted; };
  const size_t head = std::min(all.size(), refuting_.size() + kHead);
  search(rq, all.first(head), found);
  if (refuted()) return found;
  if (found.in_domain > 0 && found.largest_rho < kRounding) {
    local = look(rq);
    if (local->outcome == LocalResult::Outcome::Equal) return found;
  }
  if (found.outcome == SearchResult::Outcome::Gap) {
    SearchRequest bands = rq;
    bands.deadline = rq.deadline - (rq.deadline - Clock::now()) / 2;
    search_bands(bands, symbols_, spots, options_.seed, found);
  }
  if (!refuted()) search(rq, all.subspan(head), found);
  return found;
}

LocalResult ShapeCheck::look(const SearchRequest& rq) {
  LocalRequest local{rq, options_.seed, reference_.symbols};
  local.deadline = budget_.deadline;
  return prove_locally(local);
}

// The witness on the real builds: what a GPU would compute. Of two kernels both must show it.
void ShapeCheck::confirm(LocationResult& r, const Plan& c_plan, const Plan& r_plan,
                         const OutputPair& pair, int64_t position, const Tolerance& tol) {
  if (!r.witness || !r.witness->inputs) return;
  const Experiment e = Experiment::from_witness(symbols_, *r.witness->inputs);
  const Replayed real = replay_real(candidate_, c_plan, pair.candidate, position, e);
  if (!real.value) return;
  r.candidate_ieee = *real.value;
  r.witness->replay = "the real build on the virtual GPU";
  if (!dual_) return;
  const Replayed other = replay_real(reference_, r_plan, pair.reference, position, e);
  if (!other.value) return;
  r.reference_ieee = *other.value;
  r.witness->replay = "the real builds of both on the virtual GPU";
  const double limit = program::dtype_is_float(pair.reference.dtype)
                           ? tol.rtol * std::fabs(*other.value) + tol.atol
                           : 0;
  if (std::fabs(*real.value - *other.value) > limit || !std::isfinite(*real.value)) return;
  r.kind = VerdictKind::Unknown;
  r.reason += "; the real builds agree there";
}

// No refutation: a local proof, an approximation, or unknown.
LocationResult ShapeCheck::settle(const SearchRequest& rq, const SearchResult& found,
                                  const std::optional<LocalResult>& known) {
  const LocalResult local = known ? *known : look(rq);
  LocationResult r;
  r.rho = found.largest_rho;
  r.differing = local.differing;
  if (local.outcome == LocalResult::Outcome::Equal) {
    r.kind = VerdictKind::Proved;
    return r;
  }
  if (local.outcome == LocalResult::Outcome::Approximation) {
    r.kind = VerdictKind::Approximation;
    r.reason = local.reason;
    return r;
  }
  r.kind = VerdictKind::Unknown;
  r.reason = fmt::format(
      "not proved; {} inputs tried ({} in the domain), largest gap {:.3g} of the condition "
      "scale{}{}",
      found.experiments, found.in_domain, found.largest_rho, local.reason.empty() ? "" : "; ",
      local.reason);
  if (found.largest_rho > 0) {
    r.candidate = found.worst_candidate;
    r.reference = found.worst_reference;
  }
  return r;
}

// Would the difference be seen with every parameter at the constant it is built with?
bool ShapeCheck::default_parameters_hide(const SearchRequest& rq,
                                         const std::optional<Witness>& witness) {
  bool any = false;
  std::vector<Experiment> tries;
  if (witness && witness->inputs)  // the inputs that refute, with other parameters
    tries.push_back(Experiment::from_witness(symbols_, *witness->inputs));
  for (const Draw& draw :
       {Draw{Draw::Kind::Uniform, -1, 1, 1, 1}, Draw{Draw::Kind::Uniform, -8, 8, 1, 1},
        Draw{Draw::Kind::Grid, -1, 0, 1, 3}}) {
    tries.emplace_back(symbols_, options_.seed + 77 + tries.size());
    tries.back().set_all(draw);
  }
  for (Experiment& e : tries) {
    for (const SymbolInfo& s : reference_.symbols) {
      if (!s.is_parameter || !s.range || s.range->first != s.range->second) continue;
      e.set(s.symbol, {Draw::Kind::Constant, s.range->first, 0, 1, 1});
      any = true;
    }
  }
  if (!any) return false;
  SearchRequest request = rq;
  request.deadline = budget_.deadline;
  SearchResult found;
  search(request, tries, found);
  return found.outcome != SearchResult::Outcome::Refuted && found.in_domain > 0;
}

}  // namespace assay::check
