#pragma once
// A difference seen with the symbols of lemmas, found again from real inputs: all inputs are zero
// but one, so that most elements of an intermediate tensor are alike and few must be computed.
#include <optional>
#include <utility>

#include "check/lemma.h"
#include "check/values.h"

namespace assay::check {

struct LemmaRefutation {
  Side& candidate;
  const Plan& c_plan;  // of the location, with the cuts of the lemmas
  Side& reference;
  const Plan& r_plan;
  const Lemmas& lemmas;
  const OutputPair& pair;
  int64_t position;
  const std::vector<SymbolInfo>& symbols;  // of the Programs
  const term::Snapper& snapper;
  uint64_t seed;
  Tolerance tolerance;
  Clock::time_point until;
  const Plan* descending = nullptr;  // as c_plan, by the other schedule; where accesses race
};

struct LemmaRefuted {
  LocationResult result;
  std::optional<std::pair<ExactValue, ExactValue>> schedules;  // the candidate's values by both
};

// Refuted: exact values of both sides differ, and so do the real build, run concretely, and the
// reference in IEEE arithmetic. Throws Late.
std::optional<LemmaRefuted> refute_with_lemmas(const LemmaRefutation& request);

}  // namespace assay::check
