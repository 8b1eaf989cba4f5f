#include "check/local.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "check/cases.h"
#include "check/experiment.h"
#include "check/summands.h"
#include "term/field_domain.h"
#include "term/real_domain.h"
#include "term/terms.h"

namespace assay::check {

using term::FieldDomain;
using term::Term;
using term::TermDag;
using term::TermDomain;
using term::TermId;

namespace {

constexpr size_t kMaxTerms = 5'000'000;  // of long sums
constexpr size_t kMaxBuckets = 200'000;  // terms that are kept by their value in all samples
constexpr int kSamples = 6;
constexpr size_t kMaxAttempts = 400;

using Samples = std::array<double, kSamples>;

class Sweep {
 public:
  explicit Sweep(const LocalRequest& rq) : rq_(rq), domain_(settings(), rq.snapper) {}

  // In the order of the positions; empty: too large, or indexed by data.
  std::vector<LocalResult> run(std::span<const int64_t> positions) {
    TermDomain terms(dag_, kMaxTerms);
    if (!find_roots(positions, terms)) return {};
    for (const SymbolInfo& s : rq_.symbols)
      if (!program::dtype_is_float(s.dtype) && s.range)
        domain_.set_int_range(s.symbol, static_cast<int64_t>(s.range->first),
                              static_cast<int64_t>(s.range->second) + 1);
    std::vector<LocalResult> out(positions.size());
    if (positions.size() == 1 &&
        equal_by_summands(dag_, settings(), rq_.snapper, rq_.symbols, roots_[0].c, roots_[0].r)) {
      out[0].outcome = LocalResult::Outcome::Equal;
      return out;
    }
    evaluate_all();
    for (const bool allow : {false, true}) {
      std::vector<TermId> open;  // of roots
      for (size_t k = 0; k < out.size(); ++k) {
        if (out[k].outcome != LocalResult::Outcome::Open) continue;
        if (out_of_time_)
          out[k].reason = "no time left";
        else if (!allow || !scaled(roots_[k], out[k]))
          open.push_back(roots_[k].c);
      }
      if (open.empty()) break;
      const size_t roots = open.size();
      open = unshared(open);
      sweep(open, allow, kMaxAttempts + 8 * roots);
      for (size_t k = 0; k < out.size(); ++k)
        if (out[k].outcome == LocalResult::Outcome::Open) conclude(roots_[k], open, out[k]);
    }
    return out;
  }

 private:
  FieldDomain::Settings settings() const {
    FieldDomain::Settings s;
    s.prime = 5;
    s.seed = rq_.seed + 991;
    s.with_exp = rq_.candidate.uses_exp || rq_.reference.uses_exp;
    return s;
  }
  struct Approximated {
    std::string text;
    double bound;
  };
  struct Roots {
    TermId c, r;
  };

  bool find_roots(std::span<const int64_t> positions, TermDomain& terms) {
    for (const Plan* plan : {&rq_.c_plan, &rq_.r_plan}) {
      int64_t inputs = 0;
      for (const auto& entry : plan->support) inputs += entry.second.count();
      if (inputs >= static_cast<int64_t>(kMaxTerms)) return false;
    }
    term::Store<TermDomain> c_store(terms, rq_.candidate.sources),
        r_store(terms, rq_.reference.sources);
    run_plan(rq_.candidate, rq_.c_plan, terms, c_store);
    run_plan(rq_.reference, rq_.r_plan, terms, r_store);
    for (const int64_t p : positions) {
      roots_.push_back({c_store.load1(rq_.pair.candidate.buffer, rq_.pair.candidate.element(p)).t,
                        r_store.load1(rq_.pair.reference.buffer, rq_.pair.reference.element(p)).t});
      if (terms.overflow || roots_.back().c == 0 || roots_.back().r == 0) return false;
    }
    return true;
  }

