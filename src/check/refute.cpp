#include "check/refute.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/ieee.h"
#include "check/values.h"

namespace assay::check {

using program::DType;

Tolerance tolerance_of(DType dtype, std::optional<double> rtol, std::optional<double> atol) {
  const auto usual = [dtype] {
    switch (dtype) {
      case DType::F16:
      case DType::BF16:
        return 1e-2;
      case DType::F64:
        return 1e-8;
      case DType::F32:
        return 1e-3;
      default:
        return 0.0;
    }
  };
  return {rtol.value_or(usual()), atol.value_or(usual())};
}

double unit_roundoff(DType dtype) {
  switch (dtype) {
    case DType::F16:
      return 0x1p-11;
    case DType::BF16:
      return 0x1p-8;
    case DType::F64:
      return 0x1p-53;
    default:
      return 0x1p-24;
  }
}

namespace {

bool is_integer(DType t) { return !program::dtype_is_float(t); }

// Tries experiments at one location.
struct Searcher {
  const SearchRequest& rq;
  SearchResult& out;

  // The gap over the condition scale; negative outside the domain.
  double run(const Experiment& e);
  double relative = 0;  // the gap of the last run over the larger of both values
  bool refuted() const { return out.outcome == SearchResult::Outcome::Refuted; }
};

double Searcher::run(const Experiment& e) {
  const bool integer = is_integer(rq.pair.reference.dtype);
  ++out.experiments;
  relative = 0;
  const ExactValue r =
      exact_value(rq.reference, rq.r_plan, rq.pair.reference, rq.position, e, rq.snapper);
  if (r.undef || r.undefined != 0 || !std::isfinite(r.v)) return -1;  // outside the domain
  ++out.in_domain;
  const ExactValue c =
      exact_value(rq.candidate, rq.c_plan, rq.pair.candidate, rq.position, e, rq.snapper);
  const bool broken = c.undef || !std::isfinite(c.v);
  if (broken && !c.undef && c.range_lost) return -1;  // a question of range, not of value
  const double floor = integer ? 1e-300 : rq.tolerance.atol / std::max(rq.tolerance.rtol, 1e-300);
  const double scale = r.m + std::fabs(r.v) + floor;
  const double gap = std::fabs(c.v - r.v);
  relative = broken || gap == 0 ? 0 : gap / std::max(std::fabs(c.v), std::fabs(r.v));
  const double rho = broken ? INFINITY : integer ? (gap != 0 ? 1 : 0) : gap / scale;
  if (!broken && rho > out.largest_rho) {
    out.largest_rho = rho;
    out.worst_candidate = c.v;
    out.worst_reference = r.v;
    out.worst_experiment = e.name;
  }
  if (!(broken || rho > rq.tolerance.rtol)) return rho;
  const double ci = ieee_value(rq.candidate, rq.c_plan, rq.pair.candidate, rq.position, e);
  const double ri = ieee_value(rq.reference, rq.r_plan, rq.pair.reference, rq.position, e);
  const double ieee_gap = std::fabs(ci - ri);
  const double limit = rq.tolerance.rtol * (r.m + std::fabs(r.v)) + rq.tolerance.atol;
  const bool visible = broken    ? (c.undef || !std::isfinite(ci)) && std::isfinite(ri)
                       : integer ? ci != ri
                                 : ieee_gap >= 0.5 * gap && ieee_gap > limit;
  if (!visible) return rho;
  out.worst_experiment = e.name;
  out.outcome = SearchResult::Outcome::Refuted;
  LocationResult& res = out.result;
  res.kind = VerdictKind::Refuted;
  res.location.output = rq.pair.index;
  res.location.output_name = rq.pair.name;
  res.location.index = unravel(rq.position, rq.pair.reference.shape);
  res.cls = broken ? "undefined" : "value";
  res.reason = c.undef  ? "the value depends on memory that nothing wrote"
               : broken ? fmt::format("the candidate gives {} where the reference is finite",
                                      std::isnan(c.v) ? NAN : c.v)
                        : fmt::format("the values differ ({})", e.name);
  if (!c.undef) res.candidate = c.v;
  res.reference = r.v;
  res.candidate_ieee = ci;
  res.reference_ieee = ri;
  res.rho = broken ? 0 : rho;
  res.witness = e.witness();
  res.witness->replayed = true;
  res.witness->replay = "IEEE arithmetic on the cone";
  return rho;
}

constexpr int64_t kBands = 8;
constexpr size_t kSpots = 4;
constexpr double kNoise = 1e-13;  // relative gaps of exact values that say nothing

// Widens `b` to the indices that the elements have.
void cover(const tensor::ElemSet& elements, Draw::Band& b) {
  elements.for_each_run([&](int64_t first, int64_t n) {
    const int64_t from = first / b.inner % b.extent, to = (first + n - 1) / b.inner % b.extent;
    if (to < from || n >= b.inner * b.extent) {  // the run passes the end of the dimension
      b.first = 0;
      b.last = b.extent;
      return;
    }
    b.first = std::min(b.first, from);
    b.last = std::max(b.last, to + 1);
  });
}

}  // namespace

std::vector<Extent> wide_extents(const Side& side, const Plan& plan,
                                 const std::vector<SymbolInfo>& symbols, int64_t least) {
  std::vector<Extent> out;
  for (const SymbolInfo& s : symbols) {
    if (!program::dtype_is_float(s.dtype)) continue;
    const tensor::ElemSet* read = nullptr;
    for (const auto& [buffer, set] : plan.support) {
      const auto& source = side.sources[static_cast<size_t>(buffer)];
      if (source.kind == term::Source::Kind::Symbol && source.symbol == s.symbol) read = &set;
    }
    if (read == nullptr || read->count() < least) continue;
    for (size_t d = s.view.shape.size(); d-- > 0;) {  // the innermost first
      if (s.view.shape[d] < least || s.view.strides[d] < 1) continue;
      Draw::Band b{s.view.strides[d], s.view.shape[d], s.view.shape[d], 0, 1};
      cover(*read, b);
      if (b.last - b.first >= least) out.push_back({&s, b});
    }
  }
  return out;
}

void search(const SearchRequest& rq, std::span<const Experiment> experiments, SearchResult& found) {
  Searcher searcher{rq, found};
  for (const Experiment& e : experiments) {
    if (Clock::now() > rq.deadline) break;
    const bool outside = searcher.run(e) < 0;
    if (searcher.refuted()) return;
    const auto positive = outside ? e.folded() : std::nullopt;
    if (!positive || Clock::now() > rq.deadline) continue;
    searcher.run(*positive);
    if (searcher.refuted()) return;
  }
  if (found.largest_rho > 0) found.outcome = SearchResult::Outcome::Gap;
}

void search_bands(const SearchRequest& rq, const std::vector<SymbolInfo>& symbols,
                  const std::vector<Suspect>& spots, uint64_t seed, SearchResult& found) {
  Searcher searcher{rq, found};
  const std::vector<Extent> extents = wide_extents(rq.reference, rq.r_plan, symbols, kBands);
  auto done = [&] { return searcher.refuted() || Clock::now() > rq.deadline; };
  for (const double factor : {-16.0, 16.0}) {
    for (const Extent& extent : extents) {
      auto banded = [&](int64_t first, int64_t last) {
        // Elsewhere all elements have one sign: what is dropped or repeated cannot cancel.
        Experiment e(symbols, seed);
        Draw draw{Draw::Kind::Uniform, 0.5, 1, 1, 1, {}};
        e.set_all(draw);
        draw.band = extent.whole;
        draw.band.first = first;
        draw.band.last = last;
        draw.band.factor = factor;
        e.set(extent.symbol->symbol, draw);
        e.name = fmt::format("large where index {} to {} of {} of {}", first, last - 1,
                             extent.whole.extent, extent.symbol->name);
        return e;
      };
      // Of the values themselves, not of their scale: where an output is small on the way, it shows
      // all the same which elements the sides weigh differently.
      auto gap = [&](int64_t first, int64_t last) {
        if (done() || first >= last || searcher.run(banded(first, last)) < 0) return -1.0;
        return searcher.relative;
      };
      int64_t first = extent.whole.first, last = extent.whole.last;
      double best = kNoise;
      bool found_band = false;
      const int64_t width = last - first, from = first;
      for (int64_t k = 0; k < kBands; ++k) {
        const int64_t a = from + width * k / kBands, b = from + width * (k + 1) / kBands;
        const double g = gap(a, b);
        if (g > best) best = g, first = a, last = b, found_band = true;
      }
      while (found_band && last - first > 1 && !done()) {
        const int64_t middle = (first + last) / 2;
        const double left = gap(first, middle), right = gap(middle, last);
        if (std::max(left, right) <= best / 2) break;
        best = std::max(left, right);
        (left >= right ? last : first) = middle;
      }
      // The output itself may be small unless an element of its own is as large as the band.
      for (size_t k = 0; found_band && k < spots.size() && k < kSpots && !done(); ++k) {
        Experiment e = banded(first, last);
        e.override_value(spots[k].symbol, spots[k].element, factor * 0.75);
        e.name += ", and one element more";
        searcher.run(e);
      }
      if (done()) return;
    }
  }
}

std::vector<double> boundaries_of(const Side& side, const Plan& plan) {
  std::set<double> found;
  auto note = [&](double v) {
    if (std::isfinite(v) && std::fabs(v) < 1e6) found.insert(v);
  };
  auto interesting = [](Fn fn) {
    return info(fn).cls == FnClass::C || fn == Fn::Min || fn == Fn::Max;
  };
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    if (plan.steps[s].launch) {
      const machine::Trace& t = *plan.steps[s].launch->trace;
      const auto compares = [&](const machine::Op& op) {
        return op.kind == machine::NodeKind::Apply && interesting(op.fn) && is_float(op.type);
      };
      if (std::none_of(t.ops.begin(), t.ops.end(), compares)) continue;
      for (const machine::NodeId id : plan.steps[s].launch->marks.live) {
        if (found.size() >= 64) break;
        const auto& op = t.ops[t.nodes[id].op];
        if (!compares(op)) continue;
        for (machine::NodeId arg : {t.nodes[id].a, t.nodes[id].b})
          if (t.ops[t.nodes[arg].op].kind == machine::NodeKind::ConstAll)
            note(ieee_to_double(op.type, t.constants[t.nodes[arg].a]));
      }
    } else if (side.ops[s]) {
      for (const auto& shape : side.ops[s]->shapes) {
        for (const auto* body : {&shape->nest.body, &shape->nest.post}) {
          for (const tensor::BodyNode& n : *body) {
            if (n.kind != tensor::BodyNode::Kind::Apply || !interesting(n.fn)) continue;
            for (int arg : n.arg)
              if (arg >= 0 &&
                  (*body)[static_cast<size_t>(arg)].kind == tensor::BodyNode::Kind::Const)
                note((*body)[static_cast<size_t>(arg)].value);
          }
        }
      }
    }
  }
  std::vector<double> all(found.begin(), found.end());
  if (all.size() > 12) all.resize(12);
  return all;
}

