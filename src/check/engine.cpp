// The ladder for one shape, and the verdict over shapes.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <future>
#include <map>
#include <set>
#include <tuple>

#include "base/deadline.h"
#include "check/alike.h"
#include "check/check.h"
#include "check/concrete.h"
#include "check/defects.h"
#include "check/lemma.h"
#include "check/lemma_refute.h"
#include "check/local.h"
#include "check/order.h"
#include "check/parts.h"
#include "check/prove.h"
#include "check/quality.h"
#include "check/refute.h"
#include "check/replay.h"
#include "check/values.h"

namespace assay::check {

using term::Snapper;

namespace {

constexpr Clock::duration kLaterCall = std::chrono::seconds(5);   // of a further call
constexpr Clock::duration kLeastShare = std::chrono::seconds(2);  // of one altered shape
// Warp instructions and rows of nests up to which a program of several steps is evaluated as it is.
constexpr uint64_t kDirect = 8'000'000;

VerdictKind worse(VerdictKind a, VerdictKind b) { return std::max(a, b); }

struct Budget {
  Clock::time_point start = Clock::now();
  Clock::time_point deadline;
  std::vector<Timing>* timings = nullptr;
  std::string prefix;
  Clock::time_point mark = Clock::now();
  double cpu_mark = usage().first;
  void lap(const std::string& phase) {
    const auto now = Clock::now();
    const auto [cpu, peak] = usage();
    auto at = std::find_if(timings->begin(), timings->end(),
                           [&](const Timing& t) { return t.phase == prefix + phase; });
    if (at == timings->end()) at = timings->insert(at, Timing{prefix + phase, 0, 0, 0});
    at->seconds += std::chrono::duration<double>(now - mark).count();
    at->cpu_seconds += cpu - cpu_mark;
    at->peak_memory = peak;
    mark = now;
    cpu_mark = cpu;
  }
  static std::pair<double, uint64_t> usage() {  // CPU seconds, peak memory in bytes
    rusage u{};
    getrusage(RUSAGE_SELF, &u);
    auto seconds = [](const timeval& t) {
      return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
    };
    return {seconds(u.ru_utime) + seconds(u.ru_stime), static_cast<uint64_t>(u.ru_maxrss) * 1024};
  }
};

class ShapeCheck {
 public:
  ShapeCheck(const Pair& pair, const CheckOptions& options, Verdict& verdict, Budget budget,
             bool given)
      : pair_(pair),
        options_(options),
        verdict_(verdict),
        budget_(std::move(budget)),
        given_(given) {}

