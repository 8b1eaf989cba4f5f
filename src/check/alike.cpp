#include "check/alike.h"

#include <array>
#include <map>
#include <unordered_map>

#include "term/terms.h"

namespace assay::check {

using term::Term;
using term::TermDag;
using term::TermDomain;
using term::TermId;

namespace {

constexpr size_t kMaxTerms = 2'000'000;
constexpr uint64_t kMaxVisits = 60'000'000;  // a few seconds

}  // namespace

FormulaReader::FormulaReader(const TermDag& dag, const std::vector<SymbolInfo>& symbols)
    : dag_(dag) {
  for (const SymbolInfo& s : symbols) {
    uint64_t kind = static_cast<uint64_t>(s.dtype);
    if (s.range)
      kind = term::mix64(kind ^ std::bit_cast<uint64_t>(static_cast<double>(s.range->first))) ^
             term::mix64(std::bit_cast<uint64_t>(static_cast<double>(s.range->second)));
    kinds_[s.symbol] = kind;
  }
}

bool FormulaReader::read(std::span<const TermId> roots, Key* key) {
  hash_ = {1, 2};
  names_.clear();
  stack_.assign(roots.begin(), roots.end());
  while (!stack_.empty()) {
    const TermId id = stack_.back();
    stack_.pop_back();
    ++visits_;
    late_();
    const auto [at, fresh] = names_.try_emplace(id, names_.size());
    if (!fresh) {
      add(at->second * 2 + 1);
      continue;
    }
    if (!visit(id)) return false;
  }
  *key = hash_;
  return true;
}

bool FormulaReader::visit(TermId id) {
  const Term& t = dag_[id];
  add(static_cast<uint64_t>(t.kind) * 2);
  add(static_cast<uint64_t>(t.type));
  switch (t.kind) {
    case Term::Kind::Symbol: {
      auto known = kinds_.find(t.symbol);
      if (known == kinds_.end()) return false;
      add(known->second);
      return true;
    }
    case Term::Kind::Number:
      add(std::bit_cast<uint64_t>(t.value));
      return true;
    case Term::Kind::Integer:
      add(static_cast<uint64_t>(t.element));
      return true;
    case Term::Kind::Apply: {
      add(static_cast<uint64_t>(t.fn));
      const Mods& m = t.mods;
      add(static_cast<uint64_t>(m.round) | static_cast<uint64_t>(m.type2) << 8 |
          static_cast<uint64_t>(m.sat) << 16 | static_cast<uint64_t>(m.ftz) << 17 |
          static_cast<uint64_t>(m.nan) << 18);
      add(static_cast<uint64_t>(m.imm));
      for (int k = info(t.fn).arity; k-- > 0;) stack_.push_back(t.arg[k]);
      return true;
    }
    default:
      return false;
  }
}

void FormulaReader::add(uint64_t x) {
  hash_.first = term::mix64(hash_.first ^ x);
  hash_.second = term::mix64(hash_.second * 0x9e3779b97f4a7c15ULL + x);
}

bool AlikeGroups::add(const Plan& c_plan, const Plan& r_plan, std::span<const int64_t> positions) {
  TermDag dag;
  TermDomain terms(dag, kMaxTerms);
  term::Store<TermDomain> c_store(terms, candidate_.sources), r_store(terms, reference_.sources);
  run_plan(candidate_, c_plan, terms, c_store);
  run_plan(reference_, r_plan, terms, r_store);
  if (terms.overflow) return false;
  FormulaReader reader(dag, symbols_);
  for (int64_t p : positions) {
    FormulaReader::Key key;
    TermId c = 0, r = 0;
    if (visits_ + reader.visits() < kMaxVisits) {
      c = c_store.load1(pair_.candidate.buffer, pair_.candidate.element(p)).t;
      r = r_store.load1(pair_.reference.buffer, pair_.reference.element(p)).t;
    }
    if (c == 0 || r == 0 || !reader.read(std::array{r, c}, &key)) {
      add_alone(p);
      continue;
    }
    const auto [at, fresh] = known_.try_emplace(key, groups_.size());
    if (fresh) groups_.emplace_back();
    groups_[at->second].push_back(p);
  }
  visits_ += reader.visits();
  return true;
}

}  // namespace assay::check
