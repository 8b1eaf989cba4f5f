#include "check/prove.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <future>
#include <optional>
#include <unordered_set>

#include "term/interval_domain.h"

namespace assay::check {

using term::FieldDomain;
using term::Obligation;
using term::Store;

namespace {

void set_ranges(FieldDomain& domain, const Side& side) {
  for (const SymbolInfo& s : side.symbols) {
    if (program::dtype_is_float(s.dtype) || !s.range) continue;
    domain.set_int_range(s.symbol, static_cast<int64_t>(s.range->first),
                         static_cast<int64_t>(s.range->second) + 1);
  }
}

struct NeedHash {
  size_t operator()(const std::pair<int, double>& need) const {
    return term::mix64(std::bit_cast<uint64_t>(need.second) ^ static_cast<uint64_t>(need.first));
  }
};
using Needs = std::unordered_set<std::pair<int, double>, NeedHash>;

// Does the reference already need what the candidate needs?
std::vector<Obligation> missing(const std::vector<Obligation>& c, const std::vector<Obligation>& r,
                                double p) {
  using Kind = Obligation::Kind;
  Needs have;
  auto even = [&](double image) { return std::min(image, p - image); };
  for (const Obligation& o : r) {
    have.insert({static_cast<int>(o.kind), o.image});
    have.insert({10 + static_cast<int>(o.kind), even(o.image)});
  }
  std::vector<Obligation> out;
  Needs seen;
  for (const Obligation& o : c) {
    bool ok = have.count({static_cast<int>(o.kind), o.image}) != 0;
    if (o.kind == Kind::NonZero)
      ok = ok || have.count({10 + static_cast<int>(Kind::NonZero), even(o.image)}) != 0 ||
           have.count({10 + static_cast<int>(Kind::Positive), even(o.image)}) != 0;
    if (o.kind == Kind::NonNegative)
      ok = ok || have.count({static_cast<int>(Kind::Positive), o.image}) != 0;
    if (!ok && seen.insert({static_cast<int>(o.kind), o.image}).second) out.push_back(o);
  }
  return out;
}

// What is compared, the same for every trial.
struct Comparison {
  const Side& candidate;
  const Plan& c_plan;
  const Side& reference;
  const Plan& r_plan;
  const std::vector<OutputPair>& pairs;
  const std::vector<Positions>& positions;
  uint64_t seed;
};

// One random point. state: per pair and position, 0 equal, 1 different, 2 undefined.
struct Trial {
  std::vector<std::vector<uint8_t>> state;
  double error_bound = 0;
  std::vector<Obligation> extra;  // of the first trial, like folds
  std::vector<std::string> folds;
};

// Returns false where the point was unlucky: a division by zero.
bool run_trial(const Comparison& in, const term::Snapper& snapper, int trial, uint64_t attempt,
               Trial& out) {
  FieldDomain::Settings settings;
  settings.prime =
      static_cast<int>((in.seed * 2 + static_cast<uint64_t>(trial)) % term::PrimePair::kCount);
  settings.seed = in.seed * 1000 + static_cast<uint64_t>(trial) * 10 + attempt;
  settings.with_exp = in.candidate.uses_exp || in.reference.uses_exp;
  FieldDomain domain(settings, snapper);
  set_ranges(domain, in.reference);
  domain.record_obligations = true;
  std::optional<Store<FieldDomain>> r_store(std::in_place, domain, in.reference.sources);
  Store<FieldDomain> c_store(domain, in.candidate.sources);
  run_plan(in.reference, in.r_plan, domain, *r_store);
  std::vector<Obligation> r_needs;
  r_needs.swap(domain.obligations);
  if (domain.open_choices == 0) domain.assume(r_needs);
  domain.record_obligations = trial == 0;
  run_plan(in.candidate, in.c_plan, domain, c_store);
  if (domain.assumptions_used != 0) {  // the reference may ask the same
    domain.record_obligations = false;
    r_store.emplace(domain, in.reference.sources);
    run_plan(in.reference, in.r_plan, domain, *r_store);
  }
  if (domain.divisions_by_zero != 0 && attempt < 3) return false;
  if (trial == 0) {
    out.extra = missing(domain.obligations, r_needs, domain.primes().p.p);
    out.folds = domain.folds;
  }
  out.state.resize(in.pairs.size());
  for (size_t k = 0; k < in.pairs.size(); ++k) {
    const OutputPair& pair = in.pairs[k];
    for (const int64_t position : in.positions[k]) {
      const auto c = c_store.load1(pair.candidate.buffer, pair.candidate.element(position));
      const auto r = r_store->load1(pair.reference.buffer, pair.reference.element(position));
      // A store at an index of unknown form may have gone anywhere.
      const bool undefined = c.v <= -3 || r.v <= -3 || domain.unknown_scatters != 0;
      out.state[k].push_back(undefined ? 2 : c.v != r.v ? 1 : 0);
    }
  }
  // Degree of the image polynomials: at most the number of operations of the larger cone.
  // A constant recognised by rational reconstruction is one by chance with odds 2^-29.
  // Each pair of images that was taken for one formula may be equal by chance as well.
  out.error_bound =
      domain.error_bound(
          std::max(1.0, static_cast<double>(in.c_plan.live_nodes + in.r_plan.live_nodes)) * 64) *
          static_cast<double>(1 + domain.agreements) +
      static_cast<double>(domain.rational_laws) * 0x1p-29 +
      static_cast<double>(domain.ratios_tried) * 0x1p-35;
  return true;
}

}  // namespace

void ImageDiff::append(const ImageDiff& more) {
  const auto add = [](std::vector<Positions>& to, const std::vector<Positions>& from) {
    for (size_t k = 0; k < to.size(); ++k) {
      to[k].insert(to[k].end(), from[k].begin(), from[k].end());
      std::sort(to[k].begin(), to[k].end());
    }
  };
  add(equal, more.equal);
  add(differ, more.differ);
  add(undefined, more.undefined);
  error_bound += more.error_bound;
  extra.insert(extra.end(), more.extra.begin(), more.extra.end());
  for (const std::string& fold : more.folds)
    if (std::find(folds.begin(), folds.end(), fold) == folds.end()) folds.push_back(fold);
}

ImageDiff compare_images(const Side& candidate, const Plan& c_plan, const Side& reference,
                         const Plan& r_plan, const std::vector<OutputPair>& pairs,
                         const std::vector<Positions>& positions, const term::Snapper& snapper,
                         uint64_t seed, int jobs) {
  const Comparison in{candidate, c_plan, reference, r_plan, pairs, positions, seed};
  auto run = [&in](const term::Snapper& snaps, int trial) {
    Trial out;
    for (uint64_t attempt = 0; !run_trial(in, snaps, trial, attempt, out); ++attempt) {
    }
    return out;
  };
  // The second trial meets the same literals as the first, which notes them for the report.
  auto second = std::async(jobs > 1 ? std::launch::async : std::launch::deferred,
                           [&run, copy = snapper] { return run(copy, 1); });
  const Trial trials[] = {run(snapper, 0), second.get()};
  ImageDiff diff;
  diff.equal.resize(pairs.size());
  diff.differ.resize(pairs.size());
  diff.undefined.resize(pairs.size());
  diff.extra = trials[0].extra;
  diff.folds = trials[0].folds;
  const double bound = std::max(trials[0].error_bound, trials[1].error_bound);
  diff.error_bound = bound * bound;
  for (size_t k = 0; k < pairs.size(); ++k) {
    for (size_t j = 0; j < positions[k].size(); ++j) {
      const uint8_t state = std::max(trials[0].state[k][j], trials[1].state[k][j]);
      (state == 0   ? diff.equal
       : state == 1 ? diff.differ
                    : diff.undefined)[k]
          .push_back(positions[k][j]);
    }
  }
  return diff;
}

const Obligation* not_excluded(const Side& candidate, const Plan& plan,
                               const std::vector<SymbolInfo>& symbols,
                               const std::vector<Obligation>& extra) {
  if (extra.empty()) return nullptr;
  term::IntervalDomain domain;
  for (const SymbolInfo& s : symbols)
    if (!program::dtype_is_float(s.dtype) && s.range)
      domain.set_range(s.symbol, s.range->first, s.range->second);
  Store<term::IntervalDomain> store(domain, candidate.sources);
  run_plan(candidate, plan, domain, store);
  const Obligation* open = nullptr;
  for (const Obligation& o : extra)
    if (domain.may_fail.count(o.pc) != 0) open = &o;
  return open;
}

}  // namespace assay::check
