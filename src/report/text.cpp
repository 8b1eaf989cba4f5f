#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <set>
#include <tuple>

#include "report/paint.h"
#include "report/report.h"

namespace assay::report {

using check::Finding;
using check::LocationResult;
using check::Severity;
using check::ShapeResult;
using check::Verdict;
using check::VerdictKind;
using check::Witness;

namespace {

constexpr size_t kMaxOverrides = 12;
constexpr size_t kMaxExpression = 600;  // characters of the differing part unless verbose

std::string colored(VerdictKind kind, std::string_view word, const Paint& paint) {
  switch (kind) {
    case VerdictKind::Proved:
      return paint.green(word);
    case VerdictKind::Refuted:
      return paint.red(word);
    default:
      return paint.yellow(word);
  }
}

// A labelled line; further lines of the value stand under its first.
void field(std::string& out, const Paint& paint, std::string_view label, std::string_view value) {
  std::string body = clean(value);
  for (size_t at = body.find('\n'); at != std::string::npos; at = body.find('\n', at + 1)) {
    body.insert(at + 1, std::string(18, ' '));
  }
  out += fmt::format("  {} {}\n", paint.blue(fmt::format("{:<15}", label)), body);
}

std::string number(double x) { return fmt::format("{}", x); }

// "0.25", or "0.25 (float arithmetic: 0.2500012)" where the two differ.
std::string value(const std::optional<double>& exact, const std::optional<double>& ieee) {
  if (!exact && !ieee) return "";
  if (!exact) return number(*ieee) + " (float arithmetic)";
  if (!ieee || *ieee == *exact || (std::isnan(*ieee) && std::isnan(*exact))) return number(*exact);
  return fmt::format("{} (float arithmetic: {})", number(*exact), number(*ieee));
}

std::string describe_witness(const Witness& w, bool verbose) {
  std::vector<std::string> lines;
  for (const auto& d : w.draws) lines.push_back(fmt::format("{}: {}", d.name, d.distribution));
  size_t shown = verbose ? w.overrides.size() : std::min(w.overrides.size(), kMaxOverrides);
  for (size_t k = 0; k < shown; ++k) {
    const auto& o = w.overrides[k];
    lines.push_back(fmt::format("{} = {}", place(o.name, o.index), number(o.value)));
  }
  if (shown < w.overrides.size()) {
    lines.push_back(fmt::format("and {} more elements", grouped(w.overrides.size() - shown)));
  }
  if (!w.draws.empty()) lines.push_back(fmt::format("seed {}", w.seed));
  if (lines.empty()) return "any input";
  return fmt::format("{}", fmt::join(lines, "\n"));
}

void show_witness(std::string& out, const Witness& w, const TextOptions& options) {
  Paint paint{options.color};
  field(out, paint, "input", describe_witness(w, options.verbose));
  field(out, paint, "replayed",
        w.replayed ? (w.replay.empty() ? "yes" : w.replay) : "no: not confirmed by a run");
  if (w.script.empty()) return;
  if (options.verbose) {
    field(out, paint, "script", "\n" + w.script);
  } else {
    field(out, paint, "script", "--script FILE writes Python that shows it in PyTorch");
  }
}

// "refuted[value]", "approximation" where the class says nothing more.
std::string heading(const LocationResult& r) {
  std::string name = check::verdict_name(r.kind);
  return clean(r.cls.empty() || r.cls == name ? name : fmt::format("{}[{}]", name, r.cls));
}

// `said`: the sentence that stands above already.
void show_result(std::string& out, const LocationResult& r, std::string_view said,
                 const TextOptions& options) {
  Paint paint{options.color};
  std::string what = place(clean(r.location.output_name), r.location.index);
  if (what.empty()) what = "all locations";
  if (said.find(r.reason) == std::string_view::npos) what += ": " + clean(r.reason);
  out += fmt::format("{} {}\n", colored(r.kind, heading(r) + ":", paint), paint.bold(what));
  out += where(r.loc, options);
  if (r.count > 1) {
    field(out, paint, "likewise", grouped(r.count - 1) + " other locations");
  }
  if (r.witness) show_witness(out, *r.witness, options);
  std::string candidate = value(r.candidate, r.candidate_ieee);
  std::string reference = value(r.reference, r.reference_ieee);
  if (!candidate.empty()) field(out, paint, "candidate", candidate);
  if (!reference.empty()) field(out, paint, "reference", reference);
  if (r.rho != 0) {
    field(out, paint, "relative gap", fmt::format("{:.3g} of the condition scale", r.rho));
  }
  if (!r.differing.empty()) {
    bool cut = !options.verbose && r.differing.size() > kMaxExpression;
    field(out, paint, "what differs",
          cut ? r.differing.substr(0, kMaxExpression) + " ... (-v: all)" : r.differing);
  }
}

void show_outputs(std::string& out, const ShapeResult& shape, const Paint& paint) {
  for (const auto& o : shape.outputs) {
    std::string line =
        fmt::format("{} of {} elements proved", grouped(o.proved), grouped(o.elements));
    if (o.checked != o.proved) line += fmt::format(", {} looked at", grouped(o.checked));
    field(out, paint, place(o.name, o.shape), line);
  }
  for (const auto& l : shape.lemmas) {
    std::string line =
        fmt::format("{} = {} at {} of {} elements ({}", clean(l.candidate), clean(l.reference),
                    grouped(l.proved), grouped(l.elements), clean(l.how));
    if (l.ctas > l.checked)
      line += fmt::format(", {} of {} CTAs evaluated", grouped(l.checked), grouped(l.ctas));
    field(out, paint, &l == &shape.lemmas[0] ? "lemmas" : "", line + ")");
  }
}

// The results that are shown in full: all, or the first of each kind, class and source line.
std::vector<const LocationResult*> choose(const ShapeResult& shape, const TextOptions& options) {
  std::vector<const LocationResult*> out;
  std::set<std::tuple<VerdictKind, std::string, std::string, uint32_t>> seen;
  for (const LocationResult& r : shape.results) {
    bool first = seen.emplace(r.kind, r.cls, r.loc.file, r.loc.line).second;
    if (options.verbose || (first && out.size() < options.max_results)) out.push_back(&r);
  }
  return out;
}

void show_shape(std::string& out, const ShapeResult& shape, const Verdict& verdict,
                const TextOptions& options) {
  Paint paint{options.color};
  const ShapeResult& given = verdict.shapes[0];
  bool altered = &shape != &given;
  if (altered) {
    out += fmt::format("at {}: {}\n", paint.bold(clean(shape.change)),
                       colored(shape.kind, check::verdict_name(shape.kind), paint));
    // What holds or fails as at the given shape needs no second telling.
    if (shape.kind == given.kind && !options.verbose) return;
  }
  show_outputs(out, shape, paint);
  auto shown = choose(shape, options);
  for (const auto* r : shown) show_result(out, *r, verdict.summary, options);
  if (shown.size() < shape.results.size()) {
    out += fmt::format("and {} more results like these (-v shows all)\n",
                       grouped(shape.results.size() - shown.size()));
  }
}

void show_finding(std::string& out, const Finding& f, const TextOptions& options) {
  Paint paint{options.color};
  std::string head =
      fmt::format("{}[{}]:", f.severity == Severity::Info ? "note" : "warning", clean(f.kind));
  out += fmt::format("{} {}", f.severity == Severity::Info ? paint.blue(head) : paint.yellow(head),
                     (f.side.empty() ? "" : clean(f.side) + ": ") + clean(f.message));
  if (f.severity != Severity::Info) {
    out += fmt::format(" {}", paint.dim(fmt::format("({})", check::severity_name(f.severity))));
  }
  out += "\n" + where(f.loc, options);
}

// For whom it holds: domain, assumptions, literals taken as ideals, the chance of error.
void show_scope(std::string& out, const Verdict& v, const Paint& paint) {
  for (const auto& d : v.domain) field(out, paint, &d == &v.domain[0] ? "for all" : "", d);
  for (const auto& a : v.assumptions) {
    field(out, paint, &a == &v.assumptions[0] ? "assuming" : "", a);
  }
  std::vector<std::string> snaps;
  for (const auto& s : v.snaps) snaps.push_back(fmt::format("{} = {}", s.literal, s.ideal));
  if (!snaps.empty()) field(out, paint, "literals", fmt::format("{}", fmt::join(snaps, ", ")));
  if (v.error_bound > 0) {
    field(out, paint, "certainty",
          fmt::format("a wrong proof has a chance below 2^{}",
                      static_cast<int>(std::ceil(std::log2(v.error_bound)))));
  }
}

void show_costs(std::string& out, const Verdict& v, const TextOptions& options) {
  double total = 0;
  std::vector<std::string> phases;
  for (const auto& t : v.timings) {
    total += t.seconds;
    phases.push_back(fmt::format("{} {:.2f}", t.phase, t.seconds));
  }
  if (phases.empty()) return;
  std::string line = fmt::format("{:.2f} s", total);
  if (options.verbose) line += fmt::format(" ({})", fmt::join(phases, ", "));
  if (v.peak_memory != 0) line += fmt::format(", {} MiB", grouped(v.peak_memory >> 20));
  field(out, Paint{options.color}, "cost", line);
}

}  // namespace

std::string text(const Verdict& v, const TextOptions& options) {
  Paint paint{options.color};
  std::string out = fmt::format(
      "{} {}\n", colored(v.kind, fmt::format("{}:", check::verdict_name(v.kind)), paint),
      paint.bold(clean(v.summary)));
  field(out, paint, "candidate", v.candidate);
  field(out, paint, "reference", v.reference);
  for (const auto& shape : v.shapes) show_shape(out, shape, v, options);
  for (const auto& f : v.findings) show_finding(out, f, options);
  // Nothing is proved, so there is no scope to state.
  bool claims = v.kind == VerdictKind::Proved || v.kind == VerdictKind::Approximation;
  if (claims || options.verbose) show_scope(out, v, paint);
  show_costs(out, v, options);
  return out;
}

}  // namespace assay::report
