#include "check/summands.h"

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/deadline.h"
#include "check/alike.h"
#include "check/cases.h"

namespace assay::check {

using term::FieldDomain;
using term::Term;
using term::TermDag;
using term::TermId;

namespace {

constexpr size_t kMaxSummand = 200;  // terms of one summand
constexpr size_t kMaxGroup = 24;     // summands of one group
constexpr size_t kMaxKinds = 48;     // groups that are not alike

struct Summand {
  TermId term = 0, factor = 0;  // factor: a constant expression
  bool of_reference = false;
};

class Summands {
 public:
  Summands(TermDag& dag, const FieldDomain::Settings& settings, const term::Snapper& snapper,
           const std::vector<SymbolInfo>& symbols)
      : dag_(dag), snapper_(snapper), reader_(dag, symbols) {
    for (size_t k = 0; k < 2; ++k) {
      FieldDomain::Settings mine = settings;
      mine.prime = (settings.prime + static_cast<int>(k)) % term::PrimePair::kCount;
      mine.seed += k;
      FieldDomain& domain = domains_.emplace_back(mine, snapper);
      for (const SymbolInfo& s : symbols)
        if (!program::dtype_is_float(s.dtype) && s.range)
          domain.set_int_range(s.symbol, static_cast<int64_t>(s.range->first),
                               static_cast<int64_t>(s.range->second) + 1);
    }
  }

  bool run(TermId candidate, TermId reference) {
    std::vector<TermId> constant[2];
    for (const bool of_reference : {false, true})
      if (!linear(of_reference ? reference : candidate, of_reference, constant[of_reference]))
        return false;
    const TermId sums[] = {total(constant[0]), total(constant[1])};
    for (size_t k = 0; k < 2; ++k)
      if (image(sums[0], k).v != image(sums[1], k).v || image(sums[0], k).v < 0) return false;
    cancel();
    if (!group()) return false;
    return every_group();
  }

 private:
  TermId apply(Fn fn, TermId a, TermId b) {
    const TermId args[2] = {a, b};
    return dag_.apply(fn, Ty::F64, {}, args, info(fn).arity, 0);
  }
  TermId total(const std::vector<TermId>& terms) {
    TermId sum = dag_.number(Ty::F64, 0);
    for (const TermId t : terms) sum = apply(Fn::Add, sum, t);
    return sum;
  }
  // Images of constants and summands, at either of two random points. Without recursion: a constant
  // that many summands share has a factor as deep as there are of them.
  FieldDomain::Cell image(TermId root, size_t k = 0) {
    auto& images = images_[k];
    std::vector<TermId> stack = {root};
    while (!stack.empty()) {
      const TermId t = stack.back();
      const size_t before = stack.size();
      if (images.count(t) == 0 && dag_[t].kind == Term::Kind::Apply)
        for (int j = 0; j < info(dag_[t].fn).arity; ++j)
          if (images.count(dag_[t].arg[j]) == 0) stack.push_back(dag_[t].arg[j]);
      if (stack.size() > before) continue;
      stack.pop_back();
      if (images.count(t) == 0)
        images[t] = eval_cell(dag_, domains_[k], t, [&](TermId a) { return images.at(a); });
    }
    return images.at(root);
  }
  bool constant(TermId t) {
    while (constant_.size() <= t) {  // arguments are older than their users
      const Term& x = dag_[static_cast<TermId>(constant_.size())];
      bool all = x.kind == Term::Kind::Number;
      if (x.kind == Term::Kind::Apply) {
        all = info(x.fn).cls == FnClass::R || x.fn == Fn::CvtFF;
        for (int k = 0; k < info(x.fn).arity && all; ++k) all = constant_[x.arg[k]];
        all = all || (x.fn == Fn::CvtIF && dag_[x.arg[0]].kind == Term::Kind::Integer);
      }
      constant_.push_back(all);
    }
    return constant_[t];
  }

