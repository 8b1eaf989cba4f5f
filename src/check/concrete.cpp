#include "check/concrete.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/ieee.h"
#include "check/quality.h"
#include "check/replay.h"
#include "check/values.h"
#include "term/ieee_domain.h"
#include "term/real_domain.h"

namespace assay::check {
namespace {

constexpr double kFar = 64;               // tolerances
constexpr size_t kPlaces = 256;           // locations compared, per output
constexpr double kMargin = 64 * 0x1p-11;  // of comparisons: 64 roundings of the coarsest type

// A value next to a jump of the reference may fall on either side of it. (Comparisons are looked at
// one by one.)
bool jumps(const Side& side, const Plan& plan) {
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    if (plan.steps[s].launch)
      for (const machine::Op& op : plan.steps[s].launch->trace->ops)
        if (op.kind == machine::NodeKind::Apply && term::is_step(op.fn)) return true;
    if (!side.ops[s]) continue;
    for (const auto& shape : side.ops[s]->shapes)
      for (const auto* body : {&shape->nest.body, &shape->nest.post})
        for (const tensor::BodyNode& n : *body)
          if (n.kind == tensor::BodyNode::Kind::Apply && term::is_step(n.fn)) return true;
  }
  return false;
}

struct Compared {
  size_t pair;
  int64_t position;
  ExactValue exact;
  double ieee = 0;
};

class Concrete {
 public:
  explicit Concrete(const ConcreteRequest& rq) : rq_(rq), jumps_(jumps(rq.reference, rq.r_plan)) {
    for (size_t k = 0; k < rq.pairs.size(); ++k) {
      const Positions& all = rq.where.outputs[k];
      const size_t n = std::min(all.size(), kPlaces);
      for (size_t j = 0; j < n; ++j)
        places_.push_back({k, all[n == 1 ? 0 : j * (all.size() - 1) / (n - 1)], {}, 0});
    }
  }

  ConcreteResult run() {
    const Result<Plan> plan = whole_plan(rq_.candidate);
    if (!plan) {
      out_.why = plan.error().message;
      return std::move(out_);
    }
    for (const Experiment& e : experiments()) {
      if (out_.refuted || Clock::now() > rq_.deadline) break;
      if (!compare(*plan, e)) return std::move(out_);
    }
    for (size_t j = 0; j < places_.size() && !out_.refuted; ++j)
      if (j + 1 == places_.size() || places_[j + 1].pair != places_[j].pair)
        special(*plan, places_[j]);
    return std::move(out_);
  }

 private:
  std::vector<Experiment> experiments() const {
    using K = Draw::Kind;
    const std::pair<const char*, Draw> draws[] = {
        {"ties: {-1, 0, 1}", {K::Grid, -1, 0, 1, 3, {}}},
        {"ones and twos", {K::Grid, 1, 0, 1, 2, {}}},
        {"halves in [-4, 4]", {K::Grid, -4, 0, 0.5, 17, {}}},
        {"integers in [-8, 8]", {K::Grid, -8, 0, 1, 17, {}}},
        {"-1 and 1", {K::Grid, -1, 0, 2, 2, {}}},
        {"all equal", {K::Constant, 1, 0, 1, 1, {}}},
        {"all zero", {K::Constant, 0, 0, 1, 1, {}}}};
    std::vector<Experiment> out;
    for (const auto& [name, draw] : draws) {
      Experiment& e = out.emplace_back(rq_.symbols, rq_.seed + out.size());
      e.set_all(draw);
      e.name = name;
    }
    return out;
  }

  // False: the candidate does not run.
  bool compare(const Plan& plan, const Experiment& e) {
    if (!evaluate_reference(e)) return true;
    std::vector<Place> at;
    for (const Compared& c : places_) at.push_back({rq_.pairs[c.pair].candidate, c.position});
    const auto values = replay_places(rq_.candidate, plan, at, e);
    if (!values) {
      out_.why = values.error().message;
      return false;
    }
    ++out_.runs;
    for (size_t j = 0; j < places_.size() && !out_.refuted; ++j) judge(places_[j], (*values)[j], e);
    return true;
  }

