// The ladder of one shape, in order; which locations; what is noted beside it.
#include "check/shape_check.h"

#include <fmt/format.h>

#include <cmath>
#include <set>

#include "base/deadline.h"

namespace assay::check {

ShapeResult ShapeCheck::run() {
  out_.change = pair_.change;
  const Deadline until(budget_.deadline);
  Status status;
  try {
    status = body();
  } catch (const Late&) {
    status = fail(DiagKind::Limit, "no time left");
  } catch (const std::bad_alloc&) {
    status = fail(DiagKind::Limit, "no memory left");
  }
  // Of what is left open, hazards that were still looked for say something, too.
  for (Defects& d : defects_) {
    const Status watched = d.hazards();
    if (status && !watched) status = watched;
  }
  if (!status) {
    budget_.lap("given up");
    LocationResult r;
    const Diag& d = status.error();
    r.kind = d.kind == DiagKind::Unsupported ? VerdictKind::Unsupported : VerdictKind::Unknown;
    r.cls = diag_kind_name(d.kind);
    r.reason = d.message;
    r.loc = d.loc;
    internal_ = d.kind == DiagKind::Internal;
    out_.results.push_back(std::move(r));
  }
  for (Defects& d : defects_) d.traps();
  take_defects(true);
  finish();
  return std::move(out_);
}

Status ShapeCheck::body() {
  ASSAY_TRY(reference_, prepare(pair_.reference));
  ASSAY_TRY(candidate_, prepare(pair_.candidate));
  symbols_ = reference_.symbols;
  for (const SymbolInfo& c : candidate_.symbols) {
    auto same = [&](const SymbolInfo& r) { return r.symbol == c.symbol; };
    if (std::none_of(symbols_.begin(), symbols_.end(), same)) symbols_.push_back(c);
  }
  budget_.lap("prepare");
  dual_ = !pair_.reference.modules.empty();
  pairs_ = pair_outputs(candidate_, reference_, verdict_.findings, out_.results);
  defects_.emplace_back(SideName::Candidate, candidate_, pairs_, symbols_, options_.seed, dual_);
  if (dual_)
    defects_.emplace_back(SideName::Reference, reference_, pairs_, symbols_, options_.seed, dual_);
  for (Defects& d : defects_) d.recorded(given_);
  for (const OutputPair& p : pairs_)
    out_.outputs.push_back(
        {p.name, p.reference.shape, static_cast<uint64_t>(p.numel()), 0, 0, p.argument});
  ASSAY_TRY(const bool ends, launches_end());
  if (ends) {
    for (Defects& d : defects_) {
      ASSAY_CHECK(d.outside());
      ASSAY_CHECK(d.unwritten());
    }
  }
  take_defects();
  if (!defects_.back().spoiled().empty()) return {};  // the reference is not what a GPU would run
  budget_.lap("coverage");
  if (!ends) return {};
  std::vector<int64_t> dims = reference_.dims;
  dims.insert(dims.end(), candidate_.dims.begin(), candidate_.dims.end());
  snapper_.emplace(dims);
  const int64_t limit = given_ ? 4096 : 16384;
  ASSAY_TRY(LocationPlan where, locations(limit));
  for (Defects& d : defects_) d.unjoined(where);
  take_defects();
  if (given_ && refuted_at_once(left_alone(where.outputs))) return {};
  if (too_large(where)) {
    ASSAY_TRY(const bool done, with_lemmas(where));
    if (done) return {};
  }
  // Fewer locations are better than no time left.
  for (int64_t fewer = limit / 8; chooses() && fewer >= 64 && too_long(where); fewer /= 8) {
    ASSAY_TRY(where, chosen_locations(fewer));
  }
  Plan c_plan, r_plan;
  Result<ImageDiff> made = images(where.outputs, c_plan, r_plan);
  if (!made && made.error().kind == DiagKind::Unsupported) run_without_trace(where, made.error());
  ASSAY_TRY(const ImageDiff diff, std::move(made));
  take_defects();
  if (settled_) return {};
  verdict_.error_bound = std::max(verdict_.error_bound, diff.error_bound);
  note_assumptions();
  for (const std::string& f : diff.folds) verdict_.snaps.push_back({f, "folded"});
  for (size_t k = 0; k < pairs_.size(); ++k) {
    out_.outputs[k].checked = where.outputs[k].size();
    out_.outputs[k].proved = diff.equal[k].size();
  }
  if (!dual_) r_plan = {};  // memory
  ASSAY_CHECK(examine(diff));
  for (Defects& d : defects_) {
    const Plan& plan = &d == &defects_[0] ? c_plan : r_plan;
    ASSAY_CHECK(d.races(plan, where, *snapper_, refuted(&d == &defects_[0])));
    take_defects();
    ASSAY_CHECK(d.streams(plan, where, *snapper_));
    take_defects();
  }
  definedness(diff, c_plan);
  c_plan = r_plan = {};  // memory: those of single elements follow
  try {
    quality(diff);
  } catch (const Late&) {
    verdict_.findings.push_back(
        {"note", Severity::Info, "no time left to look at rounding and special values", {}});
  }
  budget_.lap("search");
  return {};
}

Status ShapeCheck::hazards_of(size_t side, const Plan& plan) {
  for (size_t s = 0; s < plan.steps.size(); ++s)
    if (plan.steps[s].launch)
      defects_[side].start_hazards(s, plan.steps[s].launch->ctas, options_.jobs > 1);
  return defects_[side].hazards();
}

void ShapeCheck::take_defects(bool all) {
  for (Defects& d : defects_) d.take(verdict_.findings, out_.results, all);
}

// by_value: also where values refute, which they do only against a sound reference.
bool ShapeCheck::refuted(bool by_value) const {
  return std::any_of(out_.results.begin(), out_.results.end(), [&](const LocationResult& r) {
    return r.kind == VerdictKind::Refuted && (by_value || !refuted_by_value(r));
  });
}

bool ShapeCheck::refuted_by_value(const LocationResult& r) {
  return r.cls == "value" || r.cls == "undefined" || r.cls == "default-parameters";
}

// Where the stores of a grid are too many to be run.
void ShapeCheck::note_samples(const Side& side) {
  for (const auto& launch : side.launches) {
    if (launch == nullptr) continue;
    const auto cover = launch->coverage();
    if (!cover || !(*cover)->sampled || (*cover)->sampled_ctas >= launch->num_ctas()) continue;
    const std::string who = !dual_ ? "" : &side == &candidate_ ? "candidate: " : "reference: ";
    add_once(
        fmt::format("{}the stores of {} of {} CTAs were run; those of the others are predicted",
                    who, (*cover)->sampled_ctas, launch->num_ctas()));
  }
}

void ShapeCheck::note_assumptions() {
  note_samples(candidate_);
  note_samples(reference_);
  for (const SymbolInfo& info : reference_.symbols) {
    if (program::dtype_is_float(info.dtype) || !info.range) continue;
    add_once(fmt::format("{} holds integers from {} to {}, as in the example", info.name,
                         info.range->first, info.range->second));
  }
  for (const Side* side : {&candidate_, &reference_}) {
    const std::string who = !dual_ ? "" : side == &candidate_ ? "candidate: " : "reference: ";
    for (const program::SymbolicScalar& scalar : side->program->scalars)
      if (scalar.expression != "identity(" + scalar.name + ")")  // an argument of its own
        add_once(fmt::format("{}the host computes {} = {} (fitted by probing)", who, scalar.name,
                             scalar.expression));
    for (const program::Module& m : side->program->modules)
      if (m.semantic_ptx.empty())
        add_once(m.name + ": PTX alone; there is no real build to compare with");
    for (const program::Module& m : side->program->modules)
      for (const auto& [name, meaning] : m.functions)
        add_once(fmt::format("{} computes {}, as the launch file says", name, meaning));
  }
}

void ShapeCheck::add_once(std::string text) {
  auto& all = verdict_.assumptions;
  if (std::find(all.begin(), all.end(), text) == all.end()) all.push_back(std::move(text));
}

// Those of the candidate's CTAs; where the reference is a kernel too, also those of its own.
Result<LocationPlan> ShapeCheck::chosen_locations(int64_t limit) {
  ASSAY_TRY(LocationPlan plan, choose_locations(candidate_, pairs_, options_.whole, limit));
  if (!dual_ || plan.whole) return plan;
  std::vector<OutputPair> swapped = pairs_;
  for (OutputPair& p : swapped) std::swap(p.candidate, p.reference);
  ASSAY_TRY(const LocationPlan more, choose_locations(reference_, swapped, false, limit / 4));
  for (size_t k = 0; k < plan.outputs.size(); ++k) {
    Positions& all = plan.outputs[k];
    all.insert(all.end(), more.outputs[k].begin(), more.outputs[k].end());
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
  }
  return plan;
}

// A launch in which a warp never ends leaves no result at all.
Result<bool> ShapeCheck::launches_end() {
  for (const auto& launch : candidate_.launches) {
    if (!launch) continue;
    ASSAY_TRY(const auto endless, launch->endless());
    if (!endless) continue;
    LocationResult r;
    r.kind = VerdictKind::Refuted;
    r.cls = "endless";
    r.reason = fmt::format("warp {} of CTA {} never leaves a loop, whatever the data",
                           endless->warp, endless->cta);
    r.loc = endless->loc;
    r.count = 0;
    for (const OutputPair& p : pairs_) r.count += static_cast<uint64_t>(p.numel());
    r.witness = any_input("the control of that CTA");
    out_.results.push_back(std::move(r));
    return false;
  }
  return true;
}

Result<LocationPlan> ShapeCheck::locations(int64_t limit) {
  if (chooses()) return chosen_locations(limit);
  LocationPlan plan;
  plan.outputs.resize(pairs_.size());
  for (const uint64_t cta : options_.at_ctas) {
    ASSAY_TRY(const std::vector<Positions> all, positions_of_cta(candidate_, pairs_, cta));
    for (size_t k = 0; k < pairs_.size(); ++k)
      plan.outputs[k].insert(plan.outputs[k].end(), all[k].begin(), all[k].end());
  }
  for (const Location& l : options_.at) {
    if (l.output < 0 || static_cast<size_t>(l.output) >= pairs_.size())
      return fail(DiagKind::Invalid, fmt::format("--at: there is no output {}", l.output));
    const auto& shape = pairs_[static_cast<size_t>(l.output)].reference.shape;
    if (l.index.size() != shape.size())
      return fail(DiagKind::Invalid,
                  fmt::format("--at: output {} has {} dimensions", l.output, shape.size()));
    int64_t position = 0;
    for (size_t d = 0; d < shape.size(); ++d) {
      if (l.index[d] < 0 || l.index[d] >= shape[d])
        return fail(DiagKind::Invalid, fmt::format("--at: index {} is out of range", l.index[d]));
      position = position * shape[d] + l.index[d];
    }
    plan.outputs[static_cast<size_t>(l.output)].push_back(position);
  }
  for (auto& p : plan.outputs) {
    std::sort(p.begin(), p.end());
    p.erase(std::unique(p.begin(), p.end()), p.end());
  }
  return plan;
}

// What a reference gives that is not run, or depends on timing, says nothing about a difference.
void ShapeCheck::spare_candidate() {
  for (const Defects& d : defects_) {
    if (d.spoiled().empty()) continue;
    for (LocationResult& r : out_.results) {
      if (r.kind != VerdictKind::Refuted || !refuted_by_value(r)) continue;
      r.kind = VerdictKind::Unknown;
      r.reason += "; but the reference is no measure: " + d.spoiled();
    }
  }
}

void ShapeCheck::finish() {
  spare_candidate();
  for (LocationResult& r : out_.results)
    if (r.witness && r.witness->inputs) r.witness->inputs->changed = pair_.reference.changed;
  if (snapper_)
    for (const auto& [literal, ideal] : snapper_->moved())
      verdict_.snaps.push_back({literal, ideal});
  std::stable_sort(out_.results.begin(), out_.results.end(),
                   [](const LocationResult& a, const LocationResult& b) {
                     if (a.kind != b.kind) return a.kind > b.kind;
                     return !a.side.empty() &&
                            b.side.empty();  // the cause before what it leaves open
                   });
  out_.kind = VerdictKind::Proved;
  for (const LocationResult& r : out_.results) out_.kind = worse(out_.kind, r.kind);
  if (out_.results.empty() && pairs_.empty()) out_.kind = VerdictKind::Unknown;
}

}  // namespace assay::check
