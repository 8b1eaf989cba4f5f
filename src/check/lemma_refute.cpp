#include "check/lemma_refute.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/deadline.h"
#include "base/ieee.h"
#include "check/experiment.h"
#include "check/replay.h"
#include "term/ieee_domain.h"
#include "term/real_domain.h"

namespace assay::check {

using term::IeeeDomain;
using term::RealDomain;

namespace {

constexpr uint64_t kChunk = 2'000'000;    // rows of one evaluation of a lemma's elements
constexpr int64_t kElements = 4'000'000;  // of a lemma, to be computed
constexpr size_t kExperiments = 24;

// Elements of a lemma that are computed; the others are copies of these.
struct Selection {
  tensor::ElemSet computed;                         // positions
  std::vector<std::pair<int64_t, int64_t>> copies;  // (from, to)
  std::set<uint32_t> ctas;                          // of the candidate that compute them
  bool all = true;
};

class Refuter {
 public:
  explicit Refuter(const LemmaRefutation& in) : in_(in) {}

  std::optional<LemmaRefuted> run() {
    const Deadline until(in_.until);
    size_t tried = 0;
    for (const Suspect& spot : spots()) {
      for (double value : {64.0 * scale_, -64.0 * scale_}) {
        if (++tried > kExperiments) return std::nullopt;
        Experiment e(in_.symbols, in_.seed);
        for (const SymbolInfo& s : in_.symbols) e.set(s.symbol, {Draw::Kind::Constant, 0, 0, 1, 1});
        e.override_value(spot.symbol, spot.element, value);
        overrides_ = {{spot.symbol, spot.element}};
        if (auto found = attempt(e)) return found;
      }
    }
    return std::nullopt;
  }

 private:
  // Inputs that feed elements of lemmas that only one side reads; else, that feed any.
  std::vector<Suspect> spots() {
    std::vector<Suspect> out =
        support_difference(in_.candidate, in_.c_plan, in_.reference, in_.r_plan);
    std::erase_if(out, [&](const Suspect& s) { return !is_float_input(s.symbol); });
    if (out.size() > 2) out.resize(2);
    for (const auto& [buffer, elements] : in_.r_plan.support)  // what no lemma stands for
      add_ends(buffer, elements, out);
    const auto c = read(in_.c_plan), r = read(in_.r_plan);
    for (size_t k = 0; k < in_.lemmas.reference.size(); ++k) {
      const Cut& cut = in_.lemmas.reference[k];
      scale_ = std::max(scale_, static_cast<double>(cut.count));
      tensor::ElemSet apart = of(r, cut.symbol), other = of(c, cut.symbol);
      tensor::ElemSet back = other;
      back.subtract(apart);
      apart.subtract(other);
      apart.unite(back);
      if (apart.empty()) apart = of(r, cut.symbol);
      if (apart.empty()) continue;
      for (int64_t p : std::set<int64_t>{apart.back(), apart.front()}) feeding(cut, p, out);
    }
    return out;
  }
  bool is_float_input(uint64_t symbol) const {
    return std::any_of(in_.symbols.begin(), in_.symbols.end(), [&](const SymbolInfo& s) {
      return s.symbol == symbol && program::dtype_is_float(s.dtype);
    });
  }
  static std::map<uint64_t, tensor::ElemSet> read(const Plan& plan) {  // positions by symbol
    std::map<uint64_t, tensor::ElemSet> out;
    for (const StepPlan& step : plan.steps)
      for (const PlannedCut& cut : step.cuts)
        cut.elements.for_each([&](int64_t e) { out[cut.symbol].insert(e - cut.first); });
    return out;
  }
  static tensor::ElemSet of(const std::map<uint64_t, tensor::ElemSet>& all, uint64_t symbol) {
    auto it = all.find(symbol);
    return it == all.end() ? tensor::ElemSet{} : it->second;
  }
  void feeding(const Cut& cut, int64_t position, std::vector<Suspect>& out) {
    PlanRequest request;
    request.end = cut.at;
    request.limit = kChunk;
    Wants wants;
    wants[cut.buffer].insert(cut.first + position);
    const auto plan = make_plan(in_.reference, wants, request);
    if (!plan) return;
    for (const auto& [buffer, elements] : plan->support) add_ends(buffer, elements, out);
  }
  void add_ends(int buffer, const tensor::ElemSet& elements, std::vector<Suspect>& out) const {
    const term::Source& source = in_.reference.sources[static_cast<size_t>(buffer)];
    if (source.kind != term::Source::Kind::Symbol || !is_float_input(source.symbol)) return;
    for (int64_t e : std::set<int64_t>{elements.front(), elements.back()})
      out.push_back({source.symbol, e});
  }

