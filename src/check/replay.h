#pragma once
// Concrete replay of one location on the real build: launches run on the virtual GPU in IEEE
// arithmetic (only the CTAs of the location's cone), operators by their IEEE semantics. Independent
// of traces, marking and the semantic build.
#include <optional>

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
Replayed replay_real(Side& side, const Plan& plan, const program::TensorView& view,
                     int64_t position, const Experiment& e);

}  // namespace assay::check
