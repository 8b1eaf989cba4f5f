#pragma once
// Execution of CTAs: warps in turn, reconvergence, barriers. A domain D gives meaning to data:
//
//   static constexpr bool kData;   false: bits are all there is; true: operations that are not pure
//                                  go to execute(), guards and branches on data to the domain
//   static constexpr bool kEndless;  loops that repeat a state are found; then state_of(Warp&) is
//                                    what the domain keeps of a warp beside its registers
//   void begin_cta(Cta&), end_cta(Cta&), trap(Cta&, Warp&, op, mask)
//   void memory(Cta&, Warp&, op, mask, all)       loads, stores, atomics, clocks (bits)
//   bool execute(Cta&, Warp&, op, split mask)     false: take_error() says why
//   bool known_guard, known_word, known_bar(Warp&, ...); set_known(Warp&, reg, mask)
//   Status symbolic_branch(Executor&, Cta&, Warp&, op)
#include <fmt/format.h>

#include <array>
#include <bit>
#include <optional>
#include <vector>

#include "base/deadline.h"
#include "machine/bits.h"
#include "machine/loops.h"
#include "machine/run.h"
#include "machine/warp.h"

namespace assay::machine {

struct Barrier {
  uint32_t arrived = 0;   // threads
  uint32_t expected = 0;  // 0: all live threads
  uint32_t warps = 0;     // that take part
  uint32_t pc = kNever;
  uint32_t popc = 0;  // of barrier.red
  bool all = true, any = false;
};

struct Cta {
  std::vector<uint8_t> shared;              // bytes (bit domains)
  std::vector<std::vector<uint8_t>> local;  // of each warp: words of 32 lanes
  uint32_t linear = 0;
  std::array<uint32_t, 3> id{};
  std::vector<Warp> warps;
  std::array<Barrier, 16> barriers;
  uint32_t threads = 0;  // alive
  uint64_t generation = 0;
};

// Shared by all domains: scheduling and control. Derived: D.
template <class D>
class Executor {
 public:
  Executor(const Kernel& k, const Launch& launch, D& domain, Observer* observer)
      : k_(k), launch_(launch), d_(domain), observer_(observer) {
    if constexpr (D::kEndless) closed_ = loops_are_closed(k);
  }

  Status run(const CtaRange& range, RunStats* stats) {
    const auto& g = launch_.constants.grid;
    uint64_t total = uint64_t{g[0]} * g[1] * g[2];
    std::vector<uint64_t> list = range.list;
    uint64_t first = std::min(range.first, total);
    uint64_t count = list.empty() ? std::min(range.count, total - first) : list.size();
    steps_left_ = launch_.step_limit;
    if (launch_.cooperative) {
      auto s = run_resident(range, first, count);
      stats->warp_instructions = launch_.step_limit - steps_left_;
      return s;
    }
    Cta cta;
    for (uint64_t i = 0; i < count; ++i) {
      uint64_t linear = list.empty() ? first + i : list[i];
      if (linear >= total) return fail(DiagKind::Invalid, "no such CTA in the grid");
      start(cta, static_cast<uint32_t>(linear));
      while (cta.threads) {
        ASSAY_CHECK(turn(cta, ~uint64_t{0}));
      }
      finish(cta);
      ++stats->ctas;
    }
    stats->warp_instructions = launch_.step_limit - steps_left_;
    return {};
  }

  // For a domain that runs instructions itself: they count; all lanes of the current split exit.
  void charge(uint64_t steps) { steps_left_ -= std::min(steps, steps_left_); }
  void retire(Cta& cta, Warp& w, uint32_t mask) {
    cta.threads -= static_cast<uint32_t>(std::popcount(mask));
    w.exit_lanes(mask);
    check_barriers(cta);
  }

 private:
  static constexpr uint64_t kQuantum = 4096;

  Status run_resident(const CtaRange& range, uint64_t first, uint64_t count) {
    std::vector<Cta> ctas(count);
    for (uint64_t i = 0; i < count; ++i) {
      start(ctas[i], static_cast<uint32_t>(range.list.empty() ? first + i : range.list[i]));
    }
    for (bool any = true; any;) {
      any = false;
      for (Cta& c : ctas) {
        if (!c.threads) continue;
        any = true;
        ASSAY_CHECK(turn(c, kQuantum));
        if (!c.threads) finish(c);
      }
    }
    return {};
  }