  // Which elements of lemma k depend on an input that is not zero.
  bool select(size_t k, Selection& out) const {
    const auto& classes = in_.lemmas.classes[k];
    const int64_t count = in_.lemmas.reference[k].count;
    if (classes.empty()) {
      if (count > kElements) return false;
      out.computed.insert_range(0, count);
      return true;
    }
    out.all = false;
    for (const LemmaClass& cls : classes) {
      for (const LemmaClass::Member& m : cls.members) {
        bool touched = &m == &cls.members[0];
        for (const auto& [symbol, by] : m.moves) {
          auto it = cls.reads.find(symbol);
          if (it == cls.reads.end()) continue;
          touched = touched || !is_input(symbol);  // an earlier lemma: not alike
          for (const auto& [s, element] : overrides_)
            touched = touched || (s == symbol && it->second.contains(element - by));
        }
        for (int64_t p : cls.written) {
          if (touched)
            out.computed.insert(p + m.by);
          else
            out.copies.push_back({p, p + m.by});
        }
        if (touched) out.ctas.insert(m.cta);
      }
    }
    return out.computed.count() <= kElements;
  }
  bool is_input(uint64_t symbol) const {
    return std::any_of(in_.symbols.begin(), in_.symbols.end(),
                       [&](const SymbolInfo& s) { return s.symbol == symbol; });
  }

  // The elements of all lemmas as the reference computes them. False: too many, or undefined.
  template <class D, class Make>
  bool cells(const std::vector<Selection>& selected, const Make& make, GivenCells<D>& out) {
    for (size_t k = 0; k < selected.size(); ++k) {
      const Cut& cut = in_.lemmas.reference[k];
      auto& mine = out[cut.symbol];
      mine.resize(static_cast<size_t>(cut.count));
      std::vector<int64_t> todo;
      selected[k].computed.for_each([&](int64_t p) { todo.push_back(p); });
      size_t chunk = todo.size();
      for (size_t from = 0; from < todo.size();) {
        const size_t to = std::min(todo.size(), from + chunk);
        PlanRequest request;
        request.end = cut.at;
        request.cuts.assign(in_.lemmas.reference.begin(),
                            in_.lemmas.reference.begin() + static_cast<std::ptrdiff_t>(k));
        request.limit = kChunk;
        Wants wants;
        for (size_t j = from; j < to; ++j) wants[cut.buffer].insert(cut.first + todo[j]);
        const auto plan = make_plan(in_.reference, wants, request);
        if (!plan) {
          if (chunk <= 1) return false;
          chunk = (chunk + 3) / 4;
          continue;
        }
        D domain = make();
        term::Store<D> store(domain, in_.reference.sources);
        run_plan(in_.reference, *plan, domain, store, &out);
        if constexpr (requires { domain.undefined; })
          if (domain.undefined != 0) return false;
        for (size_t j = from; j < to; ++j)
          mine[static_cast<size_t>(todo[j])] = store.load1(cut.buffer, cut.first + todo[j]);
        from = to;
      }
      for (const auto& [a, b] : selected[k].copies)
        mine[static_cast<size_t>(b)] = mine[static_cast<size_t>(a)];
    }
    return true;
  }