  // Factors are carried from a sum to its parts, all users of a term before the term.
  bool linear(TermId root, bool of_reference, std::vector<TermId>& constants) {
    std::vector<TermId> factor(root + 1, 0);
    factor[root] = dag_.number(Ty::F64, 1);
    auto add = [&](TermId t, TermId f) {
      factor[t] = factor[t] == 0 ? f : apply(Fn::Add, factor[t], f);
    };
    DeadlineCheck late;
    for (TermId t = root; t > 0; --t) {
      const TermId f = factor[t];
      if (f == 0) continue;
      late();
      const Term x = dag_[t];  // a copy: terms are added
      if (constant(t)) {
        constants.push_back(apply(Fn::Mul, f, t));
        continue;
      }
      const bool sum = x.kind == Term::Kind::Apply && is_float(x.type) && !x.mods.sat;
      const TermId a = x.arg[0], b = x.arg[1];
      if (sum && x.fn == Fn::Add) {
        add(a, f), add(b, f);
      } else if (sum && x.fn == Fn::Sub) {
        add(a, f), add(b, apply(Fn::Neg, f, 0));
      } else if (sum && x.fn == Fn::Neg) {
        add(a, apply(Fn::Neg, f, 0));
      } else if (sum && x.fn == Fn::Mul && (constant(a) || constant(b))) {
        constant(a) ? add(b, apply(Fn::Mul, f, a)) : add(a, apply(Fn::Mul, f, b));
      } else if (sum && x.fn == Fn::Fma && (constant(a) || constant(b))) {
        constant(a) ? add(b, apply(Fn::Mul, f, a)) : add(a, apply(Fn::Mul, f, b));
        add(x.arg[2], f);
      } else if (sum && x.fn == Fn::Fma) {
        // The product is older than the sum only as a term of its own.
        const TermId args[2] = {a, b};
        summands_.push_back({dag_.apply(Fn::Mul, x.type, {}, args, 2, x.pc), f, of_reference});
        add(x.arg[2], f);
      } else if (sum && x.fn == Fn::Div && constant(b)) {
        add(a, apply(Fn::Div, f, b));
      } else if (sum && x.fn == Fn::CvtFF && is_float(x.mods.type2)) {
        add(a, f);
      } else {
        summands_.push_back({t, f, of_reference});
      }
    }
    return true;
  }

  // Terms that both sides have with the same factor.
  void cancel() {
    std::map<std::pair<TermId, double>, int> balance;
    auto key = [&](const Summand& s) { return std::make_pair(s.term, image(s.factor).v); };
    for (const Summand& s : summands_) balance[key(s)] += s.of_reference ? 1 : -1;
    std::erase_if(summands_, [&](const Summand& s) {
      if (image(s.factor).v < 0) return false;  // undefined, infinite
      int& left = balance[key(s)];              // of the reference more than of the candidate
      if (left == 0 || (left > 0) != s.of_reference) return true;
      left += s.of_reference ? -1 : 1;
      return false;
    });
  }

  // Summands that share an input belong together.
  bool group() {
    leader_.resize(summands_.size());
    std::iota(leader_.begin(), leader_.end(), size_t{0});
    std::unordered_map<TermId, size_t> reader;  // of each input
    std::unordered_set<TermId> seen;
    std::vector<TermId> stack;
    DeadlineCheck late;
    for (size_t k = 0; k < summands_.size(); ++k) {
      seen.clear();
      stack.assign(1, summands_[k].term);
      late();
      while (!stack.empty()) {
        const TermId t = stack.back();
        stack.pop_back();
        if (!seen.insert(t).second) continue;
        if (seen.size() > kMaxSummand) return false;
        const Term& x = dag_[t];
        if (x.kind == Term::Kind::Undef) return false;
        if (x.kind == Term::Kind::Symbol) {
          const auto [at, fresh] = reader.try_emplace(t, k);
          if (!fresh) leader_[find(k)] = find(at->second);
        }
        if (x.kind == Term::Kind::Apply)
          for (int j = 0; j < info(x.fn).arity; ++j) stack.push_back(x.arg[j]);
      }
    }
    return true;
  }
  size_t find(size_t k) {
    while (leader_[k] != k) k = leader_[k] = leader_[leader_[k]];
    return k;
  }

