#include "check/cases.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "term/real_domain.h"
#include "term/smt/feasible.h"

namespace assay::check {

using term::Feasible;
using term::FieldDomain;
using term::RealDomain;
using term::Term;
using term::TermDag;
using term::TermId;
using Cell = FieldDomain::Cell;

namespace {

constexpr size_t kMaxAtoms = 6;
constexpr size_t kMaxCone = 600;
constexpr unsigned kSolverMs = 2000;

bool is_number(const Term& t) {
  return t.kind == Term::Kind::Number || t.kind == Term::Kind::Integer;
}

// A piecewise operation that compares: (left, right).
bool compares(const Term& t) {
  if (t.kind != Term::Kind::Apply) return false;
  if (info(t.fn).cls == FnClass::C) return t.fn != Fn::Num && t.fn != Fn::Nan && t.fn != Fn::IsInf;
  return t.fn == Fn::Max || t.fn == Fn::Min || t.fn == Fn::Abs || t.fn == Fn::IMax ||
         t.fn == Fn::IMin;
}

class CaseProver {
 public:
  explicit CaseProver(const CaseRequest& rq) : rq_(rq) {}

  bool run() {
    if (!collect(rq_.a) || !collect(rq_.b)) return false;
    std::sort(cone_.begin(), cone_.end());
    cone_.erase(std::unique(cone_.begin(), cone_.end()), cone_.end());
    for (TermId t : cone_)
      if (rq_.is_leaf(t) && !is_number(rq_.dag[t])) leaf_[t] = rq_.image(t);
    return split();
  }

 private:
  bool collect(TermId root) {
    std::vector<TermId> stack = {root};
    while (!stack.empty()) {
      const TermId t = stack.back();
      stack.pop_back();
      if (!seen_.insert(t).second) continue;
      cone_.push_back(t);
      if (cone_.size() > kMaxCone) return false;
      const Term& x = rq_.dag[t];
      if (x.kind == Term::Kind::Undef) return false;
      if (x.kind != Term::Kind::Apply || rq_.is_leaf(t)) continue;
      for (int k = 0; k < info(x.fn).arity; ++k) stack.push_back(x.arg[k]);
    }
    return true;
  }

  // Evaluates the cone under the outcomes chosen so far. Returns the first comparison that has
  // none, or 0.
  TermId evaluate(std::unordered_map<TermId, Cell>& cells) {
    for (TermId t : cone_) {
      auto leaf = leaf_.find(t);
      if (leaf != leaf_.end()) {
        cells[t] = leaf->second;
        continue;
      }
      const Term& x = rq_.dag[t];
      if (!compares(x)) {
        cells[t] = eval_cell(rq_.dag, rq_.domain, t, [&](TermId a) { return cells[a]; });
        continue;
      }
      int sign = 0;
      const Cell left = cells[x.arg[0]];
      const Cell right = x.fn == Fn::Abs ? Cell{0, 0} : cells[x.arg[1]];
      if (!outcome(left, right, &sign)) return t;
      cells[t] = resolve(x, sign, left, right);
    }
    return 0;
  }

  // The sign of left - right, if known: chosen, equal images, or constants.
  bool outcome(const Cell& left, const Cell& right, int* sign) {
    if (left.v == right.v) return *sign = 0, true;
    if (left.v < 0 || right.v < 0) {  // infinities
      if (left.v <= -3 || right.v <= -3) return *sign = 0, true;
      *sign = left.v == -1 || right.v == -2 ? 1 : -1;
      return true;
    }
    double l = 0, r = 0;
    if (rq_.domain.is_const(left.v, &l) && rq_.domain.is_const(right.v, &r))
      return *sign = l > r ? 1 : l < r ? -1 : 0, true;
    const double p = rq_.domain.primes().p.p;
    const Cell d = difference(left, right);
    for (const auto& c : chosen_) {
      if (c.image.v == d.v) return *sign = c.sign, true;
      if (c.image.v == p - d.v) return *sign = -c.sign, true;
      if (const int factor = factor_sign(d, c.image); factor != 0)
        return *sign = factor * c.sign, true;
    }
    return false;
  }
  Cell difference(const Cell& left, const Cell& right) const {
    const auto& dom = rq_.domain.primes();
    auto e = [](double x) { return x < 0 ? -1 - x : x; };
    return {term::f_sub(dom.p, left.v, right.v), term::f_sub(dom.q, e(left.e), e(right.e))};
  }
  // The sign of a small rational k with d = k * c in both fields; 0: there is none.
  int factor_sign(const Cell& d, const Cell& c) const {
    const auto& dom = rq_.domain.primes();
    int64_t num = 0, den = 1;
    if (d.v == 0 || c.v == 0 || d.e == 0 || c.e == 0) return 0;
    if (!rq_.domain.rational(term::f_mul(dom.p, d.v, term::f_inv(dom.p, c.v)), 7, &num, &den) ||
        num == 0 || den <= 0)
      return 0;
    const auto whole = [&](int64_t k) {
      const auto x = static_cast<double>(k < 0 ? -k : k);
      return k < 0 ? term::f_neg(dom.q, x) : x;
    };
    if (term::f_mul(dom.q, d.e, whole(den)) != term::f_mul(dom.q, c.e, whole(num))) return 0;
    return num > 0 ? 1 : -1;
  }