  // Images and samples of all terms; those of the reference by both.
  void evaluate_all() {
    std::vector<TermId> c, r;
    for (const Roots& root : roots_) {
      c.push_back(root.c);
      r.push_back(root.r);
      r_roots_.insert(root.r);
    }
    const std::vector<TermId> r_order = order(r), c_order = order(c);
    cells_.resize(dag_.size());
    samples_.resize(dag_.size());
    evaluated_.assign(dag_.size(), 0);
    make_experiments();
    for (TermId t : r_order) {
      evaluate(t);
      by_image_.try_emplace(cells_[t].v, t);
    }
    const size_t kinds = r_order.size() < kMaxBuckets ? kSamples : 1;
    by_value_.resize(kinds);
    for (size_t k = 0; k < kinds; ++k)
      for (TermId t : r_order) by_value_[k][bucket(samples_[t][k])].push_back(t);
    for (TermId t : c_order) {
      evaluate(t);
      c_images_.insert(cells_[t].v);
    }
  }

  // `open`: terms between its root and what the reference has too, of all roots.
  void conclude(const Roots& root, const std::vector<TermId>& open, LocalResult& out) {
    const auto [c, r] = root;
    if (cells_[c].v != cells_[r].v || cells_[c].v <= -3) {  // or undefined
      const auto [x, y] = frontier(c, r, 0);
      out.differing = fmt::format("{}  against  {}", text(x), text(y));
      return;
    }
    out.outcome = LocalResult::Outcome::Equal;
    const Approximated* worst = nullptr;
    for (const TermId t : reached(c, open)) {
      const auto it = replaced_.find(t);
      if (it == replaced_.end()) continue;
      const Approximated& a = approximations_[it->second];
      if (worst == nullptr || a.bound > worst->bound) worst = &a;
    }
    if (worst == nullptr) return;
    out.outcome = LocalResult::Outcome::Approximation;
    out.differing = worst->text;
    out.reason =
        fmt::format("{}; error at most {:.2g} of the condition scale over the whole domain",
                    worst->text, worst->bound);
  }

  // Those of `open` (ascending) that a root is made of.
  std::vector<TermId> reached(TermId root, const std::vector<TermId>& open) const {
    const auto is_open = [&](TermId t) { return std::binary_search(open.begin(), open.end(), t); };
    return walk({root}, is_open, [](TermId) { return true; });
  }

  // candidate = k * reference for a rational k near 1 (a divisor n - 1 for n, say).
  bool scaled(const Roots& root, LocalResult& out) {
    const auto &c = cells_[root.c], &r = cells_[root.r];
    int64_t num = 0, den = 1;
    if (c.v <= 0 || r.v <= 0) return false;
    const auto& p = domain_.primes().p;
    if (!domain_.rational(term::f_mul(p, c.v, term::f_inv(p, r.v)), 13, &num, &den) || den == 0)
      return false;
    const double k = static_cast<double>(num) / static_cast<double>(den);
    if (std::fabs(k - 1) > rq_.tolerance.rtol) return false;
    out.outcome = LocalResult::Outcome::Approximation;
    out.differing = fmt::format("the candidate is {}/{} of the reference", num, den);
    out.reason =
        fmt::format("{}; relative error {:.2g} everywhere", out.differing, std::fabs(k - 1));
    return true;
  }

  // Terms that `enter` lets in, from the roots down through those that `open` opens; ascending, so
  // arguments first.
  template <class Enter, class Open>
  std::vector<TermId> walk(const std::vector<TermId>& roots, const Enter& enter,
                           const Open& open) const {
    std::vector<TermId> stack, out;
    std::unordered_set<TermId> seen;
    const auto reach = [&](TermId t) {
      if (enter(t) && seen.insert(t).second) stack.push_back(t);
    };
    for (const TermId t : roots) reach(t);
    while (!stack.empty()) {
      const TermId t = stack.back();
      stack.pop_back();
      out.push_back(t);
      const Term& x = dag_[t];
      if (x.kind != Term::Kind::Apply || !open(t)) continue;
      for (int k = 0; k < info(x.fn).arity; ++k) reach(x.arg[k]);
    }
    std::sort(out.begin(), out.end());
    return out;
  }
  std::vector<TermId> order(const std::vector<TermId>& roots) const {
    const auto all = [](TermId) { return true; };
    return walk(roots, all, all);
  }
  // Down to those that the reference has too: what lies below them is equal.
  std::vector<TermId> unshared(const std::vector<TermId>& roots) const {
    return walk(
        roots, [](TermId) { return true; }, [&](TermId t) { return !shared(t); });
  }