  void start(Cta& cta, uint32_t linear) {
    const LaunchConstants& l = launch_.constants;
    cta.linear = linear;
    cta.id = {linear % l.grid[0], linear / l.grid[0] % l.grid[1], linear / l.grid[0] / l.grid[1]};
    cta.barriers = {};
    cta.threads = l.block[0] * l.block[1] * l.block[2];
    uint32_t n = (cta.threads + 31) / 32;
    cta.warps.resize(n);
    for (uint32_t w = 0; w < n; ++w) {
      uint32_t left = cta.threads - w * 32;
      cta.warps[w].start(k_, w, left >= 32 ? ~0u : (1u << left) - 1);
      cta.warps[w].fill_special(k_, l.block, cta.id, l.cluster);
    }
    if (observer_) observer_->begin_cta(linear, k_.shared_bytes());
    d_.begin_cta(cta);
  }

  void finish(Cta& cta) {
    d_.end_cta(cta);
    if (observer_) observer_->end_cta(cta.linear);
  }

  // Lets each warp run until it blocks, has ended, or has used its share.
  static constexpr uint64_t kStepsBetweenChecks = 1 << 16;
  uint64_t unchecked_ = 0;

  Status turn(Cta& cta, uint64_t quantum) {
    bool progress = false;
    for (size_t i = 0; i < cta.warps.size(); ++i) {
      Warp& w = cta.warps[launch_.descending ? cta.warps.size() - 1 - i : i];
      if (w.done() || !w.pick_other()) continue;
      progress = true;
      uint64_t share = std::min(quantum, spin_share());
      const uint64_t before = steps_left_;
      ASSAY_CHECK(run_warp(cta, w, share));
      unchecked_ += before - steps_left_ + 1;
      if (unchecked_ > kStepsBetweenChecks) {
        unchecked_ = 0;
        if (Deadline::passed()) return fail(DiagKind::Limit, "no time left to run the launch");
        if (observer_ && observer_->has_enough())
          return fail(DiagKind::Limit, "the rest of the launch was not run");
      }
    }
    if (progress || !cta.threads) return {};
    if (release_waiting(cta) || release_warp_barriers(cta)) return {};
    if (launch_.cooperative && quantum != ~uint64_t{0}) return {};
    return deadlock(cta);
  }

  // Warps that may wait for one another through memory must take turns; others run to a barrier,
  // or, where accesses are only watched, until it is time to ask the observer.
  uint64_t spin_share() const {
    if (k_.may_spin) return uint64_t{1} << 16;
    return observer_ && !D::kData ? uint64_t{1} << 20 : uint64_t{1} << 24;
  }

  Status deadlock(const Cta& cta) {
    for (const Warp& w : cta.warps) {
      for (const Split& s : w.splits) {
        if (s.state != SplitState::AtBarrier) continue;
        const Barrier& b = cta.barriers[s.barrier];
        return fail(
            DiagKind::Limit,
            fmt::format("deadlock in CTA {}: barrier {} has {} threads and waits for {}",
                        cta.linear, s.barrier, b.arrived, b.expected ? b.expected : cta.threads),
            k_.source(k_.ops[s.pc ? s.pc - 1 : 0].pc));
      }
    }
    return fail(DiagKind::Limit, fmt::format("deadlock in CTA {}", cta.linear));
  }

  // Lanes at a barrier wait for others that stand at a reconvergence point of theirs: those go on
  // alone, as they may on sm_70 and later.
  bool release_waiting(Cta& cta) {
    bool any = false;
    for (Warp& w : cta.warps) any = w.release_arrived() || any;
    return any;
  }

  // All runnable lanes are gone and some wait for lanes that will not come: let them go on, as
  // current GPUs do.
  bool release_warp_barriers(Cta& cta) {
    bool any = false;
    for (Warp& w : cta.warps) {
      for (Split& s : w.splits) {
        if (s.state == SplitState::AtWarpBar) {
          s.state = SplitState::Ready;
          any = true;
        }
      }
    }
    return any;
  }

  Status run_warp(Cta& cta, Warp& w, uint64_t share) {
    share = std::min(share, steps_left_);
    const MicroOp* ops = k_.ops.data();
    Split* s = &w.cur();
    uint64_t steps = 0;
    Status status;
    while (true) {
      if (s->pc == s->rpc) {
        uint32_t joined = w.reconverge();
        if (joined && observer_) observer_->reconverge(cta.linear, w.id, joined);
        if (w.current < 0) break;
        s = &w.cur();
        continue;
      }
      const MicroOp& op = ops[s->pc];
      steps += op.weight;
      if (steps > share) {
        if (share == steps_left_) {
          status = fail(DiagKind::Limit,
                        fmt::format("more than {} warp instructions", launch_.step_limit),
                        k_.source(op.pc));
        }
        break;
      }
      uint32_t mask = s->mask;
      if (op.kind >= OpKind::Bar) {
        Flow f = control(cta, w, op, &status);
        if (f == Flow::Stop) break;
        s = &w.cur();
        continue;
      }
      bool data = D::kData && !op.pure;
      if (!data) {
        mask = guard_mask(w, op, mask);
        if (mask) {
          bool all = mask == w.alive;
          if (!bits_execute(w, k_, op, mask, all))
            d_.memory(cta, w, op, mask, all);
          else if (observer_ && op.kind >= OpKind::Shfl && op.kind <= OpKind::SyncPoint) {
            sync_lanes(cta, w, op, mask);
          }
        }
      } else {
        if (!d_.execute(cta, w, op, mask)) {
          status = d_.take_error();
          break;
        }
        if (observer_ && op.kind >= OpKind::Shfl && op.kind <= OpKind::SyncPoint) {
          sync_lanes(cta, w, op, mask);
        }
      }
      ++s->pc;
    }
    steps_left_ -= std::min(steps, steps_left_);
    return status;
  }

