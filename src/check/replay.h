#pragma once
// Concrete replay on the real build: launches run on the virtual GPU in IEEE arithmetic (only the
// CTAs of the plan), operators by their IEEE semantics. Independent of traces, marking and the
// semantic build.
#include <map>
#include <optional>
#include <vector>

#include "check/experiment.h"
#include "check/plan.h"

namespace assay::check {

// The candidate's value at the location as the real build computes it. Nothing: the buffers are too
// large (kReplayBytes in all), or a launch faults; `why` then says what stopped it.
struct Replayed {
  std::optional<double> value;
  std::string why;
};
inline constexpr uint64_t kReplayBytes = uint64_t{2} << 30;
// Elements that another CTA of a step is known to leave as one that is run: step -> copies made
// behind it.
struct ElementCopy {
  int buffer = -1;
  int64_t from = 0, to = 0;
};
using Replication = std::map<size_t, std::vector<ElementCopy>>;
// Symbols whose draw is the constant 0 need not be in the plan's support.
Replayed replay_real(Side& side, const Plan& plan, const program::TensorView& view,
                     int64_t position, const Experiment& e);

// Several locations of one run.
struct Place {
  const program::TensorView& view;
  int64_t position;
};
// The values, in the order of the places; Limit where the buffers are too large.
Result<std::vector<double>> replay_places(Side& side, const Plan& plan,
                                          const std::vector<Place>& places, const Experiment& e,
                                          const Replication* copies = nullptr);

// All CTAs and all elements, found without a trace: for replay alone. Limit: too large for that.
Result<Plan> whole_plan(const Side& side);

}  // namespace assay::check
