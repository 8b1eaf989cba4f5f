#pragma once
// Pairs of outputs of the two sides, and the locations at which they are compared.
#include <string>
#include <vector>

#include "check/check.h"
#include "check/plan.h"
#include "check/side.h"

namespace assay::check {

struct OutputPair {
  std::string name;
  program::TensorView candidate, reference;
  int index = 0;         // in outputs, then mutated arguments
  std::string argument;  // of a mutated argument: its source
  int64_t numel() const { return reference.numel(); }
};

// Pairs returned tensors in order and mutated arguments by argument. Differences of form that no
// value can mend (count, shape that does not broadcast) become refutations; others findings.
std::vector<OutputPair> pair_outputs(const Side& candidate, const Side& reference,
                                     std::vector<Finding>& findings,
                                     std::vector<LocationResult>& refuted);

// Row-major positions of an output, ascending.
using Positions = std::vector<int64_t>;

struct LocationPlan {
  std::vector<Positions> outputs;  // per pair
  bool whole = false;
};

// Positions that the candidate never writes (first few) and their number.
struct Unwritten {
  int64_t count = 0;
  Positions first;
};
Result<Unwritten> find_unwritten(Side& candidate, const OutputPair& pair);

// All positions of small outputs; else those of the first, last, one interior and each guard-edge
// CTA of the launch that writes the output, or, where an operator writes it, corners, edges and a
// spread.
Result<LocationPlan> choose_locations(Side& candidate, const std::vector<OutputPair>& pairs,
                                      bool whole, int64_t budget);

std::vector<int64_t> unravel(int64_t position, const std::vector<int64_t>& shape);
Wants wants_of(const std::vector<OutputPair>& pairs, const std::vector<Positions>& positions,
               bool candidate);

}  // namespace assay::check
