#pragma once
// Running a launch on the virtual GPU: concretely, as a skeleton, or as a trace.
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "machine/decode.h"
#include "machine/hazard.h"
#include "machine/memory.h"
#include "machine/trace.h"

namespace assay::machine {

struct Launch {
  LaunchConstants constants;                // grid, block, cluster, shared memory, parameters
  bool cooperative = false;                 // all CTAs are resident: they take turns
  bool descending = false;                  // warps of a CTA take turns from the last to the first
  uint64_t step_limit = uint64_t{1} << 40;  // warp instructions of all CTAs of one run
};

// CTAs by linear id, x fastest: [first, first + count), or the explicit list if it is not empty.
struct CtaRange {
  uint64_t first = 0;
  uint64_t count = ~uint64_t{0};  // clipped to the grid
  std::vector<uint64_t> list;
};

// Watches a run. All calls come from the running thread, in execution order.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void begin_cta(uint32_t /*cta*/, uint32_t /*shared_bytes*/) {}
  virtual void end_cta(uint32_t /*cta*/) {}
  // One warp access to global or shared memory. Returns the lanes that may perform it.
  virtual uint32_t access(const WarpAccess& a) { return a.mask; }
  // An access that depends on symbolic data. a.addr is null: the addresses of the lanes are
  // unknown. `conditional`: whether it happens is (also) unknown.
  virtual void unknown_access(const WarpAccess& /*a*/, bool /*conditional*/) {}
  // A branch on symbolic data: the lanes of the mask may take either side. Of what lies between the
  // branch and its post-dominator, accesses are reported as conditional, each once; barriers and
  // synchronisations are not.
  virtual void unknown_branch(uint32_t /*cta*/, uint32_t /*warp*/, uint32_t /*pc*/,
                              uint32_t /*mask*/) {}
  virtual void cta_barrier(uint32_t /*cta*/, uint32_t /*warp_mask*/, bool /*whole*/) {}
  virtual void warp_sync(uint32_t /*cta*/, uint32_t /*warp*/, uint32_t /*members*/,
                         uint32_t /*live*/) {}
  virtual void reconverge(uint32_t /*cta*/, uint32_t /*warp*/, uint32_t /*mask*/) {}
  // Control comes to an earlier state again and reads nothing that could change it: the warp never
  // ends, whatever the data. The run ends with an error of kind Limit.
  virtual void endless(uint32_t /*cta*/, uint32_t /*warp*/, uint32_t /*pc*/) {}
  // Threads met at one barrier from different instructions.
  virtual void barrier_mismatch(uint32_t /*cta*/, uint32_t /*pc*/, uint32_t /*other_pc*/) {}
  // Asked now and then: true ends the run with an error of kind Limit.
  virtual bool has_enough() const { return false; }
};

// Something that stops a launch on a GPU or that it does not define.
struct Fault {
  enum class Kind : uint8_t { OutOfBounds, Misaligned, Trap, ReadOnly } kind = Kind::OutOfBounds;
  MemSpace space = MemSpace::Global;
  uint64_t address = 0;
  uint32_t lane = 0, warp = 0, cta = 0;
  uint32_t pc = 0;
  bool store = false;
};

struct RunStats {
  uint64_t warp_instructions = 0;
  uint64_t ctas = 0;
  std::vector<Fault> faults;  // the first 64
  uint64_t fault_count = 0;
};

// Runs CTAs on the bits of memory (BufferEnv::data; a buffer without data reads as zero and
// forgets what is written). Errors: Limit (steps; deadlock, with the place).
Result<RunStats> run_concrete(const Kernel& kernel, const Launch& launch,
                              const std::vector<BufferEnv>& env, const CtaRange& ctas,
                              Observer* observer = nullptr);

// Runs a slice (flow.h): the observer sees each kept access, barrier and synchronisation. Values
// come from parameters, indices and buffers of content Bytes, which are not written; a branch on
// anything else is reported as unknown; what lies up to its post-dominator is walked once for the
// accesses, and what is written there becomes unknown. Errors: Limit.
Result<RunStats> run_skeleton(const Kernel& sliced, const Launch& launch,
                              const std::vector<BufferEnv>& env, const CtaRange& ctas,
                              Observer& observer);

// Traces CTAs one after another. Errors: Limit, Unsupported (with the place).
Result<Trace> run_trace(const Kernel& kernel, const Launch& launch,
                        const std::vector<BufferEnv>& env, const CtaRange& ctas,
                        Observer* observer = nullptr);

}  // namespace assay::machine
