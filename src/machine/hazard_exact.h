#pragma once
// The exact path of the hazard tracker: one cell, one warp instruction.
#include "machine/hazard.h"
#include "machine/hazard_order.h"
#include "machine/hazard_shadow.h"

namespace assay::machine {

class ExactCheck {
 public:
  ExactCheck(HazardTracker* tracker, const WarpAccess& a, CtaOrder* order, int buffer,
             uint64_t extent)
      : tracker_(tracker), a_(a), order_(order), buffer_(buffer), extent_(extent) {}

  // The lanes of this instruction that write the same bytes were reported: do not report them anew.
  void lanes_conflict() { lanes_conflict_ = true; }
  // Checks and (reads only if `keep_read`) records the access of `lanes` (one lane for writes) to a
  // cell; `offset`: of the lane's first byte in the target, for the report.
  void run(ShadowPage* page, uint32_t cell, uint32_t lanes, uint64_t offset, bool keep_read);

 private:
  struct Past {  // an earlier access
    AccessKind kind;
    uint32_t cta, thread, pc;
    int32_t when;
    bool exact = true;
  };
  bool ordered(const Past& p, uint32_t lane) const;
  bool against(const Past& p, uint32_t lane);  // true: unordered, reported
  void against_set(const AccessSet& set, AccessKind kind, uint32_t cell, uint32_t lane);
  void against_named_reads(const AccessSet& set, uint32_t cell, uint32_t lane);
  std::vector<WarpReads>& named_reads(const AccessSet& set, uint32_t cell);
  void add(AccessSet* set, std::unique_ptr<AccessSet>* other, uint32_t cell, uint32_t lanes);
  void add_named_read(const AccessSet& set, uint32_t cell, uint32_t lanes);
  void uninitialised(uint32_t lane);

  HazardTracker* tracker_;
  const WarpAccess& a_;
  CtaOrder* order_;
  int buffer_;
  uint64_t extent_;
  uint64_t offset_ = 0;
  bool lanes_conflict_ = false;
  // The last report, so that a wide access reports once, not once a cell.
  uint32_t said_lane_ = ~0u, said_pc_ = 0, said_thread_ = 0;
  HazardKind said_kind_ = HazardKind::OutOfBounds;
};

}  // namespace assay::machine
