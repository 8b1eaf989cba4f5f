#pragma once
// What is wrong with a side of the comparison whatever the values are: launches that are refused,
// elements that nothing writes, accesses out of bounds, races, steps that nothing orders. Of the
// candidate these refute; a reference that has them is no measure, so its own leave a verdict open.
#include <future>
#include <string>
#include <utility>
#include <vector>

#include "check/experiment.h"
#include "check/outputs.h"
#include "check/plan.h"
#include "check/refute.h"
#include "check/values.h"
#include "term/snap.h"

namespace assay::check {

enum class SideName : uint8_t { Candidate, Reference };

// What was seen to happen on the virtual GPU and depends on no data.
Witness any_input(const char* how);

// The instruction that stored an element of an output; no line: no launch did.
SrcLoc origin_of(const Side& side, const Plan& plan, const program::TensorView& view,
                 int64_t position);

// Values of one location by two schedules that are not one value with rounding.
bool values_apart(const ExactValue& a, const ExactValue& b);

class Defects {
 public:
  // `pairs`: as pair_outputs gives them. `symbols`: those that experiments range over. `tag`:
  // findings say which side they are about.
  Defects(SideName name, Side& side, const std::vector<OutputPair>& pairs,
          const std::vector<SymbolInfo>& symbols, uint64_t seed, bool tag);

  void recorded(bool with_notes);  // what the recorder saw
  Status unwritten();
  Status outside();  // stores outside every buffer, also where no trace succeeds
  // Accesses of the CTAs that a plan looks at (BeforeTrace of make_plan): one launch after the
  // other, on a thread of their own if `beside`, else within hazards().
  void start_hazards(size_t step, const std::vector<uint32_t>& ctas, bool beside);
  Status hazards();        // waits for what was started, of plans that failed too
  void traps();            // what ends a whole launch, of all that has been traced
  bool undecided() const;  // races() or streams() need the plan of all locations
  // A race in the cone: two legal schedules with different values decide; where something else has
  // already decided (`decided`), it stands beside the verdict; else the verdict stays open.
  Status races(const Plan& plan, const LocationPlan& where, const term::Snapper& snapper,
               bool decided);
  bool races_in(const Plan& plan) const;  // were any seen in a launch of the plan?
  // A wrong value is of class "race" where races_in() the plan of its location explain it: at the
  // input that shows it two legal schedules give different values. Where they agree, nothing is
  // done.
  void blame_race(LocationResult& r, const Plan& plan, const ExactValue& ascending,
                  const ExactValue& descending) const;
  // Outputs whose last writer nothing orders before what the caller does with them.
  void unjoined(const LocationPlan& where);
  // Steps on streams that nothing joins: the other order is tried; if it changes a value or reads
  // what is not written yet, the result depends on timing.
  Status streams(const Plan& plan, const LocationPlan& where, const term::Snapper& snapper);

  // Moves what was found since the last call; races once they are decided, or with `all`.
  void take(std::vector<Finding>& findings, std::vector<LocationResult>& results, bool all = false);
  // The reference's values depend on timing or on memory outside its buffers, or it is not run at
  // all: a difference from them says nothing. "" otherwise.
  const std::string& spoiled() const { return spoiled_; }

 private:
  bool schedules_differ(const Plan& first, const Plan& second, size_t k, const Positions& apart,
                        const term::Snapper& snapper);
  void schedules_result(const Plan& plan, size_t k, size_t count, int64_t position,
                        const Experiment& input, const ExactValue& a, const ExactValue& b);

  SideName name_;
  Side& side_;
  std::vector<OutputPair> pairs_;  // both views are this side's
  const std::vector<SymbolInfo>& symbols_;
  uint64_t seed_;
  bool tag_;
  std::string spoiled_;
  std::vector<Finding> findings_;
  std::vector<LocationResult> results_;
  std::vector<LocationResult> races_;                  // not decided yet
  std::vector<std::pair<size_t, SrcLoc>> seen_races_;  // step and place, decided or not
  struct Hazards {
    size_t step = 0;
    Status status;
    std::vector<Finding> findings;
    std::vector<LocationResult> results;
  };
  std::vector<std::shared_future<Hazards>> started_;
};

}  // namespace assay::check
