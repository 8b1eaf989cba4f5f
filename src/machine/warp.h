#pragma once
// The control state of one warp: registers as bits, groups of lanes ("splits") that run apart and
// meet again at immediate post-dominators, barriers.
#include <cstdint>
#include <vector>

#include "machine/uop.h"

namespace assay::machine {

enum class SplitState : uint8_t { Free, Ready, Waiting, AtBarrier, AtWarpBar };

// Lanes that run together. A split that diverges becomes the parent of the groups it falls into and
// waits at their reconvergence point until all of them have come there or have exited.
struct Split {
  SplitState state = SplitState::Free;
  uint32_t pc = 0;
  uint32_t rpc = kNever;  // reconvergence point of this split: it then joins its parent
  uint32_t mask = 0;
  uint32_t arrived = 0;  // of the children's lanes
  int parent = -1;
  int children = 0;
  uint32_t barrier = 0;  // AtBarrier: id; AtWarpBar: member mask
  bool operator==(const Split&) const = default;
};

class Warp {
 public:
  void start(const Kernel& k, uint32_t id, uint32_t lanes);
  void fill_special(const Kernel& k, const std::array<uint32_t, 3>& block,
                    const std::array<uint32_t, 3>& ctaid, const std::array<uint32_t, 3>& cluster);

  uint32_t* reg(RegRef r) { return file.data() + r.off; }
  uint64_t* reg64(RegRef r) { return reinterpret_cast<uint64_t*>(file.data() + r.off); }

  Split& cur() { return splits[static_cast<size_t>(current)]; }
  bool done() const { return alive == 0; }
  // Chooses a split that can run (the youngest); false: none.
  bool pick();
  // After a turn that the current split used up: another one that can run, if there is one, so that
  // lanes that spin do not keep the lanes that they wait for from running.
  bool pick_other();
  // The current split goes to `target` with the lanes of `taken`, on to pc + 1 with the others.
  void branch(uint32_t taken, uint32_t target, uint32_t next, uint32_t reconv);
  // The same at a branch, also where all lanes go one way.
  void go(uint32_t taken, const MicroOp& branch);
  // The current split has come to its reconvergence point; returns the lanes of the parent if that
  // can go on now, else 0. The current split is gone: pick() anew.
  uint32_t reconverge();
  void exit_lanes(uint32_t mask);  // of the current split
  // Lanes that wait at a reconvergence point for others of their warp go on without them.
  bool release_arrived();
  // Called at every jump back: true if the warp was in this very state before. Compares with one
  // earlier state, the first after many jumps and the next after twice as many.
  bool returns(const std::vector<uint32_t>& domain_state);

  uint32_t id = 0;
  uint32_t alive = 0;  // lanes that exist and have not exited
  int current = -1;
  std::vector<uint32_t> file;  // registers, see RegRef
  std::vector<Split> splits;

 private:
  int new_split(uint32_t pc, uint32_t rpc, uint32_t mask, int parent);
  void child_gone(int parent);

  struct State {
    int current = -1;
    std::vector<uint32_t> file, domain;
    std::vector<Split> splits;
    bool operator==(const State&) const = default;
  } earlier_;
  uint64_t jumps_ = 0, next_state_ = kFirstState;
  static constexpr uint64_t kFirstState = 1 << 12;
};

}  // namespace assay::machine
