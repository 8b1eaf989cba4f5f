#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

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

std::string describe_draw(const check::InputDraw& d) {
  std::string out = fmt::format("{}: {}", d.name, d.distribution);
  if (d.scale != 1) out += fmt::format(", scale {}", number(d.scale));
  if (d.shift != 0) out += fmt::format(", shift {}", number(d.shift));
  return out;
}

std::string describe_witness(const Witness& w, bool verbose) {
  std::vector<std::string> lines;
  for (const auto& d : w.draws) lines.push_back(describe_draw(d));
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

void show_result(std::string& out, const LocationResult& r, const TextOptions& options) {
  Paint paint{options.color};
  std::string what = r.cls.empty() ? check::verdict_name(r.kind) : r.cls;
  std::string spot = place(clean(r.location.output_name), r.location.index);
  out += fmt::format(
      "{} {}\n",
      colored(r.kind, clean(fmt::format("{}[{}]:", check::verdict_name(r.kind), what)), paint),
      paint.bold(fmt::format("{}: {}", spot, clean(r.reason))));
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
}

void show_shape(std::string& out, const ShapeResult& shape, bool altered,
                const TextOptions& options) {
  Paint paint{options.color};
  if (altered) {
    out += fmt::format("at {}: {}\n", paint.bold(clean(shape.change)),
                       colored(shape.kind, check::verdict_name(shape.kind), paint));
    if (shape.kind == VerdictKind::Proved && !options.verbose) return;
  }
  show_outputs(out, shape, paint);
  size_t shown =
      options.verbose ? shape.results.size() : std::min(shape.results.size(), options.max_results);
  for (size_t k = 0; k < shown; ++k) show_result(out, shape.results[k], options);
  if (shown < shape.results.size()) {
    out += fmt::format("and {} more results like these (-v shows all)\n",
                       shape.results.size() - shown);
  }
}

void show_finding(std::string& out, const Finding& f, const TextOptions& options) {
  Paint paint{options.color};
  std::string head =
      fmt::format("{}[{}]:", f.severity == Severity::Info ? "note" : "warning", clean(f.kind));
  out += fmt::format("{} {}", f.severity == Severity::Info ? paint.blue(head) : paint.yellow(head),
                     clean(f.message));
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
  for (const auto& shape : v.shapes) show_shape(out, shape, &shape != &v.shapes[0], options);
  for (const auto& f : v.findings) show_finding(out, f, options);
  show_scope(out, v, paint);
  show_costs(out, v, options);
  return out;
}

}  // namespace assay::report