  ShapeResult run() {
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
  bool internal() const { return internal_; }

 private:
  Status body() {
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
      defects_.emplace_back(SideName::Reference, reference_, pairs_, symbols_, options_.seed,
                            dual_);
    for (Defects& d : defects_) d.recorded(given_);
    for (const OutputPair& p : pairs_)
      out_.outputs.push_back({p.name, p.reference.shape, static_cast<uint64_t>(p.numel()), 0, 0});
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
    ASSAY_TRY(const LocationPlan where, locations(limit));
    if (too_large(where)) {
      ASSAY_TRY(const bool done, with_lemmas(where));
      if (done) return {};
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

  // Runs on inputs may refute where no formula can be made. What stops the trace stays beside it.
  void run_without_trace(const LocationPlan& where, Diag& stop) {
    constexpr Clock::duration kShare = std::chrono::seconds(20);
    const auto r_plan = make_plan(reference_, wants_of(pairs_, where.outputs, false));
    const Status watched = defects_[0].hazards();  // they say more than a value
    take_defects();
    if (!watched || !r_plan || refuted(true)) return;
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
  // number. Leaves the plans of all locations; where nothing more asks for them, of the last
  // CTA alone.
  Result<ImageDiff> images(const std::vector<Positions>& positions, Plan& c_plan, Plan& r_plan) {
    const Parts split = dual_ ? Parts{{positions}, {}} : by_cta(candidate_, pairs_, positions);
    const auto watch = [&](size_t step, const std::vector<uint32_t>& ctas) {
      defects_[0].start_hazards(step, split.ctas.empty() ? ctas : split.ctas, options_.jobs > 1);
    };
    ASSAY_TRY(ImageDiff diff, images_of(split.parts[0], watch, c_plan, r_plan));
    if (settled_) return diff;
    for (size_t k = 1; k < split.parts.size(); ++k) {
      ASSAY_TRY(const ImageDiff more, images_of(split.parts[k], {}, c_plan, r_plan));
      diff.append(more);
    }
    ASSAY_CHECK(defects_[0].hazards());
    if (dual_) ASSAY_CHECK(hazards_of(1, r_plan));
    budget_.lap("hazards");
    if (split.parts.size() == 1 || (diff.extra.empty() && !defects_[0].undecided())) return diff;
    return images_of(positions, {}, c_plan, r_plan);
  }
  Result<ImageDiff> images_of(const std::vector<Positions>& positions, const BeforeTrace& watch,
                              Plan& c_plan, Plan& r_plan) {
    c_plan = {}, r_plan = {};  // memory
    auto reference_plan =
        std::async(options_.jobs > 1 ? std::launch::async : std::launch::deferred,
                   [&] { return make_plan(reference_, wants_of(pairs_, positions, false)); });
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
      settled_ = refuted_at_once(positions);
      if (settled_) return ImageDiff{};
    }
    ImageDiff diff = compare_images(candidate_, c_plan, reference_, r_plan, pairs_, positions,
                                    *snapper_, options_.seed, options_.jobs);
    compare_merged(c_plan, r_plan, diff);
    budget_.lap("fingerprint");
    return diff;
  }

  // Once more where images differ, with selects whose arms are one formula taken as that formula.
  void compare_merged(const Plan& c_plan, const Plan& r_plan, ImageDiff& diff) {
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

  // A program of several steps whose cone is worth lemmas.
  bool too_large(const LocationPlan& where) {
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

  Status hazards_of(size_t side, const Plan& plan) {
    for (size_t s = 0; s < plan.steps.size(); ++s)
      if (plan.steps[s].launch)
        defects_[side].start_hazards(s, plan.steps[s].launch->ctas, options_.jobs > 1);
    return defects_[side].hazards();
  }

  // False: there are no lemmas, or they leave something open that may be opened.
  Result<bool> with_lemmas(const LocationPlan& where) {
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
  bool refute_behind(const Lemmas& lemmas, size_t k, const ImageDiff& diff) {
    if (diff.differ[k].empty() || dual_) return false;
    const OutputPair& pair = pairs_[k];
    const int64_t position = diff.differ[k].back();
    std::vector<Positions> one(pairs_.size());
    one[k] = {position};
    const auto c_plan =
        make_plan(candidate_, wants_of(pairs_, one, true), lemmas.request(true, 2 * kDirect));
    const auto r_plan =
        make_plan(reference_, wants_of(pairs_, one, false), lemmas.request(false, 2 * kDirect));
    if (!c_plan || !r_plan) return false;
    const Tolerance tol = tolerance_of(pair.reference.dtype, options_.rtol, options_.atol);
    const auto now = Clock::now();
    auto found = refute_with_lemmas({candidate_, *c_plan, reference_, *r_plan, lemmas, pair,
                                     position, symbols_, *snapper_, options_.seed, tol,
                                     now + (budget_.deadline - now) / 2});
    budget_.lap("search behind lemmas");
    if (!found) return false;
    found->location = {pair.index, pair.name, unravel(position, pair.reference.shape)};
    found->loc = origin_of(candidate_, *c_plan, pair.candidate, position);
    found->count = diff.differ[k].size();
    out_.results.push_back(std::move(*found));
    out_.lemmas = lemmas.claims;
    return true;
  }

  void take_defects(bool all = false) {
    for (Defects& d : defects_) d.take(verdict_.findings, out_.results, all);
  }
  // by_value: also where values refute, which they do only against a sound reference.
  bool refuted(bool by_value) const {
    return std::any_of(out_.results.begin(), out_.results.end(), [&](const LocationResult& r) {
      return r.kind == VerdictKind::Refuted && (by_value || !refuted_by_value(r));
    });
  }
  static bool refuted_by_value(const LocationResult& r) {
    return r.cls == "value" || r.cls == "undefined" || r.cls == "default-parameters";
  }

  // Where the stores of a grid are too many to be run.
  void note_samples(const Side& side) {
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

  void note_assumptions() {
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
  void add_once(std::string text) {
    auto& all = verdict_.assumptions;
    if (std::find(all.begin(), all.end(), text) == all.end()) all.push_back(std::move(text));
  }

  // Those of the candidate's CTAs; where the reference is a kernel too, also those of its own.
  Result<LocationPlan> chosen_locations(int64_t limit) {
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
  Result<bool> launches_end() {
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

  Result<LocationPlan> locations(int64_t limit) {
    if (options_.at.empty() && (options_.at_ctas.empty() || !given_))
      return chosen_locations(limit);
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

  // Every position whose images differ is looked at: three of them by a search, then, unless one of
  // them refutes, all by local proofs. What no time is left for is unknown, never counted as
  // proved.
  Status examine(const ImageDiff& diff) {
    for (size_t k = 0; k < pairs_.size(); ++k) {
      Positions open = diff.differ[k];
      open.insert(open.end(), diff.undefined[k].begin(), diff.undefined[k].end());
      std::sort(open.begin(), open.end());
      if (open.empty()) continue;
      const std::set<int64_t> picks = {open.front(), open[open.size() / 2], open.back()};
      std::map<int64_t, int64_t> done;
      bool refuted = false, open_end = false;
      for (int64_t position : picks) {
        const size_t before = out_.results.size();
        const bool proved = examine_one(k, position, true);
        done[position] = proved ? -1 : static_cast<int64_t>(before);
        refuted = refuted || (out_.results.size() > before &&
                              out_.results.back().kind == VerdictKind::Refuted);
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
  void examine_rest(size_t k, const Positions& open, const std::map<int64_t, int64_t>& done) {
    std::map<std::pair<VerdictKind, std::string>, int64_t>
        said;  // results that say the same are one
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

  std::vector<Positions> alike_positions(size_t k, const Positions& open) {
    constexpr size_t kFew = 16;  // not worth a plan of their own
    if (open.size() > kFew) {
      std::vector<Positions> all(pairs_.size());
      all[k] = open;
      auto c_plan = make_plan(candidate_, wants_of(pairs_, all, true));
      auto r_plan = make_plan(reference_, wants_of(pairs_, all, false));
      if (c_plan && r_plan) return alike(candidate_, *c_plan, reference_, *r_plan, pairs_[k], open);
    }
    std::vector<Positions> alone;
    for (int64_t position : open) alone.push_back({position});
    return alone;
  }

  void not_examined(size_t k, uint64_t count) {
    LocationResult r;
    r.kind = VerdictKind::Unknown;
    r.cls = "limit";
    r.location.output = pairs_[k].index;
    r.location.output_name = pairs_[k].name;
    r.count = count;
    r.reason =
        fmt::format("images differ at {} further locations that no time was spent on", count);
    out_.results.push_back(std::move(r));
  }

  // Partial functions of the candidate whose definedness does not follow from the reference's: by
  // intervals, else a location is searched for an input that breaks them.
  void definedness(const ImageDiff& diff, const Plan& c_plan) {
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
    r.reason =
        fmt::format("the candidate {} where the reference does not, and no bound excludes it",
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
  int64_t written_position(const OutputPair& pair, const Positions& positions) {
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
  void quality(const ImageDiff& diff) {
    if (!given_) return;
    for (size_t k = 0; k < pairs_.size(); ++k) {
      if (diff.equal[k].empty()) continue;
      const int64_t position = written_position(pairs_[k], diff.equal[k]);
      std::vector<Positions> one(pairs_.size());
      one[k] = {position};
      auto c_plan = make_plan(candidate_, wants_of(pairs_, one, true));
      auto r_plan = make_plan(reference_, wants_of(pairs_, one, false));
      if (!c_plan || !r_plan) continue;
      const auto until = std::min(budget_.deadline, Clock::now() + std::chrono::seconds(2));
      const Snapper snapper = *snapper_;
      const QualityRequest request{
          {candidate_, *c_plan, reference_, *r_plan, pairs_[k], position, snapper, until},
          options_.seed};
      auto beside =
          std::async(options_.jobs > 1 ? std::launch::async : std::launch::deferred, [&request] {
            std::vector<Finding> found;
            accuracy_findings(request, found);
            special_value_findings(request, found);
            return found;
          });
      cross_check(*c_plan, *r_plan, k, position);
      for (Finding& f : beside.get()) verdict_.findings.push_back(std::move(f));
    }
  }

  // A proved location on one random input of the domain: the real build, run concretely, must agree
  // with the exact value of the reference up to rounding. If not, nothing is proved.
  void cross_check(const Plan& c_plan, const Plan& r_plan, size_t k, int64_t position) {
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

  void cross_check_build(Side& side, const Plan& plan, const program::TensorView& view, size_t k,
                         int64_t position, const Experiment& e, const ExactValue& exact) {
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

  // A side that does far less than the other has found a shorter way or left something out. Then a
  // few inputs are tried before images, which for the longer side may cost all time there is.
  bool unlike_work(const Plan& c_plan, const Plan& r_plan) const {
    constexpr double kMuch = 4e6, kFactor = 16;
    const double c = work(candidate_, c_plan), r = work(reference_, r_plan);
    return given_ && std::max(c, r) > kMuch && std::max(c, r) > kFactor * std::min(c, r);
  }
  static double work(const Side& side, const Plan& plan) {  // operations on elements, roughly
    double sum = static_cast<double>(plan.live_nodes) * term::kRow;
    for (size_t s = 0; s < plan.steps.size(); ++s)
      for (size_t n = 0; n < plan.steps[s].nests.size(); ++n)
        sum += static_cast<double>(plan.steps[s].nests[n].count()) *
               static_cast<double>(side.ops[s]->shapes[n]->reduction_count);
    return sum;
  }

  // The last location of each output.
  bool refuted_at_once(const std::vector<Positions>& where) {
    for (size_t k = 0; k < pairs_.size(); ++k) {
      if (where[k].empty()) continue;
      out_.outputs[k].checked = where[k].size();
      const auto cones = cones_of(k, where[k].back());
      if (!cones) continue;
      SearchResult found;
      const SearchRequest request = cones->request(*this);
      search_few(request, found);
      if (found.outcome == SearchResult::Outcome::Refuted) add_refutation(request, found);
    }
    budget_.lap("quick search");
    return refuted(true);
  }

  // One location with its plans.
  struct Cones {
    size_t k;
    int64_t position;
    Plan c_plan, r_plan;
    Tolerance tolerance;
    SearchRequest request(ShapeCheck& check) const {
      const auto now = Clock::now();  // half of the time is for proofs
      const auto half =
          std::chrono::duration_cast<Clock::duration>((check.budget_.deadline - now) / 2);
      return {{check.candidate_, c_plan, check.reference_, r_plan, check.pairs_[k], position,
               *check.snapper_, std::min(check.budget_.deadline, now + half)},
              tolerance};
    }
  };
  Result<Cones> cones_of(size_t k, int64_t position) {
    std::vector<Positions> one(pairs_.size());
    one[k] = {position};
    Cones out{
        k, position, {}, {}, tolerance_of(pairs_[k].reference.dtype, options_.rtol, options_.atol)};
    ASSAY_TRY(out.c_plan, make_plan(candidate_, wants_of(pairs_, one, true)));
    ASSAY_TRY(out.r_plan, make_plan(reference_, wants_of(pairs_, one, false)));
    return out;
  }

  // True: proved locally. False: a result was added. `thorough`: all experiments, else the first
  // few.
  bool examine_one(size_t k, int64_t position, bool thorough) {
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

  void add_refutation(const SearchRequest& rq, const SearchResult& found) {
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
  }

  std::vector<Experiment> experiments_for(const SearchRequest& rq,
                                          const std::vector<Suspect>& spots) {
    const std::vector<Suspect> suspects =
        support_difference(candidate_, rq.c_plan, reference_, rq.r_plan);
    std::vector<Experiment> all = refuting_;  // what refuted other locations comes first
    for (Experiment& e :
         structured_experiments(symbols_, suspects, spots, boundaries_, options_.seed))
      all.push_back(std::move(e));
    return all;
  }
  void search_few(const SearchRequest& rq, SearchResult& found) {
    constexpr size_t kFew = 8;
    const std::vector<Experiment> all = experiments_for(rq, {});
    search(rq, std::span(all).first(std::min(all.size(), refuting_.size() + kFew)), found);
  }

  // A few inputs of every kind; where they show no more than rounding, a look at the formulas,
  // which may prove the location; bands of large elements, then the other inputs.
  SearchResult search_location(const SearchRequest& rq, bool thorough,
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
  LocalResult look(const SearchRequest& rq) {
    LocalRequest local{rq, options_.seed};
    local.deadline = budget_.deadline;
    return prove_locally(local);
  }

  // The witness on the real builds: what a GPU would compute. Of two kernels both must show it.
  void confirm(LocationResult& r, const Plan& c_plan, const Plan& r_plan, const OutputPair& pair,
               int64_t position, const Tolerance& tol) {
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
  LocationResult settle(const SearchRequest& rq, const SearchResult& found,
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
  bool default_parameters_hide(const SearchRequest& rq, const std::optional<Witness>& witness) {
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

  // What a reference gives that is not run, or depends on timing, says nothing about a difference.
  void spare_candidate() {
    for (const Defects& d : defects_) {
      if (d.spoiled().empty()) continue;
      for (LocationResult& r : out_.results) {
        if (r.kind != VerdictKind::Refuted || !refuted_by_value(r)) continue;
        r.kind = VerdictKind::Unknown;
        r.reason += "; but the reference is no measure: " + d.spoiled();
      }
    }
  }

  void finish() {
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

  const Pair& pair_;
  const CheckOptions& options_;
  Verdict& verdict_;
  Budget budget_;
  bool given_;
  bool internal_ = false;
  Side candidate_, reference_;
  bool dual_ = false;                // the reference is a kernel too
  std::vector<SymbolInfo> symbols_;  // the reference's, then those that only the candidate has
  std::vector<OutputPair> pairs_;
  std::deque<Defects> defects_;  // of the candidate and, where it is a kernel, of the reference
  std::optional<Snapper> snapper_;
  std::vector<double> boundaries_;
  bool settled_ = false;              // refuted before images were compared
  std::vector<Experiment> refuting_;  // inputs that refuted a location: the first to try at others
  ShapeResult out_;
};

// A further call of the candidate is checked like the first one: it has to give what the reference
// gives on its own inputs.
void check_later_call(const Pair& given, const host::LaterCall& later, const CheckOptions& options,
                      Clock::time_point deadline, Verdict& v) {
  Pair pair;
  pair.change = later.what;
  pair.candidate = later.program;
  pair.reference = given.reference;
  Verdict scratch;
  Budget budget;
  budget.deadline = deadline;
  budget.timings = &v.timings;
  budget.prefix = "later call: ";
  ShapeCheck one(pair, options, scratch, budget, false);
  const ShapeResult result = one.run();
  std::string text = later.what;
  if (!later.differs.empty()) text += " (" + later.differs + ")";
  if (result.kind == VerdictKind::Refuted) {
    text += ", is wrong: " + result.results[0].reason;
    if (later.from_inputs) text += "; it uses what an earlier call computed from its inputs";
    v.findings.push_back({"harness-cheat", Severity::High, text, result.results[0].loc});
  } else if (result.kind != VerdictKind::Proved) {
    if (!result.results.empty()) text += ", is not proved: " + result.results[0].reason;
    v.findings.push_back({"static-state", Severity::Low, text, {}});
  } else if (later.from_parameters && !later.differs.empty()) {
    text += ", uses what an earlier call computed from parameters: they must not change";
    v.findings.push_back({"static-state", Severity::Low, text, {}});
  }
}

void dedupe(Verdict& v) {
  std::set<std::pair<std::string, std::string>> seen;
  std::vector<Snap> snaps;
  for (Snap& s : v.snaps)
    if (seen.insert({s.literal, s.ideal}).second) snaps.push_back(std::move(s));
  v.snaps = std::move(snaps);
  std::set<std::tuple<std::string, std::string, std::string>> known;
  std::vector<Finding> findings;
  for (Finding& f : v.findings)
    if (known.insert({f.kind, f.message, f.side}).second) findings.push_back(std::move(f));
  v.findings = std::move(findings);
}

std::string summarize(const Verdict& v) {
  const ShapeResult& given = v.shapes[0];
  uint64_t proved = 0, checked = 0, all = 0;
  for (const OutputCoverage& o : given.outputs)
    proved += o.proved, checked += o.checked, all += o.elements;
  switch (v.kind) {
    case VerdictKind::Proved:
      return fmt::format(
          "equal to the reference at {} of {} output elements ({:.3g} %), for all inputs", proved,
          all, all == 0 ? 0.0 : 100.0 * static_cast<double>(proved) / static_cast<double>(all));
    case VerdictKind::Refuted:
      return given.results.empty()
                 ? "refuted"
                 : fmt::format("{}: {}", given.results[0].cls, given.results[0].reason);
    default:
      return given.results.empty() ? "" : given.results[0].reason;
  }
}

}  // namespace

Result<Verdict> check_programs(const std::vector<Pair>& pairs, const CheckOptions& options) {
  if (pairs.empty()) return fail(DiagKind::Invalid, "nothing to check");
  Verdict v;
  const auto start = Clock::now();
  const auto total =
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options.timeout_s));
  Clock::time_point altered_end;
  for (size_t k = 0; k < pairs.size(); ++k) {
    const auto now = Clock::now();
    if (k == 1) altered_end = std::min(start + total * 9 / 10, now + total / 4);
    if (k > 0 && now > altered_end) {
      v.findings.push_back({"note",
                            Severity::Info,
                            fmt::format("no time left for the altered shape {}", pairs[k].change),
                            {}});
      continue;
    }
    Budget budget;
    // What the given shape leaves unanswered, smaller ones may still tell.
    budget.deadline = start + (k == 0 && pairs.size() > 1 ? total * 6 / 10 : total);
    if (k > 0) {
      const auto share = (altered_end - now) / static_cast<int64_t>(pairs.size() - k);
      budget.deadline = std::min(budget.deadline, now + std::max(share, kLeastShare));
    }
    budget.timings = &v.timings;
    budget.prefix = pairs[k].change.empty() ? "" : pairs[k].change + ": ";
    ShapeCheck one(pairs[k], options, v, budget, k == 0);
    v.shapes.push_back(one.run());
    if (one.internal()) return fail(DiagKind::Internal, v.shapes.back().results.back().reason);
    if (k == 0 && v.shapes[0].kind != VerdictKind::Refuted) {
      for (const host::LaterCall& later : pairs[0].later)
        check_later_call(pairs[0], later, options,
                         std::min(start + total, Clock::now() + kLaterCall), v);
    }
    if (k == 0) continue;
    if (v.shapes.back().kind == VerdictKind::Refuted && v.shapes[0].kind != VerdictKind::Refuted)
      v.findings.push_back(
          {"other-shapes", Severity::High,
           fmt::format("wrong at {}: {}", pairs[k].change, v.shapes.back().results[0].reason),
           v.shapes.back().results[0].loc});
  }
  v.kind = v.shapes[0].kind;
  v.domain.push_back(
      "all inputs on which the reference is defined and its intermediates are finite; floats over "
      "the reals");
  dedupe(v);
  v.summary = summarize(v);
  v.peak_memory = Budget::usage().second;
  return v;
}

}  // namespace assay::check
