#include "check/quality.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "check/experiment.h"
#include "check/values.h"

namespace assay::check {
namespace {

// Inputs to try at one location: of large cones only some, whatever the machine's speed.
size_t affordable(const QualityRequest& rq, size_t least) {
  constexpr size_t kNodes = 300'000;
  size_t nodes = 0;  // rows of nests count as such
  for (const Plan* plan : {&rq.c_plan, &rq.r_plan}) nodes += plan->live_nodes + plan->nest_rows;
  return std::max(least, kNodes / std::max<size_t>(1, nodes));
}

std::string place(const QualityRequest& rq) {
  return fmt::format("{}[{}]", rq.pair.name,
                     fmt::join(unravel(rq.position, rq.pair.reference.shape), ", "));
}

// Inputs on which rounding shows, the most telling first: large means with small spread, large
// magnitudes, mixed signs. Where there are exponentials, what is subtracted from their arguments
// must be no less than the largest of them, wherever it stands.
std::vector<Experiment> rounding_experiments(const QualityRequest& rq, uint64_t seed) {
  using K = program::Draw::Kind;
  const std::vector<SymbolInfo>& symbols = rq.reference.symbols;
  std::vector<Experiment> out;
  auto add = [&](double lo, double hi) -> Experiment& {
    Experiment e(symbols, seed + out.size());
    e.set_all({K::Uniform, lo, hi, 1, 1, {}});
    e.name = fmt::format("inputs uniform in [{}, {})", lo, hi);
    out.push_back(std::move(e));
    return out.back();
  };
  if (rq.candidate.uses_exp || rq.reference.uses_exp) {
    const std::vector<Extent> extents = wide_extents(rq.reference, rq.r_plan, symbols, 2);
    for (const bool first : {true, false}) {
      Experiment& e = add(60, 100);
      for (const Extent& extent : extents) {
        Draw draw = e.draw_of(extent.symbol->symbol);
        if (draw.band.extent != 0 &&
            extent.whole.last - extent.whole.first <= draw.band.last - draw.band.first)
          continue;  // along the widest dimension
        draw.band = extent.whole;
        draw.band.factor = -1;
        const int64_t middle = (draw.band.first + draw.band.last) / 2;
        (first ? draw.band.last : draw.band.first) = middle;
        e.set(extent.symbol->symbol, draw);
      }
      e.name += first ? ", the first half negative" : ", the last half negative";
    }
  }
  add(999, 1001), add(-100, 100), add(-1, 1), add(-8, 8), add(0, 1), add(60, 100), add(-100, -60);
  add(1e-4, 2e-4);
  return out;
}

}  // namespace

void accuracy_findings(const QualityRequest& rq, std::vector<Finding>& findings) {
  if (!program::dtype_is_float(rq.pair.reference.dtype)) return;
  const double u = unit_roundoff(rq.pair.reference.dtype);
  double worst = 0;
  std::string text;
  size_t left = affordable(rq, rq.candidate.uses_exp || rq.reference.uses_exp ? 3 : 1);
  for (const Experiment& e : rounding_experiments(rq, rq.seed + 300)) {
    if (left-- == 0 || Clock::now() > rq.deadline) break;
    const ExactValue r =
        exact_value(rq.reference, rq.r_plan, rq.pair.reference, rq.position, e, rq.snapper);
    if (r.undef || r.undefined != 0 || !std::isfinite(r.v)) continue;
    const double ri = ieee_value(rq.reference, rq.r_plan, rq.pair.reference, rq.position, e);
    if (!std::isfinite(ri)) continue;
    const double ci = ieee_value(rq.candidate, rq.c_plan, rq.pair.candidate, rq.position, e);
    if (!std::isfinite(ci)) {
      findings.push_back(
          {"overflow-risk",
           Severity::High,
           fmt::format("float arithmetic gives {} at {} where the exact value is {:.6g} ({})", ci,
                       place(rq), r.v, e.name),
           {}});
      return;
    }
    const double size = std::fabs(r.v) + 1e-3;
    const double ec = std::fabs(ci - r.v) / size, er = std::fabs(ri - r.v) / size;
    // Worse by more than a factor, and by more than the rounding of a few hundred operations.
    if (ec > 16 * er + 512 * u && ec > worst) {
      worst = ec;
      text = fmt::format("rounding: relative error {:.2g} at {}, the reference's is {:.2g} ({})",
                         ec, place(rq), er, e.name);
    }
  }
  if (worst > 0)
    findings.push_back({"accuracy", worst > 1e-3 ? Severity::High : Severity::Medium, text, {}});
}

namespace {

// Elements of a symbol that feed the location, ascending.
std::vector<int64_t> cone_of(const QualityRequest& rq, uint64_t symbol) {
  std::vector<int64_t> cone;
  for (const auto& [buffer, set] : rq.r_plan.support) {
    const auto& source = rq.reference.sources[static_cast<size_t>(buffer)];
    if (source.kind == term::Source::Kind::Symbol && source.symbol == symbol)
      set.for_each([&](int64_t x) { cone.push_back(x); });
  }
  return cone;
}

}  // namespace

// The last, first and middle element of the cone, then all of it.
void special_value_findings(const QualityRequest& rq, std::vector<Finding>& findings) {
  if (!program::dtype_is_float(rq.pair.reference.dtype)) return;
  const std::pair<double, const char*> specials[] = {
      {NAN, "NaN"}, {INFINITY, "inf"}, {-INFINITY, "-inf"}, {-0.0, "-0"}, {1e-40, "a subnormal"}};
  struct Cone {
    const SymbolInfo* symbol;
    std::vector<int64_t> elements;
  };
  std::vector<Cone> cones;
  for (const SymbolInfo& s : rq.reference.symbols) {
    if (!program::dtype_is_float(s.dtype) || s.is_parameter) continue;
    std::vector<int64_t> elements = cone_of(rq, s.symbol);
    if (!elements.empty()) cones.push_back({&s, std::move(elements)});
  }
  const Experiment base(rq.reference.symbols, rq.seed + 900);
  const size_t most = affordable(rq, 1);
  size_t tried = 0, differing = 0;
  std::string first;
  auto attempt = [&](const Cone& cone, int where, double value, const char* name) {
    const auto& x = cone.elements;
    if (tried >= most || Clock::now() > rq.deadline || (where == 3 && x.size() > 4096)) return;
    Experiment e = base;
    if (where < 3) {
      const size_t at = where == 0 ? x.size() - 1 : where == 1 ? 0 : (x.size() - 1) / 2;
      e.override_value(cone.symbol->symbol, x[at], value);
    } else {
      for (int64_t each : x) e.override_value(cone.symbol->symbol, each, value);
    }
    const double ri = ieee_value(rq.reference, rq.r_plan, rq.pair.reference, rq.position, e);
    const std::optional<double> run =
        rq.run_candidate ? rq.run_candidate(e)
                         : ieee_value(rq.candidate, rq.c_plan, rq.pair.candidate, rq.position, e);
    if (!run) return;
    const double ci = *run;
    ++tried;
    const bool same = std::isnan(ri)   ? std::isnan(ci)
                      : std::isinf(ri) ? ci == ri
                                       : std::isfinite(ci);
    if (same) return;
    if (differing++ == 0)
      first = fmt::format("{} in {}: the candidate gives {}, the reference {} at {}", name,
                          cone.symbol->name, ci, ri, place(rq));
  };
  for (int where = 0; where < 4; ++where)
    for (const auto& [value, name] : specials)
      for (const Cone& cone : cones) attempt(cone, where, value, name);
  if (differing > 0)
    findings.push_back({"special-value",
                        Severity::Low,
                        fmt::format("{} ({} of {} patterns differ)", first, differing, tried),
                        {}});
}

}  // namespace assay::check