  Cell resolve(const Term& x, int sign, const Cell& left, const Cell& right) {
    switch (x.fn) {
      case Fn::Max:
      case Fn::IMax:
        return sign >= 0 ? left : right;
      case Fn::Min:
      case Fn::IMin:
        return sign <= 0 ? left : right;
      case Fn::Abs:
        return sign >= 0 ? left : rq_.domain.combine(Fn::Sub, Ty::F64, Cell{0, 0}, left);
      default: {
        static const Mods kNone;
        return term::real_fn(x.fn, kNone, sign, 0, 0) != 0 ? Cell{1, 1} : Cell{0, 0};
      }
    }
  }

  // In a case whose comparisons are all decided: does the term take a logarithm or root of a
  // negative number, in branches that are taken?
  bool undefined(TermId root, const std::unordered_map<TermId, Cell>& cells) {
    std::vector<TermId> stack = {root};
    std::unordered_set<TermId> seen;
    while (!stack.empty()) {
      const TermId t = stack.back();
      stack.pop_back();
      const Term& x = rq_.dag[t];
      if (!seen.insert(t).second || x.kind != Term::Kind::Apply || leaf_.count(t) != 0) continue;
      if (x.fn == Fn::Select) {
        stack.push_back(x.arg[0]);
        const double taken = cells.at(x.arg[0]).v;
        if (taken == 0 || taken == 1) stack.push_back(x.arg[taken == 1 ? 1 : 2]);
        continue;
      }
      if (needs_positive(x.fn)) {
        int sign = 0;
        if (outcome(cells.at(x.arg[0]), Cell{0, 0}, &sign) && sign < 0) return true;
      }
      for (int k = 0; k < info(x.fn).arity; ++k) stack.push_back(x.arg[k]);
    }
    return false;
  }
  static bool needs_positive(Fn fn) {
    return fn == Fn::Log || fn == Fn::Log2 || fn == Fn::Log10 || fn == Fn::Sqrt || fn == Fn::Rsqrt;
  }

  bool split() {
    if (++cases_ > 2000) return false;
    std::unordered_map<TermId, Cell> cells;
    const TermId open = evaluate(cells);
    if (open == 0) {
      if (rq_.b_is_defined) {
        if (undefined(rq_.b, cells)) return true;
        if (undefined(rq_.a, cells)) return false;
      }
      if (cells[rq_.a].v == cells[rq_.b].v && cells[rq_.a].v > -3) return true;
      return inconsistent();
    }
    if (chosen_.size() >= kMaxAtoms) return false;
    const Term& x = rq_.dag[open];
    const TermId left = x.arg[0], right = x.fn == Fn::Abs ? 0 : x.arg[1];
    const Cell d = difference(cells[left], right == 0 ? Cell{0, 0} : cells[right]);
    for (int sign : {1, -1}) {
      chosen_.push_back({d, sign, left, right});
      const bool ok = split();
      chosen_.pop_back();
      if (!ok) return false;
    }
    // The tie: solve left = right for a leaf.
    const auto saved = leaf_;
    const int solved = solve(left, right);
    bool ok = true;
    if (solved > 0) {
      ties_.push_back({left, right});
      ok = split();
      ties_.pop_back();
    } else if (solved < 0) {
      ok = false;
    }
    leaf_ = saved;
    return ok;
  }