  std::optional<LemmaRefuted> attempt(const Experiment& e) {
    std::vector<Selection> selected(in_.lemmas.reference.size());
    for (size_t k = 0; k < selected.size(); ++k)
      if (!select(k, selected[k])) return std::nullopt;
    GivenCells<RealDomain> given;
    if (!cells<RealDomain>(
            selected, [&] { return RealDomain(e, in_.snapper); }, given))
      return std::nullopt;
    const auto value = [&](const Side& side, const Plan& plan, const program::TensorView& view) {
      RealDomain domain(e, in_.snapper);
      term::Store<RealDomain> store(domain, side.sources);
      run_plan(side, plan, domain, store, &given);
      auto cell = store.load1(view.buffer, view.element(in_.position));
      if (domain.undefined != 0) cell.undef = true;
      return cell;
    };
    const auto r = value(in_.reference, in_.r_plan, in_.pair.reference);
    if (r.undef || !std::isfinite(r.v)) return std::nullopt;
    const auto c = value(in_.candidate, in_.c_plan, in_.pair.candidate);
    if (c.undef || !std::isfinite(c.v)) return std::nullopt;
    const Tolerance& tol = in_.tolerance;
    const double gap = std::fabs(c.v - r.v), scale = r.m + std::fabs(r.v);
    const double rho = gap / (scale + tol.atol / std::max(tol.rtol, 1e-300));
    if (!(rho > tol.rtol)) return std::nullopt;
    const auto ci = real_build(e, selected);
    const auto ri = ieee_reference(e, selected);
    if (!ci || !ri) return std::nullopt;
    const double seen = std::fabs(*ci - *ri);
    if (!(seen >= 0.5 * gap) || !(seen > tol.rtol * scale + tol.atol)) return std::nullopt;
    LemmaRefuted refuted;
    LocationResult& out = refuted.result;
    out.kind = VerdictKind::Refuted;
    out.cls = "value";
    out.reason = "the values differ (one element large, all others zero)";
    out.candidate = c.v;
    out.reference = r.v;
    out.candidate_ieee = *ci;
    out.reference_ieee = *ri;
    out.rho = rho;
    out.witness = e.witness();
    out.witness->replayed = true;
    out.witness->replay = "the real build on the virtual GPU";
    if (in_.descending != nullptr) {
      const auto d = value(in_.candidate, *in_.descending, in_.pair.candidate);
      refuted.schedules = {{c.v, c.m, c.undef}, {d.v, d.m, d.undef}};
    }
    return refuted;
  }

  std::optional<double> ieee_reference(const Experiment& e,
                                       const std::vector<Selection>& selected) {
    GivenCells<IeeeDomain> given;
    if (!cells<IeeeDomain>(
            selected, [&] { return IeeeDomain(e); }, given))
      return std::nullopt;
    IeeeDomain domain(e);
    term::Store<IeeeDomain> store(domain, in_.reference.sources);
    run_plan(in_.reference, in_.r_plan, domain, store, &given);
    const auto& view = in_.pair.reference;
    return ieee_to_double(program::dtype_ty(view.dtype),
                          store.load1(view.buffer, view.element(in_.position)).v);
  }

  // All launches of the real build, of a lemma's the CTAs of what is not a copy.
  std::optional<double> real_build(const Experiment& e, const std::vector<Selection>& selected) {
    Plan plan;
    plan.steps.resize(in_.candidate.program->steps.size());
    Replication copies;
    for (size_t s = 0; s < plan.steps.size(); ++s) {
      if (in_.candidate.ops[s]) return std::nullopt;
      if (!in_.candidate.launches[s]) continue;
      std::set<uint32_t> ctas;
      if (in_.c_plan.steps[s].launch)
        ctas.insert(in_.c_plan.steps[s].launch->ctas.begin(),
                    in_.c_plan.steps[s].launch->ctas.end());
      bool lemma = false;
      for (size_t k = 0; k < selected.size(); ++k) {
        const Cut& cut = in_.lemmas.candidate[k];
        if (cut.at.step != s) continue;
        lemma = true;
        if (selected[k].all)
          for (uint64_t c = 0; c < in_.candidate.launches[s]->num_ctas(); ++c)
            ctas.insert(static_cast<uint32_t>(c));
        ctas.insert(selected[k].ctas.begin(), selected[k].ctas.end());
        for (const auto& [a, b] : selected[k].copies)
          copies[s].push_back({cut.buffer, cut.first + a, cut.first + b});
      }
      if (!lemma && ctas.empty()) return std::nullopt;  // what it leaves is not known
      plan.steps[s].launch.emplace();
      plan.steps[s].launch->ctas.assign(ctas.begin(), ctas.end());
    }
    const auto values =
        replay_places(in_.candidate, plan, {{in_.pair.candidate, in_.position}}, e, &copies);
    if (!values) return std::nullopt;
    return values->front();
  }

  const LemmaRefutation& in_;
  double scale_ = 1;
  std::vector<std::pair<uint64_t, int64_t>> overrides_;
};

}  // namespace

std::optional<LemmaRefuted> refute_with_lemmas(const LemmaRefutation& request) {
  if (!program::dtype_is_float(request.pair.reference.dtype)) return std::nullopt;
  return Refuter(request).run();
}

}  // namespace assay::check
