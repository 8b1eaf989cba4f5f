#pragma once
// Classes of a launch's CTAs: what is proved of one holds for all of a class, because one function
// of input elements, a shift of each buffer, turns its values into theirs, on both sides.
#include <chrono>
#include <cstdint>
#include <map>
#include <vector>

#include "check/plan.h"

namespace assay::check {

// One CTA of a class: the first element of each buffer that it touches.
struct ClassMember {
  uint32_t cta = 0;
  std::vector<std::pair<int, int64_t>> base;  // by buffer, ascending
};

int64_t base_of(const ClassMember& member, int buffer);  // 0: not touched

struct CtaClass {
  std::vector<ClassMember> members;  // the first one represents them
  std::vector<int64_t> written;      // elements of the wanted range that the first one writes
  std::vector<int> looked_up;        // buffers that are read at data-dependent addresses
};

// Classes of the CTAs that write elements [first, first + count) of a buffer. Of one class are CTAs
// whose traces, of what these elements need, are the same instruction by instruction (constants and
// lanes too) up to one shift for each buffer. All CTAs of the list are traced, but for those of
// runs that are shown to be alike otherwise (machine/affine.h). Errors: Limit (past `until`, or
// more than a few classes), Unsupported (atomics, stores at data-dependent addresses, other
// launches' errors).
Result<std::vector<CtaClass>> cta_classes(const PreparedLaunch& launch,
                                          const std::vector<uint32_t>& ctas, int buffer,
                                          int64_t first, int64_t count, int jobs,
                                          std::chrono::steady_clock::time_point until);

// All places that write a buffer.
std::vector<Point> writers_of(Side& side, int buffer);

// Are the wanted elements of a cut still of its symbol when they move?
bool stays_inside(const PlannedCut& planned, const std::vector<Cut>& cuts, int64_t by);

// How far the reads of symbols move when the wanted elements of a plan of operators all move.
class PlanShift {
 public:
  // `plan`: as made by `request`; what it wants is all of `buffer`. Both must outlive this.
  PlanShift(Side& side, const Plan& plan, const PlanRequest& request, int buffer);
  // Elements by which the reads of each symbol move; false: not all alike, or a guard, an index or
  // a constant depends on the place.
  bool shift(int64_t by, std::map<uint64_t, int64_t>* symbols) const;

 private:
  struct Step {  // a nest with wanted results, or a cut; in backward order
    const term::NestShape* shape = nullptr;
    const OpState* op = nullptr;
    int64_t first = 0;  // an element, and its iterators
    std::vector<int64_t> at, lo, hi;
    const PlannedCut* cut = nullptr;
  };
  const Side& side_;
  const Plan& plan_;
  const std::vector<Cut>& cuts_;
  int buffer_;
  bool usable_ = true;
  std::vector<Step> steps_;
};

}  // namespace assay::check
