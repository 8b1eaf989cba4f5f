#include "check/prove.h"

#include <algorithm>
#include <set>

namespace assay::check {

using term::FieldDomain;
using term::Obligation;
using term::Store;

namespace {

constexpr int kTrials = 2;

void set_ranges(FieldDomain& domain, const Side& side) {
  for (const SymbolInfo& s : side.symbols) {
    if (program::dtype_is_float(s.dtype) || !s.range) continue;
    domain.set_int_range(s.symbol, static_cast<int64_t>(s.range->first),
                         static_cast<int64_t>(s.range->second) + 1);
  }
}

// Does the reference already need what the candidate needs?
std::vector<Obligation> missing(const std::vector<Obligation>& c, const std::vector<Obligation>& r,
                                double p) {
  using Kind = Obligation::Kind;
  std::set<std::pair<int, double>> have;
  auto even = [&](double image) { return std::min(image, p - image); };
  for (const Obligation& o : r) {
    have.insert({static_cast<int>(o.kind), o.image});
    have.insert({10 + static_cast<int>(o.kind), even(o.image)});
  }
  std::vector<Obligation> out;
  std::set<std::pair<int, double>> seen;
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

}  // namespace

ImageDiff compare_images(const Side& candidate, const Plan& c_plan, const Side& reference,
                         const Plan& r_plan, const std::vector<OutputPair>& pairs,
                         const std::vector<Positions>& positions, const term::Snapper& snapper,
                         uint64_t seed) {
  ImageDiff diff;
  diff.equal.resize(pairs.size());
  diff.differ.resize(pairs.size());
  diff.undefined.resize(pairs.size());
  std::vector<std::vector<uint8_t>> state(pairs.size());  // 0 equal, 1 differs, 2 undefined
  for (size_t k = 0; k < pairs.size(); ++k) state[k].assign(positions[k].size(), 0);
  for (int trial = 0; trial < kTrials; ++trial) {
    for (uint64_t attempt = 0; attempt < 4; ++attempt) {
      FieldDomain::Settings settings;
      settings.prime =
          static_cast<int>((seed * 2 + static_cast<uint64_t>(trial)) % term::PrimePair::kCount);
      settings.seed = seed * 1000 + static_cast<uint64_t>(trial) * 10 + attempt;
      settings.with_exp = candidate.uses_exp || reference.uses_exp;
      FieldDomain domain(settings, snapper);
      set_ranges(domain, reference);
      domain.record_obligations = trial == 0;
      Store<FieldDomain> r_store(domain, reference.sources), c_store(domain, candidate.sources);
      run_plan(reference, r_plan, domain, r_store);
      std::vector<Obligation> r_needs;
      r_needs.swap(domain.obligations);
      run_plan(candidate, c_plan, domain, c_store);
      if (domain.divisions_by_zero != 0 && attempt < 3) continue;  // an unlucky point: draw again
      if (trial == 0) {
        diff.extra = missing(domain.obligations, r_needs, domain.primes().p.p);
        diff.folds = domain.folds;
      }
      for (size_t k = 0; k < pairs.size(); ++k) {
        for (size_t j = 0; j < positions[k].size(); ++j) {
          const auto c =
              c_store.load1(pairs[k].candidate.buffer, pairs[k].candidate.element(positions[k][j]));
          const auto r =
              r_store.load1(pairs[k].reference.buffer, pairs[k].reference.element(positions[k][j]));
          // A store at an index of unknown form may have gone anywhere.
          if (c.v <= -3 || r.v <= -3 || domain.unknown_scatters != 0)
            state[k][j] = 2;
          else if (c.v != r.v && state[k][j] == 0)
            state[k][j] = 1;
        }
      }
      // Degree of the image polynomials: at most the number of operations of the larger cone.
      // A constant recognised by rational reconstruction is one by chance with odds 2^-29.
      diff.error_bound = std::max(
          diff.error_bound,
          domain.error_bound(
              std::max(1.0, static_cast<double>(c_plan.live_nodes + r_plan.live_nodes)) * 64) +
              static_cast<double>(domain.rational_laws) * 0x1p-29);
      break;
    }
  }
  diff.error_bound = diff.error_bound * diff.error_bound;
  for (size_t k = 0; k < pairs.size(); ++k)
    for (size_t j = 0; j < positions[k].size(); ++j)
      (state[k][j] == 0   ? diff.equal
       : state[k][j] == 1 ? diff.differ
                          : diff.undefined)[k]
          .push_back(positions[k][j]);
  return diff;
}

}  // namespace assay::check