std::vector<Suspect> cone_spots(const Side& side, const Plan& plan,
                                const program::TensorView& output, int64_t position) {
  std::vector<Suspect> aligned, out;
  for (const SymbolInfo& s : side.symbols) {
    if (!program::dtype_is_float(s.dtype)) continue;
    for (const auto& entry : plan.support) {
      const auto& source = side.sources[static_cast<size_t>(entry.first)];
      if (source.kind != term::Source::Kind::Symbol || source.symbol != s.symbol) continue;
      const int64_t count = entry.second.count();
      const int64_t own = s.view.shape == output.shape ? s.view.element(position) : -1;
      if (own >= 0 && entry.second.contains(own)) aligned.push_back({s.symbol, own});
      int64_t at = 0;
      entry.second.for_each([&](int64_t e) {
        if ((at == 0 || at == count / 2 || at == count - 1) && e != own)
          out.push_back({s.symbol, e});
        ++at;
      });
    }
  }
  out.insert(out.begin(), aligned.begin(), aligned.end());
  return out;
}

std::vector<Suspect> support_difference(const Side& candidate, const Plan& c_plan,
                                        const Side& reference, const Plan& r_plan) {
  std::vector<Suspect> out;
  auto set_of = [](const Side& side, const Plan& plan, uint64_t symbol) -> const tensor::ElemSet* {
    for (const auto& [buffer, set] : plan.support) {
      const auto& s = side.sources[static_cast<size_t>(buffer)];
      if (s.kind == term::Source::Kind::Symbol && s.symbol == symbol) return &set;
    }
    return nullptr;
  };
  for (const SymbolInfo& s : reference.symbols) {
    if (!program::dtype_is_float(s.dtype)) continue;
    const tensor::ElemSet* c = set_of(candidate, c_plan, s.symbol);
    const tensor::ElemSet* r = set_of(reference, r_plan, s.symbol);
    auto only = [&](const tensor::ElemSet* a, const tensor::ElemSet* b) {
      if (a == nullptr) return;
      tensor::ElemSet d = *a;
      if (b != nullptr) d.subtract(*b);
      size_t taken = 0;
      d.for_each([&](int64_t e) {
        if (taken < 2) {
          out.push_back({s.symbol, e});
          ++taken;
        }
      });
    };
    only(r, c);
    only(c, r);
  }
  return out;
}

}  // namespace assay::check