  void make_experiments() {
    using K = Draw::Kind;
    const Draw draws[kSamples] = {{K::Uniform, -2, 2, 1, 1},     {K::Uniform, 0.1, 3, 1, 1},
                                  {K::Uniform, -8, 8, 1, 1},     {K::Uniform, -3, -0.1, 1, 1},
                                  {K::Uniform, -0.5, 0.5, 1, 1}, {K::Uniform, -25, 25, 1, 1}};
    for (int k = 0; k < kSamples; ++k) {
      experiments_.emplace_back(rq_.symbols, rq_.seed + 500 + static_cast<uint64_t>(k));
      experiments_.back().set_all(draws[k]);
    }
  }

  void evaluate(TermId id) {
    if (evaluated_[id] || out_of_time_) return;
    if ((++evaluations_ & 0xfff) == 0 && Clock::now() > rq_.deadline) out_of_time_ = true;
    evaluated_[id] = 1;
    cells_[id] = eval_cell(dag_, domain_, id, [&](TermId a) { return cells_[a]; });
    const Term& t = dag_[id];
    for (int k = 0; k < kSamples; ++k) {
      double& v = samples_[id][static_cast<size_t>(k)];
      switch (t.kind) {
        case Term::Kind::Symbol:
          v = experiments_[static_cast<size_t>(k)].value(t.symbol, t.element);
          break;
        case Term::Kind::Number:
          v = std::isfinite(t.value) ? rq_.snapper.snap(t.type, t.value).value : t.value;
          break;
        case Term::Kind::Integer:
          v = static_cast<double>(t.element);
          break;
        case Term::Kind::Apply: {
          auto arg = [&](int j) { return samples_[t.arg[j]][static_cast<size_t>(k)]; };
          const int arity = info(t.fn).arity;
          v = term::real_fn(t.fn, t.mods, arg(0), arity > 1 ? arg(1) : 0, arity > 2 ? arg(2) : 0);
          break;
        }
        default:
          v = NAN;
          break;
      }
    }
  }

  static int64_t bucket(double v) {
    return std::isfinite(v) ? static_cast<int64_t>(std::floor(std::asinh(v * 1e3) * 50))
                            : INT64_MAX;
  }

  // Largest relative difference over the samples; nothing where fewer than two say anything.
  std::optional<double> distance(TermId a, TermId b) const {
    int finite = 0;
    double most = 0;
    for (size_t k = 0; k < kSamples; ++k) {
      const double x = samples_[a][k], y = samples_[b][k];
      if (!std::isfinite(x) || !std::isfinite(y)) continue;
      ++finite;
      most = std::max(most, std::fabs(x - y) / (1 + std::fabs(x) + std::fabs(y)));
    }
    if (finite < 2) return std::nullopt;
    return most;
  }
  bool agree(TermId a, TermId b, double tolerance) const {
    const std::optional<double> apart = distance(a, b);
    return apart && *apart <= tolerance;
  }

  bool shared(TermId t) const { return by_image_.count(cells_[t].v) != 0; }

  void sweep(const std::vector<TermId>& c_order, bool allow_approximation, size_t most) {
    size_t attempts = 0;
    for (TermId t : c_order) {
      const bool fixed = overridden_.count(t) != 0;
      if (!fixed) {
        const Samples keep = samples_[t];  // as without replacements below
        evaluated_[t] = 0;
        evaluate(t);
        samples_[t] = keep;
        c_images_.insert(cells_[t].v);
      }
      if (dag_[t].kind != Term::Kind::Apply || shared(t) || attempts > most ||
          Clock::now() > rq_.deadline)
        continue;
      const FnClass cls = info(dag_[t].fn).cls;
      if (cls == FnClass::C || cls == FnClass::L) continue;
      for (TermId r : near(t, allow_approximation)) {
        ++attempts;
        if (settle_pair(t, r, agree(t, r, 1e-9), allow_approximation)) break;
      }
    }
  }

