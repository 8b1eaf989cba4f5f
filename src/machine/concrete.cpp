// The concrete domain: every register and every byte is known.
#include "machine/bit_memory.h"

namespace assay::machine {
namespace {

class Concrete : public BitMemory {
 public:
  static constexpr bool kData = false;
  static constexpr bool kEndless = false;
  using BitMemory::BitMemory;
  bool execute(Cta&, Warp&, const MicroOp&, uint32_t) { return true; }
  Status take_error() { return {}; }
};

}  // namespace

Result<RunStats> run_concrete(const Kernel& kernel, const Launch& launch,
                              const std::vector<BufferEnv>& env, const CtaRange& ctas,
                              Observer* observer) {
  RunStats stats;
  Concrete domain(kernel, env, observer, &stats);
  Executor<Concrete> exec(kernel, launch, domain, observer);
  ASSAY_CHECK(exec.run(ctas, &stats));
  return stats;
}

}  // namespace assay::machine
