// The verdict over shapes.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "check/shape_check.h"

namespace assay::check {

VerdictKind worse(VerdictKind a, VerdictKind b) { return std::max(a, b); }

namespace {

constexpr Clock::duration kLaterCall = std::chrono::seconds(5);   // of a further call
constexpr Clock::duration kLeastShare = std::chrono::seconds(2);  // of one altered shape

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