  // Terms of the reference that may be `t`: the nearest few of those in the sample in which fewest
  // are near.
  std::vector<TermId> near(TermId t, bool allow_approximation) const {
    constexpr size_t kFew = 8;
    size_t least = SIZE_MAX;
    std::vector<const std::vector<TermId>*> found;
    for (size_t k = 0; k < by_value_.size(); ++k) {
      const int64_t b = bucket(samples_[t][k]);
      if (b == INT64_MAX) continue;  // not finite: nothing to compare with
      std::vector<const std::vector<TermId>*> lists;
      size_t count = 0;
      for (int64_t at = b - 1; at <= b + 1; ++at) {
        const auto it = by_value_[k].find(at);
        if (it == by_value_[k].end()) continue;
        lists.push_back(&it->second);
        count += it->second.size();
      }
      if (count >= least) continue;
      least = count;
      found = std::move(lists);
    }
    std::vector<std::pair<double, TermId>> close;
    for (const auto* list : found)
      for (TermId r : *list) {
        if (r == t || cells_[r].v == cells_[t].v) continue;
        const std::optional<double> apart = distance(t, r);
        if (apart && *apart <= (allow_approximation ? 2e-2 : 1e-9)) close.emplace_back(*apart, r);
      }
    std::sort(close.begin(), close.end());
    if (close.size() > kFew) close.resize(kFew);
    std::vector<TermId> out;
    for (const auto& [apart, r] : close) out.push_back(r);
    return out;
  }

  // By cases; with allow_approximation also by a bound of the difference.
  bool settle_pair(TermId c, TermId r, bool same, bool allow_approximation) {
    CaseRequest request{dag_,
                        domain_,
                        rq_.snapper,
                        c,
                        r,
                        [&](TermId t) { return leaf(t, c, r); },
                        [&](TermId t) { return cells_[t]; },
                        r_roots_.count(r) != 0};
    bool ok = same && prove_by_cases(request);
    if (!ok) {
      if (!allow_approximation) return false;
      const std::optional<double> bound =
          bound_unary(request, rq_.tolerance.atol / std::max(rq_.tolerance.rtol, 1e-300));
      if (!bound || *bound > rq_.tolerance.rtol) return false;
      replaced_[c] = approximations_.size();
      approximations_.push_back({fmt::format("{} stands for {}", text(c), text(r)), *bound});
      approximated_.insert({c, r});  // no leaf: what lies below both still belongs together
    }
    cells_[c] = cells_[r];
    overridden_.insert(c);
    c_images_.insert(cells_[c].v);
    return true;
  }