  bool every_group() {
    std::unordered_map<size_t, std::vector<Summand>> groups;
    for (size_t k = 0; k < summands_.size(); ++k) groups[find(k)].push_back(summands_[k]);
    std::map<FormulaReader::Key, bool> proved;
    DeadlineCheck late;
    for (auto& [leader, group] : groups) {
      late();
      if (group.size() > kMaxGroup) return false;
      FormulaReader::Key key;
      if (!key_of(group, &key)) return false;
      if (proved.count(key) != 0) continue;
      if (proved.size() == kMaxKinds || !prove(group)) return false;
      proved[key] = true;
    }
    return true;
  }

  // Names are given in the order of the group, which is that of the formulas alone where no two are
  // alike; where two are, groups may seem to differ that do not.
  bool key_of(std::vector<Summand>& group, FormulaReader::Key* key) {
    struct Ranked {
      bool of_reference;
      double factor;
      FormulaReader::Key shape;
      Summand summand;
      auto rank() const { return std::make_tuple(of_reference, factor, shape, summand.term); }
    };
    std::vector<Ranked> ranked;
    for (const Summand& s : group) {
      Ranked r{s.of_reference, image(s.factor).v, {}, s};
      if (!reader_.read(std::span(&s.term, 1), &r.shape)) return false;
      ranked.push_back(r);
    }
    std::sort(ranked.begin(), ranked.end(),
              [](const Ranked& a, const Ranked& b) { return a.rank() < b.rank(); });
    std::vector<TermId> roots;
    group.clear();
    // Factors have no inputs: their formulas are read with the summands.
    for (const Ranked& r : ranked) {
      group.push_back(r.summand);
      roots.push_back(r.summand.term);
      roots.push_back(r.summand.factor);
      roots.push_back(dag_.integer(r.of_reference ? 1 : 0));
    }
    return reader_.read(roots, key);
  }

  bool prove(const std::vector<Summand>& group) {
    std::vector<TermId> side[2];
    for (const Summand& s : group)
      side[s.of_reference ? 1 : 0].push_back(apply(Fn::Mul, s.factor, s.term));
    const TermId c = total(side[0]), r = total(side[1]);
    auto is_input = [&](TermId t) { return dag_[t].kind == Term::Kind::Symbol; };
    for (size_t k = 0; k < 2; ++k) {
      const CaseRequest request{
          dag_, domains_[k], snapper_, c, r, is_input, [&](TermId t) { return image(t, k); }, true};
      if (!prove_by_cases(request)) return false;
    }
    return true;
  }

  TermDag& dag_;
  std::deque<FieldDomain> domains_;
  const term::Snapper& snapper_;
  FormulaReader reader_;
  std::vector<Summand> summands_;
  std::vector<size_t> leader_;
  std::vector<bool> constant_ = {false};  // of the first terms; 0 is none
  std::unordered_map<TermId, FieldDomain::Cell> images_[2];
};

}  // namespace

bool equal_by_summands(TermDag& dag, const FieldDomain::Settings& settings,
                       const term::Snapper& snapper, const std::vector<SymbolInfo>& symbols,
                       TermId candidate_root, TermId reference_root) {
  // A logarithm of a product or the sum of two: images know either, not both at a time.
  for (const bool log_laws : {true, false}) {
    if (!log_laws && !settings.with_exp) break;
    FieldDomain::Settings mine = settings;
    mine.log_laws = log_laws;
    if (Summands(dag, mine, snapper, symbols).run(candidate_root, reference_root)) return true;
  }
  return false;
}

}  // namespace assay::check