  // Substitutes a leaf so that left - right becomes 0. 1: done; 0: no solution (a constant); -1:
  // unknown.
  int solve(TermId left, TermId right) {
    const auto& dom = rq_.domain.primes();
    auto difference_at = [&](TermId leaf, Cell value, Cell* out) {
      const Cell keep = leaf_[leaf];
      leaf_[leaf] = value;
      std::unordered_map<TermId, Cell> cells;
      const TermId stop = evaluate(cells);
      leaf_[leaf] = keep;
      if (cells.count(left) == 0 || (right != 0 && cells.count(right) == 0)) return false;
      if (stop != 0 && stop < std::max(left, right)) return false;
      const Cell l = cells[left], r = right == 0 ? Cell{0, 0} : cells[right];
      if (l.v < 0 || r.v < 0) return false;
      *out = difference(l, r);
      return true;
    };
    bool any = false;
    for (auto& [leaf, image] : leaf_) {
      Cell d0, d1, d2;
      if (!difference_at(leaf, {0, 0}, &d0) || !difference_at(leaf, {1, 1}, &d1) ||
          !difference_at(leaf, {2, 2}, &d2))
        continue;
      const double s = term::f_sub(dom.p, d1.v, d0.v), se = term::f_sub(dom.q, d1.e, d0.e);
      if (s == 0) continue;
      any = true;
      if (term::f_sub(dom.p, d2.v, d1.v) != s || term::f_sub(dom.q, d2.e, d1.e) != se || se == 0)
        continue;
      Cell value{term::f_mul(dom.p, term::f_neg(dom.p, d0.v), term::f_inv(dom.p, s)),
                 term::f_mul(dom.q, term::f_neg(dom.q, d0.e), term::f_inv(dom.q, se))};
      image = value;
      return 1;
    }
    return any ? -1 : 0;
  }

  bool inconsistent() {
    std::vector<term::OrderConstraint> constraints;
    static const TermId kZero = 0;
    for (const auto& c : chosen_) {
      if (c.right == kZero) return false;  // |x|: its sign is always consistent
      constraints.push_back({c.left, c.right, c.sign});
    }
    for (const auto& [l, r] : ties_) {
      if (r == kZero) return false;
      constraints.push_back({l, r, 0});
    }
    if (constraints.size() < 2 || ++solver_calls_ > 4) return false;
    return term::feasible(
               rq_.dag, constraints, [&](TermId t) { return leaf_.count(t) != 0; }, rq_.snapper,
               kSolverMs) == Feasible::No;
  }