  enum class Flow : uint8_t { Go, Stop };

  Flow control(Cta& cta, Warp& w, const MicroOp& op, Status* status) {
    Split& s = w.cur();
    switch (op.kind) {
      case OpKind::Bra: {
        uint32_t taken = s.mask;
        if (op.guard) {
          if constexpr (D::kData) {
            if (!op.pure && !d_.known_guard(w, op, s.mask)) {
              auto r = d_.symbolic_branch(*this, cta, w, op);
              if (!r) {
                *status = r;
                return Flow::Stop;
              }
              return w.current < 0 && !w.pick() ? Flow::Stop : Flow::Go;
            }
          }
          taken = guard_mask(w, op, s.mask);
        }
        if (taken == s.mask) {
          if constexpr (D::kEndless) {
            if (closed_ && op.target <= s.pc && w.returns(d_.state_of(w))) {
              if (observer_) observer_->endless(cta.linear, w.id, op.pc);
              *status = fail(DiagKind::Limit,
                             fmt::format("warp {} of CTA {} never ends", w.id, cta.linear),
                             k_.source(op.pc));
              return Flow::Stop;
            }
          }
          s.pc = op.target;
        } else if (!taken) {
          ++s.pc;
        } else {
          w.branch(taken, op.target, s.pc + 1, op.reconv);
        }
        return w.current < 0 ? Flow::Stop : Flow::Go;
      }
      case OpKind::BrxIdx:
        return brx(w, op, status);
      case OpKind::Exit:
      case OpKind::Trap: {
        uint32_t m = s.mask;
        if (op.guard) {
          if constexpr (D::kData) {
            if (!op.pure && !d_.known_guard(w, op, s.mask)) {
              *status = fail(DiagKind::Unsupported, "exit under a data-dependent predicate",
                             k_.source(op.pc));
              return Flow::Stop;
            }
          }
          m = guard_mask(w, op, m);
        }
        if (m && op.kind == OpKind::Trap) d_.trap(cta, w, op, m);
        if (!m) {
          ++s.pc;
          return Flow::Go;
        }
        ++s.pc;
        cta.threads -= static_cast<uint32_t>(std::popcount(m));
        w.exit_lanes(m);
        check_barriers(cta);
        return w.current < 0 ? Flow::Stop : Flow::Go;
      }
      case OpKind::WarpBar:
        return warp_bar(cta, w, op);
      case OpKind::Bar:
        return bar(cta, w, op, status);
      default:
        *status = fail(DiagKind::Unsupported, "cluster barrier", k_.source(op.pc));
        return Flow::Stop;
    }
  }

  Flow brx(Warp& w, const MicroOp& op, Status* status) {
    Split& s = w.cur();
    if constexpr (D::kData) {
      if (!op.pure && !d_.known_word(w, op.src[0], s.mask)) {
        *status = fail(DiagKind::Unsupported, "data-dependent indirect branch", k_.source(op.pc));
        return Flow::Stop;
      }
    }
    const uint32_t* index = w.reg(op.src[0]);
    uint32_t m = guard_mask(w, op, s.mask);
    if (!m) {
      ++s.pc;
      return Flow::Go;
    }
    uint32_t first = static_cast<uint32_t>(std::countr_zero(m));
    uint32_t same = 0;
    for (uint32_t l = 0; l < 32; ++l) {
      if (((m >> l) & 1) && index[l] == index[first]) same |= 1u << l;
    }
    if (index[first] >= op.count) {
      *status = fail(DiagKind::Invalid, "indirect branch beyond its list", k_.source(op.pc));
      return Flow::Stop;
    }
    uint32_t target = k_.targets[op.target + index[first]];
    if (same == s.mask) {
      s.pc = target;
    } else {
      // The others come back to this instruction, as a group of their own.
      w.branch(same, target, s.pc, op.reconv);
    }
    return w.current < 0 ? Flow::Stop : Flow::Go;
  }

