#pragma once
// The check's view of a launch step: coverage of its stores, traces of chosen CTAs, hazards. The
// only place in src/check that calls the virtual GPU.
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "check/verdict.h"
#include "machine/trace.h"
#include "program/program.h"
#include "tensor/elem_set.h"

namespace assay::check {

// Which CTA writes what, over the whole grid; from the store slice of the real build.
struct Coverage {
  struct BufferWriters {
    int64_t elements = 0;
    Ty type = Ty::None;
    std::vector<uint32_t> first;  // per element: 1 + the first CTA that writes it; 0: none
    std::unordered_map<int64_t, std::vector<uint32_t>> more;  // further CTAs
    bool atomic = false;
  };
  std::unordered_map<int, BufferWriters> buffers;
  bool complete = true;  // false: some store depends on data
  std::string incomplete_why;
  uint64_t out_of_bounds = 0;
  std::string out_of_bounds_what;
  SrcLoc out_of_bounds_loc;
  uint64_t warp_instructions = 0;
  uint64_t ctas = 0;
};

class PreparedLaunch {
 public:
  virtual ~PreparedLaunch() = default;
  virtual Result<const Coverage*> coverage() = 0;
  // Traces of the semantic build (of the PTX, if there is no source).
  // descending: another legal schedule, in which the warps of a CTA run from the last to the first.
  virtual Result<machine::Trace> trace(const std::vector<uint32_t>& ctas, bool descending) = 0;
  // Races, bounds, initialisation: the real build's skeleton on these CTAs.
  virtual Status hazards(const std::vector<uint32_t>& ctas, std::vector<Finding>& findings,
                         std::vector<LocationResult>& refutations) = 0;
  // Runs CTAs of the real build on bytes (one pointer a buffer of the Program).
  virtual Status run_real(const std::vector<uint32_t>& ctas, const std::vector<uint8_t*>& data) = 0;
  virtual uint64_t num_ctas() const = 0;
  // Source line of an instruction of the traced build.
  virtual SrcLoc source(uint32_t pc) const = 0;
  virtual bool has_exp() const = 0;
};

// Errors: Unsupported (every construct), Invalid.
Result<std::unique_ptr<PreparedLaunch>> prepare_launch(const program::Program& p, size_t step);

}  // namespace assay::check
