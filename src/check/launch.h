#pragma once
// The check's view of a launch step: coverage of its stores, traces of chosen CTAs, hazards. The
// only place in src/check that calls the virtual GPU.
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "check/coverage.h"
#include "check/traps.h"
#include "check/verdict.h"
#include "machine/trace.h"
#include "program/program.h"
#include "tensor/elem_set.h"

namespace assay::check {

// A loop that some warp never leaves, whatever the data.
struct Endless {
  uint32_t cta = 0, warp = 0;
  SrcLoc loc;
};

class PreparedLaunch {
 public:
  virtual ~PreparedLaunch() = default;
  // Looked for in CTAs at the ends and in the middle of the grid, on the real build.
  virtual Result<std::optional<Endless>> endless() = 0;
  // Of the first CTA, counted up to 2 millions.
  virtual uint64_t warp_instructions() const = 0;
  // The stores of the whole grid, from the store slice of the real build.
  virtual Result<const Coverage*> coverage() = 0;
  virtual Result<uint32_t> writer(int buffer, int64_t element) = 0;          // Writers::find
  virtual Result<tensor::ElemSet> written_by(int buffer, uint64_t cta) = 0;  // Writers::written_by
  virtual Result<bool> any_writes(int buffer, const std::vector<int64_t>& elements) = 0;
  // Traces of the semantic build (of the PTX, if there is no source).
  // descending: another legal schedule, in which the warps of a CTA run from the last to the first.
  // The last trace is kept and may serve again, so that the result may have more CTAs.
  virtual Result<std::shared_ptr<const machine::Trace>> trace(const std::vector<uint32_t>& ctas,
                                                              bool descending) = 0;
  // Warp instructions of the middle CTA's trace: what one costs.
  virtual Result<uint64_t> cta_cost() = 0;
  // One CTA's, anew: not kept. Calls from several threads do not disturb each other.
  virtual Result<machine::Trace> trace_one(uint32_t cta) const = 0;
  virtual std::array<uint32_t, 3> grid() const = 0;
  // machine::ctas_alike, of what is traced.
  virtual Result<uint64_t> ctas_alike(uint32_t first, uint32_t axis, uint64_t count) const = 0;
  // Races, bounds, initialisation: the real build's skeleton on these CTAs.
  virtual Status hazards(const std::vector<uint32_t>& ctas, std::vector<Finding>& findings,
                         std::vector<LocationResult>& refutations) = 0;
  // Runs CTAs of the real build on bytes (one pointer a buffer of the Program).
  virtual Status run_real(const std::vector<uint32_t>& ctas, const std::vector<uint8_t*>& data) = 0;
  virtual TrapSites traps() const = 0;  // in what has been traced so far
  virtual uint64_t num_ctas() const = 0;
  // Source line of an instruction of the traced build.
  virtual SrcLoc source(uint32_t pc) const = 0;
  virtual SrcLoc real_source(uint32_t pc) const = 0;  // of the real build
  virtual bool has_exp() const = 0;
};

// Errors: Unsupported (every construct), Invalid.
Result<std::unique_ptr<PreparedLaunch>> prepare_launch(const program::Program& p, size_t step);

}  // namespace assay::check