  // Cuts: symbols and numbers, and terms that both sides have unless they are small.
  bool leaf(TermId t, TermId c, TermId r) {
    if (t == c || t == r) return false;
    const Term& x = dag_[t];
    if (x.kind == Term::Kind::Number || x.kind == Term::Kind::Integer) return false;
    if (x.kind != Term::Kind::Apply) return true;
    const FnClass cls = info(x.fn).cls;
    if (cls == FnClass::C || cls == FnClass::L) return false;
    if (!evaluated_[t] || approximated_.count(t) != 0) return false;
    return by_image_.count(cells_[t].v) != 0 && c_images_.count(cells_[t].v) != 0 && heavy(t) &&
           !leaf_below(t, c, r);
  }
  // A leaf with a number added or as a factor says nothing new, and as a leaf of its own would lose
  // what it has to do with the one below.
  bool leaf_below(TermId t, TermId c, TermId r) {
    const Term& x = dag_[t];
    if (x.fn != Fn::Mul && x.fn != Fn::Add && x.fn != Fn::Sub && x.fn != Fn::Neg && x.fn != Fn::Div)
      return false;
    TermId below = 0;
    int open = 0;
    for (int k = 0; k < info(x.fn).arity; ++k) {
      const Term::Kind kind = dag_[x.arg[k]].kind;
      double number = 0;  // converted from an integer, say
      if (kind == Term::Kind::Number || kind == Term::Kind::Integer ||
          (evaluated_[x.arg[k]] && domain_.is_const(cells_[x.arg[k]].v, &number)))
        continue;
      below = x.arg[k];
      ++open;
    }
    return open == 1 && leaf(below, c, r);
  }
  bool heavy(TermId root) const {  // more than a few terms, written out
    int count = 0;
    std::vector<TermId> stack = {root};
    while (!stack.empty() && ++count <= 12) {
      const Term& x = dag_[stack.back()];
      stack.pop_back();
      if (x.kind == Term::Kind::Apply) stack.insert(stack.end(), x.arg, x.arg + info(x.fn).arity);
    }
    return count > 12;
  }

  // The smallest pair of differing sub-terms in corresponding places.
  std::pair<TermId, TermId> frontier(TermId c, TermId r, int depth) const {
    const Term &x = dag_[c], &y = dag_[r];
    if (depth > 60 || x.kind != Term::Kind::Apply || y.kind != Term::Kind::Apply || x.fn != y.fn)
      return {c, r};
    int differs = -1;
    for (int k = 0; k < info(x.fn).arity; ++k) {
      if (cells_[x.arg[k]].v == cells_[y.arg[k]].v) continue;
      if (differs >= 0) return {c, r};
      differs = k;
    }
    return differs < 0 ? std::make_pair(c, r) : frontier(x.arg[differs], y.arg[differs], depth + 1);
  }

  std::string text(TermId t) const {
    constexpr size_t kShown = 2000;  // no text is longer
    std::unordered_map<TermId, std::string> names;
    std::vector<TermId> reached = {t};
    for (size_t k = 0; k < reached.size(); ++k) {
      const Term& x = dag_[reached[k]];
      if (x.kind == Term::Kind::Apply && reached.size() < kShown)
        reached.insert(reached.end(), x.arg, x.arg + info(x.fn).arity);
      if (x.kind != Term::Kind::Symbol) continue;
      for (const SymbolInfo& s : rq_.symbols)
        if (s.symbol == x.symbol)
          names[reached[k]] = fmt::format("{}[{}]", s.name.empty() ? "x" : s.name, x.element);
    }
    return dag_.text(t, names, 30);
  }

  const LocalRequest& rq_;
  TermDag dag_;
  FieldDomain domain_;
  std::vector<Roots> roots_;
  std::unordered_set<TermId> r_roots_;
  std::vector<FieldDomain::Cell> cells_;
  std::vector<Samples> samples_;
  std::vector<uint8_t> evaluated_;
  uint64_t evaluations_ = 0;
  bool out_of_time_ = false;
  std::vector<Experiment> experiments_;
  std::unordered_map<double, TermId> by_image_;  // of the reference
  std::unordered_set<double> c_images_;          // of what the sweep has come past, as replaced
  std::vector<std::map<int64_t, std::vector<TermId>>> by_value_;  // of each sample
  std::unordered_set<TermId> overridden_;
  std::vector<Approximated> approximations_;
  std::unordered_map<TermId, size_t> replaced_;  // by which of them
  std::unordered_set<TermId> approximated_;
};

}  // namespace

LocalResult prove_locally(const LocalRequest& request) {
  const std::vector<LocalResult> out = Sweep(request).run(std::array{request.position});
  if (!out.empty()) return out[0];
  LocalResult none;
  none.reason = "the cone is too large or indexed by data";
  return none;
}

std::vector<LocalResult> prove_together(const LocalRequest& request,
                                        std::span<const int64_t> positions) {
  return Sweep(request).run(positions);
}

}  // namespace assay::check