  // False: outside the domain at some location, or rounding may decide a comparison.
  bool evaluate_reference(const Experiment& e) {
    term::RealDomain real(e, rq_.snapper);
    bool narrow = false;
    real.on_compare = [&](uint32_t, Fn, double a, double b, double scale) {
      auto exact = [](double x) { return static_cast<double>(static_cast<float>(x)) == x; };
      narrow = narrow || (std::fabs(a - b) <= kMargin * scale && !(exact(a) && exact(b)));
    };
    term::Store<term::RealDomain> exact(real, rq_.reference.sources);
    run_plan(rq_.reference, rq_.r_plan, real, exact);
    if (real.undefined != 0 || narrow) return false;
    term::IeeeDomain ieee(e);
    term::Store<term::IeeeDomain> rounded(ieee, rq_.reference.sources);
    run_plan(rq_.reference, rq_.r_plan, ieee, rounded);
    for (Compared& c : places_) {
      const program::TensorView& view = rq_.pairs[c.pair].reference;
      const auto cell = exact.load1(view.buffer, view.element(c.position));
      if (cell.undef || !std::isfinite(cell.v)) return false;
      c.exact = {cell.v, cell.m, false, false, 0};
      const Ty type = program::dtype_ty(view.dtype);
      c.ieee = is_float(type)
                   ? ieee_to_double(type, rounded.load1(view.buffer, view.element(c.position)).v)
                   : cell.v;
    }
    return true;
  }

  void judge(const Compared& at, double value, const Experiment& e) {
    const OutputPair& pair = rq_.pairs[at.pair];
    const Tolerance tol =
        tolerance_of(pair.reference.dtype, rq_.tolerance.first, rq_.tolerance.second);
    const double limit = tol.rtol * (at.exact.m + std::fabs(at.exact.v)) + tol.atol;
    const double gap = std::fabs(value - at.exact.v);
    if (std::fabs(at.ieee - at.exact.v) > limit) return;  // rounding shows in the reference, too
    if (!std::isfinite(value)) {
      if (!out_.findings.empty()) return;
      out_.findings.push_back(
          {"overflow-risk",
           Severity::High,
           fmt::format("a run of the real build gives {} at {}[{}] where the exact value is {:.6g} "
                       "({})",
                       value, pair.name,
                       fmt::join(unravel(at.position, pair.reference.shape), ", "), at.exact.v,
                       e.name),
           {}});
      return;
    }
    if (gap <= kFar * limit || jumps_) return;
    LocationResult& r = out_.refuted.emplace();
    r.kind = VerdictKind::Refuted;
    r.cls = "value";
    r.location = {pair.index, pair.name, unravel(at.position, pair.reference.shape)};
    r.reason = fmt::format(
        "a run of the real build gives another value ({}); no formula of the candidate could be "
        "made",
        e.name);
    r.reference = at.exact.v;
    r.candidate_ieee = value;
    r.reference_ieee = at.ieee;
    r.rho = gap / (at.exact.m + std::fabs(at.exact.v) + tol.atol / std::max(tol.rtol, 1e-300));
    r.witness = e.witness();
    r.witness->replayed = true;
    r.witness->replay = "the real build on the virtual GPU";
  }

  // NaN and infinities, at the last location of an output.
  void special(const Plan& plan, const Compared& at) {
    std::vector<Positions> one(rq_.pairs.size());
    one[at.pair] = {at.position};
    const auto r_plan = make_plan(rq_.reference, wants_of(rq_.pairs, one, false));
    if (!r_plan) return;
    const program::TensorView& view = rq_.pairs[at.pair].candidate;
    QualityRequest quality{{rq_.candidate, plan, rq_.reference, *r_plan, rq_.pairs[at.pair],
                            at.position, rq_.snapper, rq_.deadline},
                           rq_.seed};
    quality.run_candidate = [&](const Experiment& e) -> std::optional<double> {
      const auto values = replay_places(rq_.candidate, plan, {{view, at.position}}, e);
      if (!values) return std::nullopt;
      return values->front();
    };
    special_value_findings(quality, out_.findings);
  }

  const ConcreteRequest& rq_;
  const bool jumps_;
  std::vector<Compared> places_;
  ConcreteResult out_;
};

}  // namespace

ConcreteResult run_concretely(const ConcreteRequest& request) { return Concrete(request).run(); }

}  // namespace assay::check
