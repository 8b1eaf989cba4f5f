#pragma once
// The tensor lemma: an intermediate tensor of the candidate that equals one of the reference,
// element by element, becomes one symbol on both sides. What depends on all of it then costs only
// what lies behind it, plus the proof of the lemma, which may rest on earlier lemmas.
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "check/outputs.h"
#include "check/plan.h"
#include "check/prove.h"
#include "check/refute.h"
#include "term/snap.h"

namespace assay::check {

// An intermediate tensor: the results of a nest or what a launch writes, as it is just behind.
struct Intermediate {
  Point at;
  program::TensorView view;  // flat: `shape` is its number of elements
  std::string name;
  SrcLoc loc;
};
std::vector<Intermediate> places_of(Side& side);
std::vector<Intermediate> places_of_operators(const Side& side);
bool is_result(Side& side, const Intermediate& place);  // no later nest of its step writes there

struct LemmaRequest {
  Side& candidate;
  Side& reference;
  std::vector<SymbolInfo> symbols;
  const term::Snapper& snapper;
  uint64_t seed = 1;
  int jobs = 1;
  Clock::time_point until;                     // for all lemmas
  std::function<Status(const Plan&)> hazards;  // of the CTAs of a plan of the candidate
};

// A class of CTAs over which a lemma was transferred: elements `written` of the lemma by the first
// member, `by` further on by another one, whose reads of each symbol are `moves` further on.
struct LemmaClass {
  struct Member {
    uint32_t cta = 0;
    int64_t by = 0;
    std::map<uint64_t, int64_t> moves;
  };
  Positions written;
  std::map<uint64_t, tensor::ElemSet> reads;  // of the reference, for the first member
  std::vector<Member> members;
};

struct Lemmas {
  std::vector<Cut> candidate, reference;  // cut k of one side is cut k of the other
  std::vector<LemmaClaim> claims;
  std::vector<std::vector<LemmaClass>> classes;  // of each; none: another kind of proof
  std::vector<SymbolInfo> symbols;               // the lemmas as inputs of what lies behind them
  double error_bound = 0;
  std::vector<std::string> folds;
  // An intermediate that is one of the reference's at some elements, and not at this one.
  struct Broken {
    Intermediate candidate, reference;
    int64_t element = 0;
  };
  std::vector<Broken> broken;

  bool empty() const { return claims.empty(); }
  PlanRequest request(bool of_candidate, uint64_t limit) const;
};

// Lemmas in the order of the candidate's steps. Fails only where hazards do; throws nothing.
Result<Lemmas> find_lemmas(const LemmaRequest& request);

// "given ..., proved at ... of ... elements": of a lemma whose proof does not cover all elements.
std::string given_text(const LemmaClaim& claim);

}  // namespace assay::check