  struct Choice {
    Cell image;  // left - right
    int sign;
    TermId left, right;
  };
  const CaseRequest& rq_;
  std::vector<TermId> cone_;
  std::unordered_set<TermId> seen_;
  std::map<TermId, Cell> leaf_;
  std::vector<Choice> chosen_;
  std::vector<std::pair<TermId, TermId>> ties_;
  int cases_ = 0, solver_calls_ = 0;
};

class NoInputs : public term::InputModel {
 public:
  void values(uint64_t, Ty, const int64_t*, uint32_t mask, double* out) const override {
    for (uint32_t m = mask; m != 0; m &= m - 1) out[__builtin_ctz(m)] = 0;
  }
};

// Terms of both cones, arguments first, and their leaves. False: too large.
bool cone_of(const CaseRequest& rq, std::vector<TermId>& cone, std::vector<TermId>& leaves) {
  std::unordered_set<TermId> seen;
  std::vector<TermId> stack = {rq.a, rq.b};
  while (!stack.empty()) {
    const TermId t = stack.back();
    stack.pop_back();
    if (!seen.insert(t).second) continue;
    cone.push_back(t);
    if (cone.size() > kMaxCone) return false;
    const Term& x = rq.dag[t];
    if (is_number(x)) continue;
    if (x.kind != Term::Kind::Apply || rq.is_leaf(t)) {
      leaves.push_back(t);
      continue;
    }
    for (int k = 0; k < info(x.fn).arity; ++k) stack.push_back(x.arg[k]);
  }
  std::sort(cone.begin(), cone.end());
  return true;
}

std::vector<double> grid() {
  std::vector<double> out = {0};
  for (int k = -800; k <= 800; ++k) {  // magnitudes 1e-8 .. 1e8
    const double x = std::pow(10.0, k / 100.0);
    out.push_back(x);
    out.push_back(-x);
  }
  for (int k = -6000; k <= 6000; ++k) out.push_back(k / 200.0);  // -30 .. 30
  for (int k = 81; k <= 385; ++k) {                              // magnitudes up to those of float
    const double x = std::pow(10.0, k / 10.0);
    out.push_back(x);
    out.push_back(-x);
  }
  return out;
}

}  // namespace

Cell eval_cell(const TermDag& dag, FieldDomain& domain, TermId id, const CellFn& arg) {
  const Term& t = dag[id];
  FieldDomain::Row rows[4], out;
  switch (t.kind) {
    case Term::Kind::Symbol: {
      int64_t elements[term::kRow];
      std::fill_n(elements, term::kRow, t.element);
      domain.symbol(t.symbol, t.type, elements, 1, out);
      return domain.cell(out, 0, t.type);
    }
    case Term::Kind::Number:
      domain.set_number(t.type, t.value, out);
      return domain.cell(out, 0, t.type);
    case Term::Kind::Integer:
      return domain.bits_cell(Ty::S64, static_cast<uint64_t>(t.element));
    case Term::Kind::Apply:
      break;
    default:
      domain.set_undef(t.symbol, out);
      return domain.cell(out, 0, t.type);
  }
  const int arity = info(t.fn).arity;
  for (int k = 0; k < arity; ++k) {
    domain.clear(rows[k]);
    std::fill_n(rows[k].v, term::kRow, 1.0);
    std::fill_n(rows[k].e, term::kRow, 1.0);
    domain.set_lane(rows[k], 0, arg(t.arg[k]));
  }
  domain.apply(t.fn, t.type, t.mods, &rows[0], arity > 1 ? &rows[1] : nullptr,
               arity > 2 ? &rows[2] : nullptr, arity > 3 ? &rows[3] : nullptr, out, 1);
  return domain.cell(out, 0, t.type);
}

bool prove_by_cases(const CaseRequest& request) { return CaseProver(request).run(); }

std::optional<double> bound_unary(const CaseRequest& rq, double floor) {
  std::vector<TermId> cone, leaves;
  if (!cone_of(rq, cone, leaves)) return std::nullopt;
  std::map<double, std::vector<TermId>> by_image;
  for (TermId t : leaves) by_image[rq.image(t).v].push_back(t);
  if (by_image.size() != 1) return std::nullopt;
  const NoInputs inputs;
  RealDomain domain(inputs, rq.snapper);
  static const std::vector<double> kGrid = grid();
  std::vector<double> points = kGrid;
  for (TermId t : cone) {  // where a comparison with a constant turns, and beyond
    if (rq.dag[t].kind != Term::Kind::Number) continue;
    const double c = rq.dag[t].value;
    for (const double x : {c, c - 1, c + 1, c * (1 - 1e-6), c * (1 + 1e-6), 2 * c, 1e3 * c})
      for (const double y : {x, -x})
        if (std::isfinite(y)) points.push_back(y);
  }
  double worst = 0;
  std::unordered_map<TermId, RealDomain::Row> rows;
  for (size_t at = 0; at < points.size(); at += term::kRow) {
    const int n = static_cast<int>(std::min<size_t>(term::kRow, points.size() - at));
    const uint32_t mask = n == 32 ? 0xffffffffu : (1u << n) - 1;
    for (TermId t : cone) {
      const Term& x = rq.dag[t];
      RealDomain::Row& out = rows[t];
      if (x.kind == Term::Kind::Number) {
        domain.set_number(x.type, x.value, out);
      } else if (x.kind == Term::Kind::Integer) {
        int64_t v[term::kRow];
        std::fill_n(v, term::kRow, x.element);
        domain.set_integer(v, out);
      } else if (x.kind != Term::Kind::Apply || rq.is_leaf(t)) {
        domain.clear(out);
        for (int l = 0; l < n; ++l)
          out.v[l] = points[at + static_cast<size_t>(l)], out.m[l] = std::fabs(out.v[l]);
      } else {
        const int arity = info(x.fn).arity;
        domain.apply(x.fn, x.type, x.mods, &rows[x.arg[0]], arity > 1 ? &rows[x.arg[1]] : nullptr,
                     arity > 2 ? &rows[x.arg[2]] : nullptr, nullptr, out, mask);
      }
    }
    const auto &a = rows[rq.a], &b = rows[rq.b];
    for (int l = 0; l < n; ++l) {
      if (!std::isfinite(b.v[l])) continue;
      if (!std::isfinite(a.v[l])) return std::nullopt;
      worst = std::max(worst, std::fabs(a.v[l] - b.v[l]) / (b.m[l] + std::fabs(b.v[l]) + floor));
    }
  }
  return worst;
}

}  // namespace assay::check
