// What is looked at beside a proof: definedness, rounding and special values, the real build.
#include <fmt/format.h>

#include <atomic>
#include <cmath>
#include <functional>
#include <future>
#include <iterator>

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
    std::optional<CrossRun> cross;
    if (options_.cross_check) cross = cross_run(k, position, *cones, cross_draws()[0]);
    std::vector<std::function<void()>> looks{[&] { accuracy_findings(request, rounding); }};
    if (cross) looks.insert(looks.end(), cross->parts.begin(), cross->parts.end());
    looks.insert(looks.begin() + std::min<ptrdiff_t>(2, std::ssize(looks)),
                 [&] { special_value_findings(request, special); });
    std::atomic<size_t> next = 0;
    const auto work = [&] {
      for (size_t j = next++; j < looks.size(); j = next++) looks[j]();
    };
    auto beside = std::async(options_.jobs > 1 ? std::launch::async : std::launch::deferred, work);
    work();
    beside.get();
    if (cross) cross_check(*cross, k, position, *cones);
    for (std::vector<Finding>* found : {&rounding, &special})
      std::move(found->begin(), found->end(), std::back_inserter(verdict_.findings));
  }
}

std::array<Draw, 2> ShapeCheck::cross_draws() {
  return {Draw{Draw::Kind::Uniform, -1, 1, 1, 1}, Draw{Draw::Kind::Uniform, 0.25, 1, 1, 1}};
}

// What a cross-check needs of one input, as parts that may run side by side: the longer replay
// first; replays of large buffers one after the other.
ShapeCheck::CrossRun ShapeCheck::cross_run(size_t k, int64_t position, const Cones& cones,
                                           const Draw& draw) {
  constexpr uint64_t kLarge = uint64_t{128} << 20;
  CrossRun run;
  run.values = std::make_shared<CrossValues>(Experiment(symbols_, options_.seed + 41));
  const auto v = run.values;
  v->input.set_all(draw);
  uint64_t bytes = 0;
  for (const Side* side : {&candidate_, &reference_})
    for (const program::Buffer& b : side->program->buffers) bytes += b.bytes;
  const auto real = [this, v, k, position, &cones](bool reference) {
    if (reference)
      v->reference = replay_real(reference_, cones.r_plan, pairs_[k].reference, position, v->input);
    else
      v->candidate = replay_real(candidate_, cones.c_plan, pairs_[k].candidate, position, v->input);
  };
  const bool longer = cones.r_plan.warp_instructions > cones.c_plan.warp_instructions;
  if (!dual_) {
    run.parts.push_back([=] { real(false); });
  } else if (bytes > kLarge) {
    run.parts.push_back([=] { real(false), real(true); });
  } else {
    run.parts.push_back([=] { real(longer); });
    run.parts.push_back([=] { real(!longer); });
  }
  run.parts.push_back([this, v, k, position, &cones] {
    v->exact =
        exact_value(reference_, cones.r_plan, pairs_[k].reference, position, v->input, *snapper_);
  });
  return run;
}

// A proved location on one random input of the domain: the real build, run concretely, must agree
// with the exact value of the reference up to rounding. If not, nothing is proved.
void ShapeCheck::cross_check(const CrossRun& first, size_t k, int64_t position,
                             const Cones& cones) {
  CrossRun run = first;
  for (size_t n = 0; n < cross_draws().size(); ++n) {
    if (n > 0) {
      run = cross_run(k, position, cones, cross_draws()[n]);
      for (const auto& part : run.parts) part();
    }
    const ExactValue& r = run.values->exact;
    if (r.undef || r.undefined != 0 || !std::isfinite(r.v)) continue;
    cross_check_build(candidate_, run.values->candidate, k, position, r);
    if (dual_) cross_check_build(reference_, run.values->reference, k, position, r);
    return;
  }
}

void ShapeCheck::cross_check_build(const Side& side, const Replayed& real, size_t k,
                                   int64_t position, const ExactValue& exact) {
  const bool reference = &side == &reference_;
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
