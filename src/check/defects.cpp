#include "check/defects.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "check/order.h"
#include "check/prove.h"
#include "check/values.h"

namespace assay::check {

namespace {

Positions not_equal(const ImageDiff& diff, size_t k) {
  Positions apart = diff.differ[k];
  apart.insert(apart.end(), diff.undefined[k].begin(), diff.undefined[k].end());
  return apart;
}

std::string value_text(const ExactValue& v) {
  return v.undef ? std::string("an undefined value") : fmt::format("{:.9g}", v.v);
}

}  // namespace

bool values_apart(const ExactValue& a, const ExactValue& b) {
  return a.undef != b.undef ||
         (!a.undef && std::fabs(a.v - b.v) > 1e-6 * (a.m + b.m + std::fabs(a.v)));
}

Witness any_input(const char* how) {
  Witness w;
  w.replayed = true;
  w.replay = how;
  return w;
}

SrcLoc origin_of(const Side& side, const Plan& plan, const program::TensorView& view,
                 int64_t position) {
  const int64_t e = view.element(position);
  for (size_t s = plan.steps.size(); s-- > 0;) {
    if (!plan.steps[s].launch) continue;
    const machine::Trace& t = *plan.steps[s].launch->trace;
    for (const auto& st : t.stores)
      if (st.buffer == view.buffer && e >= st.element && e <= st.last() &&
          (e - st.element) % st.step == 0)
        return side.launches[s]->source(st.pc);
    for (const auto& a : t.atoms)
      if (a.buffer == view.buffer && a.element == e) return side.launches[s]->source(a.pc);
  }
  return {};
}

Defects::Defects(SideName name, Side& side, const std::vector<OutputPair>& pairs,
                 const std::vector<SymbolInfo>& symbols, uint64_t seed, bool tag)
    : name_(name), side_(side), pairs_(pairs), symbols_(symbols), seed_(seed), tag_(tag) {
  for (OutputPair& p : pairs_)
    (name == SideName::Candidate ? p.reference : p.candidate) =
        name == SideName::Candidate ? p.candidate : p.reference;
}

void Defects::recorded(bool with_notes) {
  for (const program::Note& n : side_.program->notes) {
    if (n.severity == "verdict") {  // what was recorded is not what a GPU would run
      LocationResult r;
      r.kind = n.kind == "launch-refused" ? VerdictKind::Refuted : VerdictKind::Unknown;
      r.cls = n.kind;
      r.reason = n.message;
      r.loc = n.loc;
      if (r.kind == VerdictKind::Refuted) r.witness = any_input("the limits of the device");
      results_.push_back(std::move(r));
      continue;
    }
    const Severity s = n.severity == "high"  ? Severity::High
                       : n.severity == "low" ? Severity::Low
                                             : Severity::Info;
    if (with_notes) findings_.push_back({n.kind, s, n.message, n.loc, ""});
  }
}

Status Defects::unwritten() {
  for (const OutputPair& p : pairs_) {
    ASSAY_TRY(const Unwritten u, find_unwritten(side_, p));
    if (u.count == 0) continue;
    LocationResult r;
    r.kind = VerdictKind::Refuted;
    r.cls = "unwritten";
    r.location = {p.index, p.name, unravel(u.first[0], p.reference.shape)};
    r.count = static_cast<uint64_t>(u.count);
    r.reason = fmt::format("no thread writes {} of the {} elements", u.count, p.numel());
    r.witness = any_input("the store addresses of the whole grid");
    results_.push_back(std::move(r));
  }
  return {};
}

Status Defects::outside() {
  for (const auto& launch : side_.launches) {
    if (!launch) continue;
    ASSAY_TRY(const Coverage* cover, launch->coverage());
    if (cover->out_of_bounds == 0) continue;
    LocationResult r;
    r.kind = VerdictKind::Refuted;
    r.cls = "out-of-bounds";
    r.reason = fmt::format("{} threads write outside every buffer", cover->out_of_bounds);
    r.loc = launch->real_source(cover->out_of_bounds_pc);
    r.count = cover->out_of_bounds;
    r.witness = any_input("the store addresses of the whole grid");
    results_.push_back(std::move(r));
  }
  return {};
}

void Defects::start_hazards(size_t step, const std::vector<uint32_t>& ctas, bool beside) {
  std::shared_future<Hazards> before;
  if (!started_.empty()) before = started_.back();
  auto look = [launch = side_.launches[step].get(), step, ctas, before] {
    if (before.valid()) before.wait();
    Hazards h;
    h.step = step;
    h.status = launch->hazards(ctas, h.findings, h.results);
    return h;
  };
  started_.push_back(std::async(beside ? std::launch::async : std::launch::deferred, look).share());
}

Status Defects::hazards() {
  Status status;
  std::vector<Hazards> all;
  for (const auto& one : started_) all.push_back(one.get());
  started_.clear();
  std::stable_sort(all.begin(), all.end(),
                   [](const Hazards& a, const Hazards& b) { return a.step < b.step; });
  for (Hazards& h : all) {
    for (const LocationResult& r : h.results)
      if (r.cls == "race") seen_races_.emplace_back(h.step, r.loc);
    std::move(h.findings.begin(), h.findings.end(), std::back_inserter(findings_));
    std::move(h.results.begin(), h.results.end(), std::back_inserter(results_));
    if (status && !h.status) status = h.status;
  }
  const auto other = [](const LocationResult& r) { return r.cls != "race"; };
  const auto first = std::stable_partition(results_.begin(), results_.end(), other);
  std::move(first, results_.end(), std::back_inserter(races_));
  results_.erase(first, results_.end());
  return status;
}

void Defects::traps() {
  for (const auto& launch : side_.launches) {
    if (!launch) continue;
    for (const auto& [pc, site] : launch->traps()) {
      const SrcLoc loc = launch->source(pc);
      if (!site.always && site.integers) {
        findings_.push_back({"assertion", Severity::Medium,
                             "this assertion or trap depends on integer data: it is taken not to "
                             "end the launch",
                             loc, ""});
        continue;
      }
      LocationResult r;
      r.kind = site.always ? VerdictKind::Refuted : VerdictKind::Unknown;
      r.cls = "trap";
      r.reason = site.always ? fmt::format(
                                   "CTA {} comes to a trap or an assertion that fails: the launch "
                                   "ends with an error",
                                   site.cta)
                             : "not proved that this assertion or trap never ends the launch";
      r.loc = loc;
      r.count = 1;
      if (site.always) r.witness = any_input("the traced CTAs");
      results_.push_back(std::move(r));
    }
  }
}

bool Defects::undecided() const { return !races_.empty() || !unordered_steps(side_).empty(); }

Status Defects::races(const Plan& plan, const LocationPlan& where, const term::Snapper& snapper,
                      bool decided) {
  if (races_.empty()) return {};
  if (!decided) {
    ASSAY_TRY(const Plan other, make_plan(side_, wants_of(pairs_, where.outputs, true), true));
    const ImageDiff diff =
        compare_images(side_, plan, side_, other, pairs_, where.outputs, snapper, seed_);
    for (size_t k = 0; k < pairs_.size() && !decided; ++k) {
      const Positions apart = not_equal(diff, k);
      if (!apart.empty()) decided = schedules_differ(plan, other, k, apart, snapper);
    }
  }
  for (LocationResult& r : races_) {
    if (decided)
      findings_.push_back({"hazard", Severity::High, r.reason, r.loc, ""});
    else
      results_.push_back(std::move(r));
  }
  races_.clear();
  return {};
}

// An input on which both schedules give different values; false: none was found, and different
// images alone (of selections in another order, say) refute nothing.
bool Defects::schedules_differ(const Plan& first, const Plan& second, size_t k,
                               const Positions& apart, const term::Snapper& snapper) {
  std::vector<double> boundaries = boundaries_of(side_, first);
  const auto inputs = structured_experiments(symbols_, {}, {}, boundaries, seed_);
  for (int64_t position : {apart.front(), apart[apart.size() / 2], apart.back()}) {
    for (size_t i = 0; i < std::min<size_t>(inputs.size(), 8); ++i) {
      const auto value = [&](const Plan& plan) {
        return exact_value(side_, plan, pairs_[k].candidate, position, inputs[i], snapper);
      };
      const ExactValue a = value(first), b = value(second);
      if (!values_apart(a, b)) continue;
      schedules_result(first, k, apart.size(), position, inputs[i], a, b);
      return true;
    }
  }
  return false;
}

void Defects::schedules_result(const Plan& plan, size_t k, size_t count, int64_t position,
                               const Experiment& input, const ExactValue& a, const ExactValue& b) {
  LocationResult r;
  r.kind = VerdictKind::Refuted;
  r.cls = "nondeterministic";
  r.location = {pairs_[k].index, pairs_[k].name, unravel(position, pairs_[k].reference.shape)};
  r.count = count;
  r.loc = origin_of(side_, plan, pairs_[k].candidate, position);
  for (const LocationResult& race : races_)
    if (race.loc.line != 0) r.loc = race.loc;
  r.reason = fmt::format(
      "two legal schedules give different values: {} where warps run in ascending order, {} in "
      "descending order",
      value_text(a), value_text(b));
  r.witness = input.witness();
  r.witness->replayed = true;
  r.witness->replay = "both schedules on the virtual GPU";
  results_.push_back(std::move(r));
}

bool Defects::races_in(const Plan& plan) const {
  return std::any_of(seen_races_.begin(), seen_races_.end(),
                     [&](const auto& race) { return plan.steps[race.first].launch.has_value(); });
}

void Defects::blame_race(LocationResult& r, const Plan& plan, const ExactValue& ascending,
                         const ExactValue& descending) const {
  if (!values_apart(ascending, descending)) return;
  r.cls = "race";
  r.reason += fmt::format(
      "; a race decides the candidate's: {} where warps run in ascending order, {} in descending "
      "order",
      value_text(ascending), value_text(descending));
  for (const auto& [step, loc] : seen_races_) {
    if (!plan.steps[step].launch || loc.line == 0) continue;
    r.loc = loc;
    return;
  }
}

// What an unjoined step writes is there or not when the caller reads the output.
void Defects::unjoined(const LocationPlan& where) {
  for (size_t k = 0; k < pairs_.size(); ++k) {
    const auto writers = unjoined_writers(side_, pairs_[k].candidate.buffer);
    if (writers.empty() || where.outputs[k].empty()) continue;
    const program::Step& step = side_.program->steps[writers.back()];
    LocationResult r;
    r.kind = VerdictKind::Refuted;
    r.cls = "nondeterministic";
    r.location = {pairs_[k].index, pairs_[k].name,
                  unravel(where.outputs[k].front(), pairs_[k].reference.shape)};
    r.count = where.outputs[k].size();
    r.reason = fmt::format(
        "step {} on stream {} writes it, and nothing orders that before what the caller does on "
        "its own stream (no event, no synchronization)",
        writers.back(), step.stream);
    r.loc = step.loc;
    results_.push_back(std::move(r));
    return;
  }
}

Status Defects::streams(const Plan& plan, const LocationPlan& where, const term::Snapper& snapper) {
  const program::Program& program = *side_.program;
  for (const Unordered& u : unordered_steps(side_)) {
    program::Program other = program;
    const auto at = [&](size_t k) { return other.steps.begin() + static_cast<std::ptrdiff_t>(k); };
    std::rotate(at(u.first), at(u.second), at(u.second) + 1);
    ASSAY_TRY(Side side, prepare(other));
    ASSAY_TRY(const Plan swapped, make_plan(side, wants_of(pairs_, where.outputs, true)));
    const ImageDiff diff =
        compare_images(side_, plan, side, swapped, pairs_, where.outputs, snapper, seed_);
    const auto& name = program.buffers[static_cast<size_t>(u.buffer)].name;
    const std::string text = fmt::format(
        "steps {} and {} on streams {} and {} both use {}, one writes it, and nothing orders "
        "them",
        u.first, u.second, program.steps[u.first].stream, program.steps[u.second].stream,
        name.empty() ? fmt::format("buffer {}", u.buffer) : name);
    const SrcLoc loc = program.steps[u.second].loc;
    for (size_t k = 0; k < pairs_.size(); ++k) {
      const Positions apart = not_equal(diff, k);
      if (apart.empty()) continue;
      LocationResult r;
      r.kind = VerdictKind::Refuted;
      r.cls = "nondeterministic";
      r.location = {pairs_[k].index, pairs_[k].name, unravel(apart[0], pairs_[k].reference.shape)};
      r.count = apart.size();
      r.reason = text + "; in the other order the value differs";
      r.loc = loc;
      results_.push_back(std::move(r));
      return {};
    }
    findings_.push_back({"hazard", Severity::High, text, loc, ""});
  }
  return {};
}

void Defects::take(std::vector<Finding>& findings, std::vector<LocationResult>& results, bool all) {
  if (all) {
    std::move(races_.begin(), races_.end(), std::back_inserter(results_));
    races_.clear();
  }
  for (Finding& f : findings_) {
    if (tag_) f.side = name_ == SideName::Candidate ? "candidate" : "reference";
    findings.push_back(std::move(f));
  }
  for (LocationResult& r : results_) {
    if (name_ == SideName::Reference) {
      // What nothing writes is outside the domain where it stands, and spoils nothing else.
      if (r.cls != "unwritten" && spoiled_.empty()) spoiled_ = r.reason;
      r.kind = VerdictKind::Unknown;
      r.reason = "the reference: " + r.reason;
      r.side = "reference";
    }
    results.push_back(std::move(r));
  }
  findings_.clear();
  results_.clear();
}

}  // namespace assay::check
