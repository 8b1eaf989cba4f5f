#pragma once
// The concrete rung: structured inputs, exact values with condition scale, IEEE confirmation.
#include <chrono>
#include <optional>
#include <span>
#include <vector>

#include "check/experiment.h"
#include "check/outputs.h"
#include "check/plan.h"
#include "term/snap.h"

namespace assay::check {

using Clock = std::chrono::steady_clock;

struct Tolerance {
  double rtol = 1e-3, atol = 1e-3;
};
// By output dtype (DESIGN.md, verdicts), where none is given.
Tolerance tolerance_of(program::DType dtype, std::optional<double> rtol = {},
                       std::optional<double> atol = {});
// Unit roundoff of a dtype.
double unit_roundoff(program::DType dtype);

struct Probe {  // one location
  size_t pair = 0;
  int64_t position = 0;
};

struct SearchResult {
  enum class Outcome : uint8_t { Refuted, Gap, Agree } outcome = Outcome::Agree;
  LocationResult result;   // Refuted
  double largest_rho = 0;  // largest gap over condition scale seen, in-domain
  int experiments = 0, in_domain = 0;
  double worst_candidate = 0, worst_reference = 0;
  double accuracy_candidate = 0,
         accuracy_reference = 0;  // |ieee - exact| / scale at the worst input
  std::string worst_experiment;   // of the largest gap; Refuted: the one that refutes
};

// One location; both plans cover exactly it.
struct LocationRequest {
  const Side& candidate;
  const Plan& c_plan;
  const Side& reference;
  const Plan& r_plan;
  const OutputPair& pair;
  int64_t position;
  const term::Snapper& snapper;
  Clock::time_point deadline;
};
struct SearchRequest : LocationRequest {
  Tolerance tolerance;
};

// Tries inputs until one refutes. Adds to `found`.
void search(const SearchRequest& request, std::span<const Experiment> experiments,
            SearchResult& found);

// Searches on where single inputs and whole arguments show nothing: sums over many elements, of
// which one side drops, repeats or weighs otherwise. Bands of one dimension of one argument are
// made large, of either sign; the band with the largest gap is halved again and again, and at last
// one of `spots` is made large beside it. Adds to `found`.
void search_bands(const SearchRequest& request, const std::vector<SymbolInfo>& symbols,
                  const std::vector<Suspect>& spots, uint64_t seed, SearchResult& found);

// Constants that values are compared with or clamped to, on either side: boundaries to try.
std::vector<double> boundaries_of(const Side& side, const Plan& plan);

// A dimension of an argument along which the plan reads at least `least` elements: [first, last).
struct Extent {
  const SymbolInfo* symbol = nullptr;
  Draw::Band whole;
};
// Of each argument the innermost dimension first.
std::vector<Extent> wide_extents(const Side& side, const Plan& plan,
                                 const std::vector<SymbolInfo>& symbols, int64_t least);

// The element in the location's own place of each float symbol of the output's shape, then the
// first, middle and last one that the plan reads of each float symbol.
std::vector<Suspect> cone_spots(const Side& side, const Plan& plan,
                                const program::TensorView& output, int64_t position);

// Elements of shared symbols that only one side reads.
std::vector<Suspect> support_difference(const Side& candidate, const Plan& c_plan,
                                        const Side& reference, const Plan& r_plan);

}  // namespace assay::check
