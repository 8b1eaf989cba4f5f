// Images of all locations, by parts, with merged selects, behind lemmas, or runs where no formula
// can be made.
#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <unordered_set>

#include "check/classes.h"
#include "check/concrete.h"
#include "check/lemma_refute.h"
#include "check/order.h"
#include "check/shape_check.h"

namespace assay::check {

namespace {

// Warp instructions and rows of nests up to which a program of several steps is evaluated as it is.
constexpr uint64_t kDirect = 8'000'000;
constexpr size_t kLeastParts = 8;

// The first, then ever closer to all of them; the last one at the end.
std::vector<size_t> spread_order(size_t n) {
  std::vector<size_t> out;
  size_t top = 1;
  while (top < n) top *= 2;
  for (size_t step = top; step >= 1; step /= 2)
    for (size_t k = 0; k + 1 < n; k += step)
      if (step == top || k % (2 * step) != 0) out.push_back(k);
  out.push_back(n - 1);
  return out;
}

// Positions of parts that were not compared.
void leave_out(const Parts& split, const std::vector<size_t>& parts,
               std::vector<Positions>& positions) {
  for (size_t k = 0; k < positions.size(); ++k) {
    std::unordered_set<int64_t> gone;
    for (const size_t part : parts)
      gone.insert(split.parts[part][k].begin(), split.parts[part][k].end());
    Positions& all = positions[k];
    all.erase(std::remove_if(all.begin(), all.end(), [&](int64_t p) { return gone.count(p) != 0; }),
              all.end());
  }
}

}  // namespace

// Runs on inputs may refute where no formula can be made. What stops the trace stays beside it.
void ShapeCheck::run_without_trace(const LocationPlan& where, Diag& stop) {
  constexpr Clock::duration kShare = std::chrono::seconds(20);
  const Status watched = defects_[0].hazards();                   // they say more than a value
  const Status other = dual_ ? defects_[1].hazards() : Status{};  // plans read the same coverage
  const auto r_plan = make_plan(reference_, wants_of(pairs_, where.outputs, false));
  take_defects();
  if (!watched || !other || !r_plan || refuted(true)) return;
  const ConcreteRequest request{candidate_,    reference_,
                                *r_plan,       pairs_,
                                where,         symbols_,
                                *snapper_,     {options_.rtol, options_.atol},
                                options_.seed, std::min(budget_.deadline, Clock::now() + kShare)};
  ConcreteResult found = run_concretely(request);
  for (Finding& f : found.findings) verdict_.findings.push_back(std::move(f));
  for (size_t k = 0; k < pairs_.size(); ++k) out_.outputs[k].checked = where.outputs[k].size();
  if (found.refuted)
    out_.results.push_back(std::move(*found.refuted));
  else if (found.runs > 0)
    stop.message +=
        fmt::format("; {} runs of the real build on inputs show no difference", found.runs);
  else if (!found.why.empty())
    stop.message += fmt::format("; no run of the real build: {}", found.why);
  budget_.lap("concrete runs");
}

// Images at all locations, while hazards are looked for. CTAs of one launch are traced and
// compared one after the other where they are large, so that memory does not grow with their
// number; those for which half of the time does not suffice are left out of the positions. Leaves
// the plans of all locations; where nothing more asks for them, of the last CTA alone.
Result<ImageDiff> ShapeCheck::images(std::vector<Positions>& positions, Plan& c_plan,
                                     Plan& r_plan) {
  const auto half = Clock::now() + (budget_.deadline - Clock::now()) / 2;
  const Parts split = dual_ ? Parts{{positions}, {}} : by_cta(candidate_, pairs_, positions);
  const auto watch = [&](size_t step, const std::vector<uint32_t>& ctas) {
    defects_[0].start_hazards(step, split.ctas.empty() ? ctas : split.ctas, options_.jobs > 1);
  };
  const std::vector<size_t> order = spread_order(split.parts.size());
  ASSAY_TRY(ImageDiff diff, images_of(split.parts[order[0]], watch, c_plan, r_plan));
  if (settled_) return diff;
  for (size_t k = 1; k < order.size(); ++k) {
    const bool last = k + 1 == order.size();
    if (Clock::now() > half && k >= kLeastParts && !last) {
      leave_out(split, {order.begin() + static_cast<ptrdiff_t>(k), order.end() - 1}, positions);
      k = order.size() - 1;
    }
    ASSAY_TRY(const ImageDiff more, images_of(split.parts[order[k]], {}, c_plan, r_plan));
    diff.append(more);
  }
  ASSAY_CHECK(defects_[0].hazards());
  if (dual_) ASSAY_CHECK(defects_[1].hazards());
  budget_.lap("hazards");
  if (split.parts.size() == 1 || (diff.extra.empty() && !defects_[0].undecided())) return diff;
  return images_of(positions, {}, c_plan, r_plan);
}

Result<ImageDiff> ShapeCheck::images_of(const std::vector<Positions>& positions,
                                        const BeforeTrace& watch, Plan& c_plan, Plan& r_plan) {
  c_plan = {}, r_plan = {};  // memory
  BeforeTrace watch_reference;
  if (dual_ && watch)
    watch_reference = [&](size_t step, const std::vector<uint32_t>& ctas) {
      defects_[1].start_hazards(step, ctas, options_.jobs > 1);
    };
  auto reference_plan =
      std::async(options_.jobs > 1 ? std::launch::async : std::launch::deferred, [&] {
        return make_plan(reference_, wants_of(pairs_, positions, false), false, watch_reference);
      });
  ASSAY_TRY(c_plan, make_plan(candidate_, wants_of(pairs_, positions, true), false, watch));
  budget_.lap("trace");
  ASSAY_TRY(r_plan, reference_plan.get());
  budget_.lap("trace of the reference");
  for (double b : boundaries_of(reference_, r_plan)) boundaries_.push_back(b);
  for (double b : boundaries_of(candidate_, c_plan)) boundaries_.push_back(b);
  std::sort(boundaries_.begin(), boundaries_.end());
  boundaries_.erase(std::unique(boundaries_.begin(), boundaries_.end()), boundaries_.end());
  if (watch && unlike_work(c_plan, r_plan)) {
    ASSAY_CHECK(defects_[0].hazards());  // they and plans of single elements read one coverage
    if (dual_) ASSAY_CHECK(defects_[1].hazards());
    settled_ = refuted_at_once(positions) || refuted(true);
    if (settled_) return ImageDiff{};
  }
  if (std::optional<ImageDiff> equal = congruent_images(positions, c_plan, r_plan)) {
    budget_.lap("fingerprint");
    return std::move(*equal);
  }
  ImageDiff diff = compare_images(candidate_, c_plan, reference_, r_plan, pairs_, positions,
                                  *snapper_, options_.seed, options_.jobs);
  compare_merged(c_plan, r_plan, diff);
  budget_.lap("fingerprint");
  return diff;
}

// Behind results that both sides have by the same operators, where that saves much; nothing where
// these symbols leave anything open.
std::optional<ImageDiff> ShapeCheck::congruent_images(const std::vector<Positions>& positions,
                                                      const Plan& c_plan, const Plan& r_plan) {
  constexpr double kMuch = 1e6, kFactor = 2;
  const double whole = work(candidate_, c_plan) + work(reference_, r_plan);
  if (whole < kMuch) return {};
  if (congruent().candidate.empty()) return {};
  PlanRequest c_request, r_request;
  c_request.cuts = congruent().candidate;
  r_request.cuts = congruent().reference;
  const auto c_cut = make_plan(candidate_, wants_of(pairs_, positions, true), c_request);
  const auto r_cut = make_plan(reference_, wants_of(pairs_, positions, false), r_request);
  if (!c_cut || !r_cut) return {};
  if (kFactor * (work(candidate_, *c_cut) + work(reference_, *r_cut)) > whole) return {};
  ImageDiff diff = compare_images(candidate_, *c_cut, reference_, *r_cut, pairs_, positions,
                                  *snapper_, options_.seed, options_.jobs);
  for (size_t k = 0; k < pairs_.size(); ++k)
    if (diff.equal[k].size() != positions[k].size()) return {};
  if (!diff.extra.empty()) return {};
  return diff;
}

// Once more where images differ, with selects whose arms are one formula taken as that formula.
void ShapeCheck::compare_merged(const Plan& c_plan, const Plan& r_plan, ImageDiff& diff) {
  if (std::all_of(diff.differ.begin(), diff.differ.end(), [](auto& d) { return d.empty(); }))
    return;
  const std::optional<Plan> c_merged = merge_cases(c_plan), r_merged = merge_cases(r_plan);
  if (!c_merged && !r_merged) return;
  ImageDiff again = compare_images(candidate_, c_merged ? *c_merged : c_plan, reference_,
                                   r_merged ? *r_merged : r_plan, pairs_, diff.differ, *snapper_,
                                   options_.seed + 1, options_.jobs);
  bool better = false;
  for (size_t k = 0; k < pairs_.size(); ++k) better |= !again.equal[k].empty();
  if (!better) return;
  for (size_t k = 0; k < pairs_.size(); ++k) {
    diff.equal[k].insert(diff.equal[k].end(), again.equal[k].begin(), again.equal[k].end());
    std::sort(diff.equal[k].begin(), diff.equal[k].end());
    diff.differ[k] = std::move(again.differ[k]);
    diff.undefined[k].insert(diff.undefined[k].end(), again.undefined[k].begin(),
                             again.undefined[k].end());
  }
  diff.error_bound = std::max(diff.error_bound, again.error_bound);
  diff.extra = std::move(again.extra);  // of all locations: the plans are whole
  diff.folds.insert(diff.folds.end(), again.folds.begin(), again.folds.end());
}

const CongruentCuts& ShapeCheck::congruent() {
  if (!congruent_) congruent_ = congruent_cuts(candidate_, reference_);
  return *congruent_;
}

// Images would take more than a third of the time there is, by the operators alone.
bool ShapeCheck::too_long(const LocationPlan& where) {
  constexpr double kRowsPerSecond = 1e6;
  if (dual_ || options_.whole) return false;
  const double left = std::chrono::duration<double>(budget_.deadline - Clock::now()).count();
  PlanRequest limited;
  limited.cuts = congruent().reference;
  limited.limit = static_cast<uint64_t>(std::max(1.0, left / 3 * kRowsPerSecond));
  const auto plan = make_plan(reference_, wants_of(pairs_, where.outputs, false), limited);
  return !plan && plan.error().kind == DiagKind::Limit;
}

// A program of several steps whose cone is worth lemmas.
bool ShapeCheck::too_large(const LocationPlan& where) {
  const auto& steps = candidate_.program->steps;
  const auto computes = [&](size_t s) { return candidate_.launches[s] || candidate_.ops[s]; };
  size_t count = 0;
  for (size_t s = 0; s < steps.size(); ++s) count += computes(s) ? 1 : 0;
  if (count < 2 || !unordered_steps(candidate_).empty()) return false;
  PlanRequest limited;
  limited.limit = kDirect;
  const auto plan = make_plan(candidate_, wants_of(pairs_, where.outputs, true), limited);
  return !plan && plan.error().kind == DiagKind::Limit;
}

// False: there are no lemmas, or they leave something open that may be opened.
Result<bool> ShapeCheck::with_lemmas(const LocationPlan& where) {
  const auto now = Clock::now();
  const auto until = now + (budget_.deadline - now) * 7 / 10;
  LemmaRequest request{candidate_,    reference_,    symbols_, *snapper_,
                       options_.seed, options_.jobs, until,    nullptr};
  request.hazards = [&](const Plan& plan) { return hazards_of(0, plan); };
  ASSAY_TRY(Lemmas lemmas, find_lemmas(request));
  budget_.lap("lemmas");
  if (lemmas.empty()) return false;
  auto c_plan = make_plan(candidate_, wants_of(pairs_, where.outputs, true),
                          lemmas.request(true, 2 * kDirect));
  auto r_plan = make_plan(reference_, wants_of(pairs_, where.outputs, false),
                          lemmas.request(false, 2 * kDirect));
  if (!c_plan || !r_plan) return false;
  ASSAY_CHECK(hazards_of(0, *c_plan));
  if (dual_) ASSAY_CHECK(hazards_of(1, *r_plan));
  take_defects();
  const ImageDiff diff = compare_images(candidate_, *c_plan, reference_, *r_plan, pairs_,
                                        where.outputs, *snapper_, options_.seed, options_.jobs);
  budget_.lap("fingerprint");
  if (not_excluded(candidate_, *c_plan, symbols_, diff.extra) != nullptr) return false;
  for (size_t k = 0; k < pairs_.size(); ++k) {
    if (diff.equal[k].size() == where.outputs[k].size()) continue;
    return refute_behind(lemmas, k, diff);
  }
  verdict_.error_bound = std::max({verdict_.error_bound, diff.error_bound, lemmas.error_bound});
  note_assumptions();
  for (const std::string& f : diff.folds) verdict_.snaps.push_back({f, "folded"});
  for (const std::string& f : lemmas.folds) verdict_.snaps.push_back({f, "folded"});
  for (const LemmaClaim& claim : lemmas.claims) {
    if (claim.proved == claim.elements) continue;
    // An element of which nothing was seen may be wrong, and the outputs with it.
    LocationResult r;
    r.cls = "lemma";
    r.reason = "equal to the reference, " + given_text(claim);
    r.loc = claim.loc;
    out_.results.push_back(std::move(r));
  }
  verdict_.findings.push_back({"note",
                               Severity::Info,
                               "proved by lemmas: the real build was not run beside the proof, "
                               "rounding and special values were not looked at",
                               {}});
  out_.lemmas = std::move(lemmas.claims);
  for (size_t k = 0; k < pairs_.size(); ++k) {
    out_.outputs[k].checked = where.outputs[k].size();
    if (out_.results.empty()) out_.outputs[k].proved = where.outputs[k].size();
  }
  return true;
}

// A position that differs behind lemmas, from real inputs. False: none was found.
bool ShapeCheck::refute_behind(const Lemmas& lemmas, size_t k, const ImageDiff& diff) {
  if (diff.differ[k].empty() || dual_) return false;
  const OutputPair& pair = pairs_[k];
  const int64_t position = diff.differ[k].back();
  const std::vector<Positions> one = only(k, {position});
  PlanRequest c_request = lemmas.request(true, 2 * kDirect);
  const auto c_plan = make_plan(candidate_, wants_of(pairs_, one, true), c_request);
  const auto r_plan =
      make_plan(reference_, wants_of(pairs_, one, false), lemmas.request(false, 2 * kDirect));
  if (!c_plan || !r_plan) return false;
  const Tolerance tol = tolerance_of(pair.reference.dtype, options_.rtol, options_.atol);
  const auto now = Clock::now();
  std::optional<Plan> descending;
  if (defects_[0].races_in(*c_plan)) {
    c_request.descending = true;
    auto other = make_plan(candidate_, wants_of(pairs_, one, true), c_request);
    if (other) descending = std::move(*other);
  }
  auto found =
      refute_with_lemmas({candidate_, *c_plan, reference_, *r_plan, lemmas, pair, position,
                          symbols_, *snapper_, options_.seed, tol,
                          now + (budget_.deadline - now) / 2, descending ? &*descending : nullptr});
  budget_.lap("search behind lemmas");
  if (!found) return false;
  LocationResult& r = found->result;
  r.location = {pair.index, pair.name, unravel(position, pair.reference.shape)};
  r.loc = origin_of(candidate_, *c_plan, pair.candidate, position);
  r.count = diff.differ[k].size();
  if (found->schedules)
    defects_[0].blame_race(r, *c_plan, found->schedules->first, found->schedules->second);
  out_.results.push_back(std::move(r));
  out_.lemmas = lemmas.claims;
  return true;
}

// A side that does far less than the other has found a shorter way or left something out. Then a
// few inputs are tried before images, which for the longer side may cost all time there is.
bool ShapeCheck::unlike_work(const Plan& c_plan, const Plan& r_plan) const {
  constexpr double kMuch = 4e6, kFactor = 16;
  const double c = work(candidate_, c_plan), r = work(reference_, r_plan);
  return given_ && std::max(c, r) > kMuch && std::max(c, r) > kFactor * std::min(c, r);
}

double ShapeCheck::work(const Side& side, const Plan& plan) {  // operations on elements, roughly
  double sum = static_cast<double>(plan.live_nodes) * term::kRow;
  for (size_t s = 0; s < plan.steps.size(); ++s)
    for (size_t n = 0; n < plan.steps[s].nests.size(); ++n)
      sum += static_cast<double>(plan.steps[s].nests[n].count()) *
             static_cast<double>(side.ops[s]->shapes[n]->reduction_count);
  return sum;
}

// Of outputs that the reference computes and the candidate does not write: running statistics that
// are never updated, say.
std::vector<Positions> ShapeCheck::left_alone(const std::vector<Positions>& where) {
  std::vector<Positions> out(where.size());
  for (size_t k = 0; k < pairs_.size(); ++k)
    if (writers_of(candidate_, pairs_[k].candidate.buffer).empty() &&
        !writers_of(reference_, pairs_[k].reference.buffer).empty())
      out[k] = where[k];
  return out;
}

// The last location of each output. True: one of them refutes.
bool ShapeCheck::refuted_at_once(const std::vector<Positions>& where) {
  bool any = false;
  for (size_t k = 0; k < pairs_.size(); ++k) {
    if (where[k].empty()) continue;
    out_.outputs[k].checked = where[k].size();
    const auto cones = cones_of(k, where[k].back());
    if (!cones) continue;
    SearchResult found;
    const SearchRequest request = cones->request(*this);
    search_few(request, found);
    if (found.outcome != SearchResult::Outcome::Refuted) continue;
    any = true;
    add_refutation(request, found);
  }
  budget_.lap("quick search");
  return any;
}

}  // namespace assay::check