  void sync_lanes(Cta& cta, Warp& w, const MicroOp& op, uint32_t mask) {
    RegRef m = op.kind == OpKind::Shfl    ? op.src[3]
               : op.kind >= OpKind::Elect ? op.src[0]
                                          : op.src[1];
    if (!m || !mask) return;
    observer_->warp_sync(cta.linear, w.id, w.reg(m)[std::countr_zero(mask)] & mask, w.alive);
  }

  // bar.warp.sync: waits until all live lanes of the mask are at such a barrier.
  Flow warp_bar(Cta& cta, Warp& w, const MicroOp& op) {
    Split& s = w.cur();
    uint32_t m = guard_mask(w, op, s.mask);
    ++s.pc;
    if (!m) return Flow::Go;
    uint32_t members = w.reg(op.src[0])[std::countr_zero(m)] & w.alive;
    if ((members & ~s.mask) == 0) {
      if (observer_) observer_->warp_sync(cta.linear, w.id, members, w.alive);
      return Flow::Go;
    }
    s.state = SplitState::AtWarpBar;
    s.barrier = members;
    uint32_t here = 0;
    for (const Split& x : w.splits) {
      if (x.state == SplitState::AtWarpBar && x.barrier == members) here |= x.mask;
    }
    if ((members & ~here) == 0) {
      for (Split& x : w.splits) {
        if (x.state == SplitState::AtWarpBar && x.barrier == members) x.state = SplitState::Ready;
      }
      if (observer_) observer_->warp_sync(cta.linear, w.id, members, w.alive);
    }
    return w.pick() ? Flow::Go : Flow::Stop;
  }

  Flow bar(Cta& cta, Warp& w, const MicroOp& op, Status* status) {
    Split& s = w.cur();
    if constexpr (D::kData) {
      if (!op.pure && (!d_.known_guard(w, op, s.mask) || !d_.known_bar(w, op, s.mask))) {
        *status =
            fail(DiagKind::Unsupported, "barrier with a data-dependent operand", k_.source(op.pc));
        return Flow::Stop;
      }
    }
    uint32_t m = guard_mask(w, op, s.mask);
    uint32_t pc = s.pc;
    ++s.pc;
    if (!m) return Flow::Go;
    uint32_t lane = static_cast<uint32_t>(std::countr_zero(m));
    uint32_t id = w.reg(op.src[0])[lane] & 15;
    Barrier& b = cta.barriers[id];
    if (op.src[1]) b.expected = w.reg(op.src[1])[lane];
    b.arrived += static_cast<uint32_t>(std::popcount(m));
    b.warps |= 1u << w.id;
    if (b.pc != kNever && b.pc != pc && observer_) {
      observer_->barrier_mismatch(cta.linear, k_.ops[b.pc].pc, op.pc);
    }
    b.pc = pc;
    auto mode = static_cast<BarMode>(op.mode);
    if (mode != BarMode::Sync && mode != BarMode::Arrive) {
      uint32_t p = *w.reg(op.src[2]);
      b.popc += static_cast<uint32_t>(std::popcount(p & m));
      b.all = b.all && (p & m) == m;
      b.any = b.any || (p & m);
    }
    if (mode != BarMode::Arrive) {
      s.state = SplitState::AtBarrier;
      s.barrier = id;
    }
    check_barrier(cta, id);
    return w.pick() ? Flow::Go : Flow::Stop;
  }

  void check_barriers(Cta& cta) {
    for (uint32_t i = 0; i < 16; ++i) {
      if (cta.barriers[i].arrived) check_barrier(cta, i);
    }
  }

  void check_barrier(Cta& cta, uint32_t id) {
    Barrier& b = cta.barriers[id];
    uint32_t need = b.expected ? b.expected : cta.threads;
    if (b.arrived < need) return;
    if (observer_) observer_->cta_barrier(cta.linear, b.warps, b.expected == 0);
    Barrier done = b;
    b = {};
    for (Warp& w : cta.warps) {
      for (Split& s : w.splits) {
        if (s.state != SplitState::AtBarrier || s.barrier != id) continue;
        s.state = SplitState::Ready;
        const MicroOp& op = k_.ops[s.pc - 1];
        auto mode = static_cast<BarMode>(op.mode);
        if (!op.dst) continue;
        if constexpr (D::kData) d_.set_known(w, op.dst, s.mask);
        if (mode == BarMode::RedPopc) {
          uint32_t out[32];
          std::fill_n(out, 32, done.popc);
          write_word(w, op.dst, out, s.mask, false);
        } else {
          write_pred(w, op.dst, (mode == BarMode::RedAnd ? done.all : done.any) ? ~0u : 0, s.mask);
        }
      }
    }
  }

  const Kernel& k_;
  const Launch& launch_;
  D& d_;
  Observer* observer_;
  uint64_t steps_left_ = 0;
  bool closed_ = false;  // loops_are_closed
};

}  // namespace assay::machine
