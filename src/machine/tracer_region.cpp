// The trace domain: branches on symbolic predicates. The region up to the immediate post-dominator
// runs block by block, each with the lanes and the condition under which they reach it; an
// operation takes effect as new = condition ? result : old.
//
// Soundness does not depend on the order of the blocks: the conditions of the entries that a lane
// has are disjoint, and each entry keeps the order of its own path. The order (reverse postorder)
// lets entries to one block merge and so run it once.
#include <algorithm>

#include "machine/tracer.h"

namespace assay::machine {
namespace {

constexpr uint64_t kMaxRegionBlocks = 200'000;

}  // namespace

// The condition of two groups of lanes that meet.
NodeId Tracer::merge_cond(const Entry& a, const Entry& b) {
  uint32_t both = a.mask & b.mask;
  if (!both) {
    if (a.cond == b.cond) return a.cond;
    NodeId x = a.cond == kNoNode ? b_.pred_const(true) : a.cond;
    NodeId y = b.cond == kNoNode ? b_.pred_const(true) : b.cond;
    return b_.blend(a.mask, x, y);
  }
  NodeId either = b_.lor(a.cond, b.cond);
  if (a.mask == b.mask) return either;
  NodeId x = a.cond == kNoNode ? b_.pred_const(true) : a.cond;
  NodeId y = b.cond == kNoNode ? b_.pred_const(true) : b.cond;
  NodeId e = either == kNoNode ? b_.pred_const(true) : either;
  return b_.blend(both, e, b_.blend(a.mask, x, y));
}

void Tracer::push_entry(Entry e) {
  if (!e.mask) return;
  uint64_t v = 1;
  if (e.cond != kNoNode && b_.is_constant(e.cond, &v)) {
    if (!v) return;
    e.cond = kNoNode;
  }
  pending_.push_back(e);
}

// Where the lanes of `e` go behind a conditional branch.
Status Tracer::split(Exec& exec, Cta& cta, Warp& w, const MicroOp& op, uint32_t next,
                     const Entry& e, uint32_t end, size_t level, uint32_t* exited) {
  uint32_t target = k_.block_of[op.target];
  uint32_t fall = k_.block_of[next];
  uint32_t is_known = 0;
  if (!tainted(op.guard)) {
    is_known = e.mask;
  } else {
    is_known = e.mask & state(w, op.guard).conc;
  }
  uint32_t taken = guard_mask(w, op, is_known);
  uint32_t open = e.mask & ~is_known;
  if (open && level > 0) {
    uint32_t join = k_.blocks[k_.block_of[static_cast<size_t>(&op - k_.ops.data())]].ipdom;
    if (join != end) {  // a region of its own; its lanes come together again inside this one
      Status s = run_region(exec, cta, w, op, e.mask, e.cond, exited);
      if (!s) return s;
      if (join != kNever) push_entry({join, e.mask, e.cond});
      return {};
    }
  }
  NodeId p = kNoNode;
  if (open) {
    p = fetch_pred(w, op.guard, open);
    if (op.guard_neg) p = b_.lnot(p);
  }
  auto side = [&](uint32_t block, uint32_t sure, NodeId c) {
    NodeId cond = e.cond;
    if (open) {
      NodeId under = b_.land(e.cond, c);
      NodeId plain = e.cond == kNoNode ? b_.pred_const(true) : e.cond;
      cond = sure ? b_.blend(open, under, plain) : under;
    }
    push_entry({block, sure | open, cond});
  };
  side(target, taken, p);
  side(fall, is_known & ~taken, open ? b_.lnot(p) : kNoNode);
  return {};
}

Status Tracer::run_block(Exec& exec, Cta& cta, Warp& w, Entry e, uint32_t end, size_t level,
                         uint32_t* exited) {
  const Block& block = k_.blocks[e.block];
  path_ = e.cond;
  for (uint32_t i = block.first; i < block.end; ++i) {
    const MicroOp& op = k_.ops[i];
    region_steps_ += op.weight;
    switch (op.kind) {
      case OpKind::Bra:
        if (!op.guard) {
          push_entry({k_.block_of[op.target], e.mask, e.cond});
          return {};
        }
        return split(exec, cta, w, op, i + 1, e, end, level, exited);
      case OpKind::Exit:
      case OpKind::Trap: {
        uint32_t m = e.mask;
        if (op.guard) {
          if (!known(w, op.guard, m)) {
            return fail(DiagKind::Unsupported, "exit under a data-dependent predicate",
                        k_.source(op.pc));
          }
          m = guard_mask(w, op, m);
        }
        if (op.kind == OpKind::Trap && m) trap(cta, w, op, m);
        *exited |= m;
        push_entry({i + 1 < k_.ops.size() ? k_.block_of[i + 1] : kNever, e.mask & ~m, e.cond});
        return {};
      }
      case OpKind::Bar:
      case OpKind::ClusterBar:
        return fail(DiagKind::Unsupported, "barrier under a data-dependent condition",
                    k_.source(op.pc));
      case OpKind::BrxIdx:
        return fail(DiagKind::Unsupported, "indirect branch under a data-dependent condition",
                    k_.source(op.pc));
      case OpKind::WarpBar:
        break;  // these lanes run in step
      default:
        if (!execute(cta, w, op, e.mask)) return take_error();
    }
  }
  push_entry({k_.block_of[block.end], e.mask, e.cond});
  return {};
}

// Runs everything between `branch` and its post-dominator. Lanes that exit inside are added to
// *exited (only where the region reaches the kernel's end: then all lanes do).
Status Tracer::run_region(Exec& exec, Cta& cta, Warp& w, const MicroOp& branch, uint32_t mask,
                          NodeId cond, uint32_t* exited) {
  auto at = static_cast<uint32_t>(&branch - k_.ops.data());
  uint32_t end = k_.blocks[k_.block_of[at]].ipdom;
  size_t base = pending_.size();
  NodeId outer_path = path_;
  ASSAY_CHECK(split(exec, cta, w, branch, at + 1, {k_.block_of[at], mask, cond}, end, 0, exited));
  uint64_t blocks = 0;
  while (true) {
    // The earliest block; lanes that have come to the end wait there.
    size_t best = pending_.size();
    for (size_t i = base; i < pending_.size(); ++i) {
      if (pending_[i].block == end) continue;
      if (best == pending_.size() ||
          k_.blocks[pending_[i].block].rpo < k_.blocks[pending_[best].block].rpo) {
        best = i;
      }
    }
    if (best == pending_.size()) break;
    Entry e = pending_[best];
    pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(best));
    for (size_t i = base; i < pending_.size();) {
      if (pending_[i].block != e.block) {
        ++i;
        continue;
      }
      e.cond = merge_cond(e, pending_[i]);
      e.mask |= pending_[i].mask;
      pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    if (++blocks > kMaxRegionBlocks) {
      return fail(DiagKind::Unsupported, "a loop whose end depends on data",
                  k_.source(k_.ops[k_.blocks[e.block].first].pc));
    }
    ASSAY_CHECK(run_block(exec, cta, w, e, end, 1, exited));
  }
  pending_.resize(base);
  path_ = outer_path;
  return {};
}

Status Tracer::symbolic_branch(Exec& exec, Cta& cta, Warp& w, const MicroOp& op) {
  if (!liveness_) liveness_ = std::make_unique<Liveness>(k_);
  Split& s = w.cur();
  uint32_t mask = s.mask, exited = 0;
  uint64_t before = region_steps_;
  Status r = run_region(exec, cta, w, op, mask, kNoNode, &exited);
  pending_.clear();
  path_ = kNoNode;
  if (!r) return r;
  exec.charge(region_steps_ - before);
  if (op.reconv == kNever) {
    exec.retire(cta, w, mask);
    return {};
  }
  w.cur().pc = op.reconv;
  return {};
}

}  // namespace assay::machine
