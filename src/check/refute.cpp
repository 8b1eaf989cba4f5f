#include "check/refute.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/ieee.h"
#include "check/values.h"

namespace assay::check {

using program::DType;

Tolerance default_tolerance(DType dtype) {
  switch (dtype) {
    case DType::F16:
    case DType::BF16:
      return {1e-2, 1e-2};
    case DType::F64:
      return {1e-8, 1e-8};
    case DType::F32:
      return {1e-3, 1e-3};
    default:
      return {0, 0};
  }
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

}  // namespace

SearchResult search(const Side& candidate, const Plan& c_plan, const Side& reference,
                    const Plan& r_plan, const OutputPair& pair, int64_t position,
                    const std::vector<Experiment>& experiments, const term::Snapper& snapper,
                    const Tolerance& tol, Clock::time_point deadline) {
  SearchResult out;
  const bool integer = is_integer(pair.reference.dtype);
  for (const Experiment& e : experiments) {
    if (Clock::now() > deadline) break;
    ++out.experiments;
    const ExactValue r = exact_value(reference, r_plan, pair.reference, position, e, snapper);
    if (r.undef || r.undefined != 0 || !std::isfinite(r.v)) continue;  // outside the domain
    ++out.in_domain;
    const ExactValue c = exact_value(candidate, c_plan, pair.candidate, position, e, snapper);
    const bool broken = c.undef || !std::isfinite(c.v);
    if (broken && !c.undef && c.range_lost) continue;  // a question of range, not of value
    const double floor = integer ? 1e-300 : tol.atol / std::max(tol.rtol, 1e-300);
    const double scale = r.m + std::fabs(r.v) + floor;
    const double gap = std::fabs(c.v - r.v);
    const double rho = broken ? INFINITY : integer ? (gap != 0 ? 1 : 0) : gap / scale;
    if (rho <= out.largest_rho) continue;
    const double ci = ieee_value(candidate, c_plan, pair.candidate, position, e);
    const double ri = ieee_value(reference, r_plan, pair.reference, position, e);
    const double ieee_gap = std::fabs(ci - ri);
    const double limit = tol.rtol * (r.m + std::fabs(r.v)) + tol.atol;
    const bool visible = broken    ? (c.undef || !std::isfinite(ci)) && std::isfinite(ri)
                         : integer ? ci != ri
                                   : ieee_gap >= 0.5 * gap && ieee_gap > limit;
    const bool refutes = (broken || integer || rho > tol.rtol) && visible;
    if (!broken) {
      out.largest_rho = rho;
      out.worst_candidate = c.v;
      out.worst_reference = r.v;
      out.worst_experiment = e.name;
    }
    if (!refutes) continue;
    out.outcome = SearchResult::Outcome::Refuted;
    LocationResult& res = out.result;
    res.kind = VerdictKind::Refuted;
    res.location.output = pair.index;
    res.location.output_name = pair.name;
    res.location.index = unravel(position, pair.reference.shape);
    res.cls = c.undef ? "undefined" : broken ? "undefined" : "value";
    res.reason = c.undef  ? "the value depends on memory that nothing wrote"
                 : broken ? fmt::format("the candidate gives {} where the reference is finite", c.v)
                          : fmt::format("the values differ ({})", e.name);
    if (!c.undef) res.candidate = c.v;
    res.reference = r.v;
    res.candidate_ieee = ci;
    res.reference_ieee = ri;
    res.rho = broken ? 0 : rho;
    res.witness = e.witness();
    res.witness->replayed = true;
    res.witness->replay = "IEEE arithmetic on the cone";
    return out;
  }
  if (out.largest_rho > 0) out.outcome = SearchResult::Outcome::Gap;
  return out;
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
      const auto& t = plan.steps[s].launch->trace;
      const auto& marks = plan.steps[s].launch->marks;
      for (machine::NodeId id = 1; id < t.nodes.size() && found.size() < 64; ++id) {
        const auto& op = t.ops[t.nodes[id].op];
        if (marks.lanes[id] == 0 || op.kind != machine::NodeKind::Apply || !interesting(op.fn) ||
            !is_float(op.type))
          continue;
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

std::vector<Suspect> cone_spots(const Side& side, const Plan& plan) {
  std::vector<Suspect> out;
  for (const SymbolInfo& s : side.symbols) {
    if (!program::dtype_is_float(s.dtype)) continue;
    for (const auto& entry : plan.support) {
      const auto& source = side.sources[static_cast<size_t>(entry.first)];
      if (source.kind != term::Source::Kind::Symbol || source.symbol != s.symbol) continue;
      const int64_t count = entry.second.count();
      int64_t at = 0;
      entry.second.for_each([&](int64_t e) {
        if (at == 0 || at == count / 2 || at == count - 1) out.push_back({s.symbol, e});
        ++at;
      });
    }
  }
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
