#pragma once
// Steps of a Program that nothing orders (streams without an event or a join between them).
#include <vector>

#include "check/side.h"

namespace assay::check {

struct Unordered {
  size_t first, second;  // steps, in the order they were issued
  int buffer;            // written by one of them, touched by the other
};

// Pairs of unordered steps of which one writes what the other touches. Launches write what their
// coverage says, and may read whatever they get a pointer to.
std::vector<Unordered> unordered_steps(Side& side);

// Steps that write `buffer` and that nothing orders before what the caller does with it.
std::vector<size_t> unjoined_writers(Side& side, int buffer);

}  // namespace assay::check
