#pragma once
// Loads, stores and atomics on the bytes of memory.
#include <bit>
#include <cstdint>
#include <vector>

#include "machine/exec.h"

namespace assay::machine {

// Address and space of each lane of one access.
struct LaneAddrs {
  alignas(64) uint64_t addr[32];  // Global: device address; Shared, Local, Param: offset
  Space space = Space::Global;
};

// out->addr = register + imm. For generic addresses the space of the first active lane; `rest` gets
// the lanes of `mask` that lie in another space (to be done in another round).
void lane_addresses(Warp& w, const MicroOp& op, uint32_t mask, LaneAddrs* out, uint32_t* rest);

// The same for a mask of one lane; the other lanes of `out` stay as they are. False: to be done by
// lane_addresses.
inline bool lane_address(Warp& w, const MicroOp& op, uint32_t mask, LaneAddrs* out) {
  if ((mask & (mask - 1)) != 0 || !op.num_src || !op.src[0]) return false;
  const auto l = static_cast<uint32_t>(std::countr_zero(mask));
  const auto imm = static_cast<uint64_t>(op.imm);
  const uint64_t x =
      op.wide_src ? w.reg64(op.src[0])[l] + imm : static_cast<uint32_t>(w.reg(op.src[0])[l] + imm);
  if (op.space == Space::Generic && x >= kSharedWindow) return false;
  out->addr[l] = x;
  out->space = op.space == Space::Shared || op.space == Space::Local ? op.space : Space::Global;
  return true;
}

class BitMemory {
 public:
  BitMemory(const Kernel& k, const std::vector<BufferEnv>& env, Observer* observer, RunStats* stats)
      : k_(k), device_(env, k), observer_(observer), stats_(stats) {}

  void begin_cta(Cta& cta);
  void end_cta(Cta&) {}
  void trap(Cta& cta, Warp& w, const MicroOp& op, uint32_t mask);
  void memory(Cta& cta, Warp& w, const MicroOp& op, uint32_t mask, bool all);

 protected:
  // Bounds, alignment and the observer; returns the lanes that may go on.
  uint32_t admit(Cta& cta, Warp& w, const MicroOp& op, const LaneAddrs& a, uint32_t mask,
                 AccessKind kind, uint32_t bytes);
  void fault(Fault::Kind kind, Cta& cta, Warp& w, const MicroOp& op, const LaneAddrs& a,
             uint32_t lanes, bool store);
  // Where the bytes of each lane of `mask` are; null where there are none (contents unknown).
  void pointers(Cta& cta, Warp& w, const LaneAddrs& a, uint32_t mask, uint8_t** out);
  void load(Cta& cta, Warp& w, const MicroOp& op, const LaneAddrs& a, uint32_t mask, bool all);
  void store(Cta& cta, Warp& w, const MicroOp& op, const LaneAddrs& a, uint32_t mask);
  void atomic(Cta& cta, Warp& w, const MicroOp& op, const LaneAddrs& a, uint32_t mask);
  bool load_fast(Cta& cta, Warp& w, const MicroOp& op, const LaneAddrs& a);
  bool gather_fast(Cta& cta, Warp& w, const MicroOp& op, const LaneAddrs& a);
  bool store_fast(Cta& cta, Warp& w, const MicroOp& op, const LaneAddrs& a);
  uint8_t* lane_pointer(Cta& cta, Warp& w, const MicroOp& op, const LaneAddrs& a, uint32_t l,
                        bool store, uint32_t* step);
  bool load_word(Warp& w, const MicroOp& op, uint32_t mask);
  bool load_lane(Cta& cta, Warp& w, const MicroOp& op, const LaneAddrs& a, uint32_t l);
  bool store_lane(Cta& cta, Warp& w, const MicroOp& op, const LaneAddrs& a, uint32_t l);
  uint8_t* block_pointer(Cta& cta, const LaneAddrs& a, uint64_t first, uint64_t bytes, bool store);

  const Kernel& k_;
  Device device_;
  Observer* observer_;
  RunStats* stats_;
};

}  // namespace assay::machine
