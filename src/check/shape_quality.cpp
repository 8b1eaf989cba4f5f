// What is looked at beside a proof: definedness, rounding and special values, the real build.
#include <fmt/format.h>

#include <atomic>
#include <cmath>
#include <functional>
#include <future>

#include "check/quality.h"
#include "check/replay.h"
#include "check/shape_check.h"

namespace assay::check {

using term::Snapper;

// Partial functions of the candidate whose definedness does not follow from the reference's: by
// intervals, else a location is searched for an input that breaks them.
void ShapeCheck::definedness(const ImageDiff& diff, const Plan& c_plan) {
  const bool decided =
      std::any_of(out_.results.begin(), out_.results.end(),
                  [](const LocationResult& r) { return r.kind == VerdictKind::Refuted; });
  if (decided) return;
  const term::Obligation* open = not_excluded(candidate_, c_plan, reference_.symbols, diff.extra);
  if (open == nullptr) return;
  for (size_t k = 0; k < pairs_.size(); ++k) {
    if (diff.equal[k].empty()) continue;
    const size_t before = out_.results.size();
    const uint64_t proved = out_.outputs[k].proved;
    examine_one(k, written_position(pairs_[k], diff.equal[k]), true);
    out_.outputs[k].proved = proved;  // it was counted by its image
    if (out_.results.size() > before && out_.results.back().kind == VerdictKind::Refuted) return;
    out_.results.resize(before);
  }
  LocationResult r;
  r.kind = VerdictKind::Unknown;
  r.cls = "undefined";
  using Kind = term::Obligation::Kind;
  r.reason = fmt::format("the candidate {} where the reference does not, and no bound excludes it",
                         open->kind == Kind::NonZero ? "divides by a value that may be 0"
                         : open->kind == Kind::NonNegative
                             ? "takes the root of a value that may be negative"
                             : "takes the logarithm of a value that may not be positive");
  for (size_t s = 0; s < candidate_.launches.size(); ++s)
    if (candidate_.launches[s] && c_plan.steps[s].launch)
      r.loc = candidate_.launches[s]->source(open->pc);
  out_.results.push_back(std::move(r));
}

// The last of the positions that a launch of the candidate writes; else the last.
int64_t ShapeCheck::written_position(const OutputPair& pair, const Positions& positions) {
  const int buffer = pair.candidate.buffer;
  for (auto& launch : candidate_.launches) {
    if (!launch) continue;
    const auto cover = launch->coverage();
    if (!cover || (*cover)->buffers.count(buffer) == 0) continue;
    for (size_t j = positions.size(); j-- > 0;) {
      const auto writer = launch->writer(buffer, pair.candidate.element(positions[j]));
      if (writer && *writer != 0) return positions[j];
    }
  }
  return positions.back();
}

// Rounding and special values at one proved location of each output.
void ShapeCheck::quality(const ImageDiff& diff) {
  if (!given_) return;
  for (size_t k = 0; k < pairs_.size(); ++k) {
    if (diff.equal[k].empty()) continue;
    const int64_t position = written_position(pairs_[k], diff.equal[k]);
    const auto cones = cones_of(k, position);
    if (!cones) continue;
    const auto until = std::min(budget_.deadline, Clock::now() + std::chrono::seconds(2));
    const Snapper snapper = *snapper_;
    const QualityRequest request{
        {candidate_, cones->c_plan, reference_, cones->r_plan, pairs_[k], position, snapper, until},
        options_.seed};
    std::vector<Finding> rounding, special;
    const std::vector<std::function<void()>> looks = {
        [&] { accuracy_findings(request, rounding); },
        [&] { cross_check(cones->c_plan, cones->r_plan, k, position); },
        [&] { special_value_findings(request, special); }};
    std::atomic<size_t> next = 0;
    const auto work = [&] {
      for (size_t j = next++; j < looks.size(); j = next++) looks[j]();
    };
    auto beside = std::async(options_.jobs > 1 ? std::launch::async : std::launch::deferred, work);
    work();
    beside.get();
    for (std::vector<Finding>* found : {&rounding, &special})
      std::move(found->begin(), found->end(), std::back_inserter(verdict_.findings));
  }
}

// A proved location on one random input of the domain: the real build, run concretely, must agree
// with the exact value of the reference up to rounding. If not, nothing is proved.
void ShapeCheck::cross_check(const Plan& c_plan, const Plan& r_plan, size_t k, int64_t position) {
  if (!options_.cross_check) return;
  for (const Draw& draw :
       {Draw{Draw::Kind::Uniform, -1, 1, 1, 1}, Draw{Draw::Kind::Uniform, 0.25, 1, 1, 1}}) {
    Experiment e(symbols_, options_.seed + 41);
    e.set_all(draw);
    const ExactValue r =
        exact_value(reference_, r_plan, pairs_[k].reference, position, e, *snapper_);
    if (r.undef || r.undefined != 0 || !std::isfinite(r.v)) continue;
    cross_check_build(candidate_, c_plan, pairs_[k].candidate, k, position, e, r);
    if (dual_) cross_check_build(reference_, r_plan, pairs_[k].reference, k, position, e, r);
    return;
  }
}

void ShapeCheck::cross_check_build(Side& side, const Plan& plan, const program::TensorView& view,
                                   size_t k, int64_t position, const Experiment& e,
                                   const ExactValue& exact) {
  const bool reference = &side == &reference_;
  const Replayed real = replay_real(side, plan, view, position, e);
  if (!real.value) {
    verdict_.findings.push_back({"note",
                                 Severity::Info,
                                 "no concrete run of the real build: " + real.why,
                                 {},
                                 !dual_      ? ""
                                 : reference ? "reference"
                                             : "candidate"});
    return;
  }
  const Tolerance tol = tolerance_of(pairs_[k].reference.dtype, options_.rtol, options_.atol);
  if (std::fabs(*real.value - exact.v) <=
          64 * (tol.rtol * (exact.m + std::fabs(exact.v)) + tol.atol) &&
      std::isfinite(*real.value))
    return;
  LocationResult bad;
  bad.kind = VerdictKind::Unknown;
  bad.cls = "cross-check";
  bad.location = {pairs_[k].index, pairs_[k].name, unravel(position, pairs_[k].reference.shape)};
  bad.reason = fmt::format(
      "images are equal, but a concrete run of the {}real build gives another value (a bug in "
      "Assay, a race, or rounding beyond 64 tolerances)",
      reference ? "reference's " : "");
  if (!reference) bad.candidate = *real.value;
  bad.reference = reference ? *real.value : exact.v;
  out_.results.push_back(std::move(bad));
}

}  // namespace assay::check
