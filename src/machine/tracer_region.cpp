// The trace domain: branches on symbolic predicates. The region up to the immediate post-dominator
// runs block by block. Each path of a lane keeps register values of its own (so loop counters stay
// concrete), with the condition under which the lane takes it; where paths meet, values become
// condition ? one : other. Stores take effect as condition ? new : old at once.
//
// Soundness does not depend on the order of the blocks: the conditions of the paths that a lane has
// are disjoint, and each path keeps its own order. The order (reverse postorder) lets paths to one
// block merge and so run it once.
#include <algorithm>

#include "machine/tracer.h"

namespace assay::machine {
namespace {

constexpr uint64_t kMaxRegionBlocks = 200'000;
constexpr size_t kMaxPaths = 4096;  // pending at once: each turn of a loop that may end leaves one

}  // namespace

NodeId Tracer::merge_cond(const Entry& a, const Entry& b) {
  uint32_t both = a.mask & b.mask;
  auto plain = [&](NodeId c) { return c == kNoNode ? b_.pred_const(true) : c; };
  if (!both) {
    if (a.cond == b.cond) return a.cond;
    return b_.blend(a.mask, plain(a.cond), plain(b.cond));
  }
  NodeId either = b_.lor(a.cond, b.cond);
  if (a.mask == b.mask) return either;
  return b_.blend(both, plain(either), b_.blend(a.mask, plain(a.cond), plain(b.cond)));
}

// For lanes that have come by a or by b (disjoint conditions): true if by a.
NodeId Tracer::distinguish(NodeId a, NodeId b) {
  auto conj = [&](NodeId n, NodeId* x, NodeId* y) {
    if (n == kNoNode || !b_.is_fn(n, Fn::PAnd)) return false;
    *x = b_.trace.nodes[n].a;
    *y = b_.trace.nodes[n].b;
    return true;
  };
  NodeId ax = kNoNode, ay = kNoNode, bx = kNoNode, by = kNoNode;
  bool ac = conj(a, &ax, &ay), bc = conj(b, &bx, &by);
  if (ac && bc && ax == bx) return distinguish(ay, by);
  if (bc && bx == b_.lnot(a)) return a;
  if (ac && ax == b_.lnot(b)) return ax;
  // By the shorter one: b's negation if a is a conjunction and b is not.
  if (ac && !bc && b != kNoNode) return b_.lnot(b);
  return a;
}

// The registers that are live in either block and can hold data, in the lanes of a mask.
Tracer::Snapshot Tracer::save(Warp& w, uint32_t mask, uint32_t block, uint32_t other_block) {
  auto out = std::make_shared<std::vector<Saved>>();
  for (uint32_t r = 0; r < k_.regs.size(); ++r) {
    if (!k_.regs[r].tainted) continue;
    if (!liveness_->live_in(block, r) && !liveness_->live_in(other_block, r)) continue;
    Saved& s = out->emplace_back();
    s.reg = r;
    RegRef ref{k_.regs[r].off, r};
    s.state = state(w, ref);
    if (s.state.conc & mask) {
      for (uint32_t l = 0; l < 32; ++l) s.bits[l] = lane_bits(w, ref, l);
    }
  }
  return out;
}

void Tracer::restore(Warp& w, const Entry& e) {
  if (!e.regs) return;
  for (const Saved& v : *e.regs) {
    RegRef r{k_.regs[v.reg].off, v.reg};
    uint32_t conc = v.state.conc & e.mask;
    uint32_t nodes = v.state.nmask & e.mask;
    if (nodes) assign_plain(w, r, nodes, v.state.node);
    if (conc) {
      for (uint32_t l = 0; l < 32; ++l) {
        if (!((conc >> l) & 1)) continue;
        switch (k_.regs[v.reg].file) {
          case RegFile::Pred:
            write_pred(w, r, v.bits[l] ? ~0u : 0, 1u << l);
            break;
          case RegFile::Word:
            w.reg(r)[l] = static_cast<uint32_t>(v.bits[l]);
            break;
          case RegFile::Double:
            w.reg64(r)[l] = v.bits[l];
            break;
        }
      }
      if (conc & ~nodes) assign_bits(w, r, conc & ~nodes);
      state(w, r).conc |= conc;
    }
  }
}

NodeId Tracer::saved_node(RegRef r, const Saved& v, Ty type, uint32_t mask) {
  uint32_t by_node = mask & v.state.nmask;
  if (by_node == mask) return b_.convert(v.state.node, type);
  uint32_t by_bits = mask & ~by_node;
  std::array<uint64_t, kLanes> x;
  uint64_t keep = bits(type) >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits(type)) - 1;
  uint64_t fill = v.bits[static_cast<size_t>(std::countr_zero(by_bits))] & keep;
  for (uint32_t l = 0; l < 32; ++l) x[l] = (by_bits >> l) & 1 ? v.bits[l] & keep : fill;
  NodeId con = b_.const_vec(type, x);
  (void)r;
  return by_node ? b_.blend(by_node, b_.convert(v.state.node, type), con) : con;
}

// One register where two paths meet: lanes am by a, lanes bm by b; in both: `first` ? a : b.
Tracer::Saved Tracer::merge_reg(Warp&, RegRef r, const Saved& a, uint32_t am, const Saved& b,
                                uint32_t bm, NodeId first) {
  Saved out;
  out.reg = r.id;
  uint32_t both = am & bm;
  // Lanes in which both paths have the same bits, or one has none.
  uint32_t a_never = ~(a.state.nmask | a.state.conc), b_never = ~(b.state.nmask | b.state.conc);
  uint32_t take_a = (am & ~bm) | (both & b_never);
  uint32_t take_b = (bm & ~am) | (both & a_never & ~b_never);
  uint32_t open = both & ~take_a & ~take_b;
  uint32_t same = 0;
  for (uint32_t l = 0; l < 32; ++l) {
    if (!((open >> l) & 1)) continue;
    bool ac = (a.state.conc >> l) & 1, bc = (b.state.conc >> l) & 1;
    bool an = (a.state.nmask >> l) & 1, bn = (b.state.nmask >> l) & 1;
    bool same_bits = ac && bc && a.bits[l] == b.bits[l];
    bool same_node = an && bn && a.state.node == b.state.node;
    if ((same_bits && an == bn && (!an || same_node)) || (same_node && !ac && !bc)) same |= 1u << l;
  }
  take_a |= same;
  open &= ~same;
  out.state.conc = (take_a & a.state.conc) | (take_b & b.state.conc);
  for (uint32_t l = 0; l < 32; ++l) out.bits[l] = (take_a >> l) & 1 ? a.bits[l] : b.bits[l];
  uint32_t node_a = take_a & a.state.nmask, node_b = take_b & b.state.nmask;
  out.state.nmask = node_a | node_b | open;
  NodeId n = kNoNode;
  Ty declared = k_.regs[r.id].type;
  auto fits = [&](NodeId x) { return bits(b_.type_of(x)) == bits(declared); };
  Ty t = declared;  // floats win over plain bits
  for (NodeId x :
       {a.state.nmask & am ? a.state.node : kNoNode, b.state.nmask & bm ? b.state.node : kNoNode}) {
    if (x == kNoNode || b_.is_undef(x) || !fits(x)) continue;
    if (t == declared || is_float(b_.type_of(x))) t = b_.type_of(x);
  }
  if (open) {
    n = b_.select(first, saved_node(r, a, t, open), saved_node(r, b, t, open), 0);
  }
  if (node_a) {
    NodeId x = b_.convert(a.state.node, t);
    n = n == kNoNode ? x : b_.blend(node_a, x, n);
  }
  if (node_b) {
    NodeId x = b_.convert(b.state.node, t);
    n = n == kNoNode ? x : b_.blend(node_b, x, n);
  }
  out.state.node = n == kNoNode ? b_.undef(declared, UndefReason::Register) : n;
  return out;
}

Tracer::Entry Tracer::merge(Warp& w, const Entry& a, const Entry& b) {
  Entry out;
  out.block = a.block;
  out.mask = a.mask | b.mask;
  out.cond = merge_cond(a, b);
  if (!a.regs && !b.regs) return out;  // different lanes, each with its values in the registers
  Entry x = a, y = b;
  if (!x.regs) x.regs = save(w, x.mask, x.block, x.block);
  if (!y.regs) y.regs = save(w, y.mask, y.block, y.block);
  NodeId first = a.mask & b.mask ? distinguish(a.cond, b.cond) : kNoNode;
  auto regs = std::make_shared<std::vector<Saved>>();
  size_t j = 0;
  for (const Saved& v : *x.regs) {
    if (!liveness_->live_in(a.block, v.reg)) continue;
    while (j < y.regs->size() && (*y.regs)[j].reg < v.reg) ++j;
    if (j == y.regs->size() || (*y.regs)[j].reg != v.reg) continue;
    RegRef r{k_.regs[v.reg].off, v.reg};
    regs->push_back(merge_reg(w, r, v, a.mask, (*y.regs)[j], b.mask, first));
  }
  out.regs = std::move(regs);
  return out;
}

// Lanes go on at a block. Their registers are saved if another path of the same lanes is pending.
void Tracer::push_entry(Warp& w, Entry e) {
  if (!e.mask) return;
  uint64_t v = 1;
  if (e.cond != kNoNode && b_.is_constant(e.cond, &v)) {
    if (!v) return;
    e.cond = kNoNode;
  }
  bool shares = false;
  for (const Entry& p : pending_) shares = shares || (p.mask & e.mask);
  if (shares && !e.regs && e.block != kNever) e.regs = save(w, e.mask, e.block, e.block);
  pending_.push_back(std::move(e));
}

// A branch one side of which certainly traps (an assertion): a launch that goes there gives no
// values, so lanes whose way depends on data go the other one, and the condition is kept as a fault
// for whoever claims something of the values. Returns the lanes that take the branch for it.
uint32_t Tracer::assume_no_trap(const Cta& cta, Warp& w, const MicroOp& op, uint32_t open,
                                NodeId path, bool trap_if_taken) {
  NodeId p = fetch_pred(w, op.guard, open);
  if (op.guard_neg == trap_if_taken) p = b_.lnot(p);
  AccessFault f;  // of 0 bytes, as of trap()
  f.lanes = open;
  f.pred = b_.land(path, p);
  f.pc = op.pc;
  f.cta = cta.linear;
  uint64_t v = 1;
  if (!b_.is_constant(f.pred, &v) || v) b_.trace.faults.push_back(f);
  return trap_if_taken ? 0 : open;
}

// Where the lanes of `e` go behind a conditional branch.
Status Tracer::split(Exec& exec, Cta& cta, Warp& w, const MicroOp& op, const Entry& e, uint32_t end,
                     bool nested, uint32_t* exited) {
  auto at = static_cast<uint32_t>(&op - k_.ops.data());
  uint32_t target = k_.block_of[op.target];
  uint32_t fall = k_.block_of[at + 1];
  uint32_t is_known = tainted(op.guard) ? e.mask & state(w, op.guard).conc : e.mask;
  uint32_t taken = guard_mask(w, op, is_known);
  uint32_t open = e.mask & ~is_known;
  if (open && k_.blocks[target].traps != k_.blocks[fall].traps) {
    taken |= assume_no_trap(cta, w, op, open, e.cond, k_.blocks[target].traps);
    is_known |= open;
    open = 0;
  }
  if (open && nested) {
    uint32_t join = k_.blocks[e.block].ipdom;
    if (join != end) {  // a region of its own; its lanes come together again inside this one
      Entry joined;
      ASSAY_CHECK(run_region(exec, cta, w, op, e, exited, &joined));
      if (join != kNever) {
        joined.regs = nullptr;
        push_entry(w, joined);
      }
      return {};
    }
  }
  NodeId p = kNoNode;
  Snapshot regs;
  if (open) {
    p = fetch_pred(w, op.guard, open);
    if (op.guard_neg) p = b_.lnot(p);
    regs = save(w, e.mask, target, fall);
  }
  auto side = [&](uint32_t block, uint32_t sure, NodeId c) {
    NodeId cond = e.cond;
    if (open) {
      NodeId under = b_.land(e.cond, c);
      NodeId plain = e.cond == kNoNode ? b_.pred_const(true) : e.cond;
      cond = sure ? b_.blend(open, under, plain) : under;
    }
    push_entry(w, {block, sure | open, cond, regs});
  };
  side(target, taken, p);
  side(fall, is_known & ~taken, open ? b_.lnot(p) : kNoNode);
  return {};
}

Status Tracer::run_block(Exec& exec, Cta& cta, Warp& w, Entry e, uint32_t end, uint32_t* exited) {
  const Block& block = k_.blocks[e.block];
  path_ = e.cond;
  e.regs = nullptr;
  for (uint32_t i = block.first; i < block.end; ++i) {
    const MicroOp& op = k_.ops[i];
    region_steps_ += op.weight;
    switch (op.kind) {
      case OpKind::Bra:
        if (op.guard) return split(exec, cta, w, op, e, end, true, exited);
        e.block = k_.block_of[op.target];
        push_entry(w, e);
        return {};
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
        e.block = i + 1 < k_.ops.size() ? k_.block_of[i + 1] : kNever;
        e.mask &= ~m;
        push_entry(w, e);
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
  e.block = k_.block_of[block.end];
  push_entry(w, e);
  return {};
}

// Runs everything between `branch` (at the end of block at.block) and its post-dominator; *joined:
// the lanes there, whose values are in the registers again. Lanes that exit inside are added to
// *exited (only where the region reaches the kernel's end: then all lanes do).
Status Tracer::run_region(Exec& exec, Cta& cta, Warp& w, const MicroOp& branch, const Entry& at,
                          uint32_t* exited, Entry* joined) {
  uint32_t end = k_.blocks[at.block].ipdom;
  NodeId outer_path = path_;
  std::vector<Entry> outer = std::move(pending_);
  pending_.clear();
  auto finish = [&](Status s) {
    pending_ = std::move(outer);
    path_ = outer_path;
    return s;
  };
  Status s = split(exec, cta, w, branch, at, end, false, exited);
  uint64_t blocks = 0;
  while (s) {
    // The earliest block; lanes that have come to the end wait there.
    size_t best = pending_.size();
    for (size_t i = 0; i < pending_.size(); ++i) {
      if (pending_[i].block == end) continue;
      if (best == pending_.size() ||
          k_.blocks[pending_[i].block].rpo < k_.blocks[pending_[best].block].rpo) {
        best = i;
      }
    }
    bool last = best == pending_.size();
    if (last && pending_.empty()) break;
    uint32_t block = last ? end : pending_[best].block;
    Entry e;
    bool first = true;
    for (size_t i = 0; i < pending_.size();) {
      if (pending_[i].block != block) {
        ++i;
        continue;
      }
      e = first ? pending_[i] : merge(w, e, pending_[i]);
      first = false;
      pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    restore(w, e);
    if (last) {
      *joined = e;
      joined->cond = at.cond;
      break;
    }
    if (++blocks > kMaxRegionBlocks || pending_.size() > kMaxPaths) {
      return finish(fail(DiagKind::Unsupported, "a loop whose end depends on data",
                         k_.source(k_.ops[k_.blocks[block].first].pc)));
    }
    s = run_block(exec, cta, w, e, end, exited);
  }
  return finish(s);
}

Status Tracer::symbolic_branch(Exec& exec, Cta& cta, Warp& w, const MicroOp& op) {
  if (!liveness_) liveness_ = std::make_unique<Liveness>(k_);
  Split& s = w.cur();
  Entry at, joined;
  const auto index = static_cast<uint32_t>(&op - k_.ops.data());
  const bool trap_if_taken = k_.blocks[k_.block_of[op.target]].traps;
  if (trap_if_taken != k_.blocks[k_.block_of[index + 1]].traps) {
    const uint32_t known = tainted(op.guard) ? s.mask & state(w, op.guard).conc : s.mask;
    const uint32_t taken =
        guard_mask(w, op, known) |
        (s.mask & ~known ? assume_no_trap(cta, w, op, s.mask & ~known, path_, trap_if_taken) : 0);
    w.go(taken, op);
    return {};
  }
  at.block = k_.block_of[index];
  at.mask = s.mask;
  uint32_t exited = 0;
  uint64_t before = region_steps_;
  ASSAY_CHECK(run_region(exec, cta, w, op, at, &exited, &joined));
  exec.charge(region_steps_ - before);
  if (op.reconv == kNever) {
    exec.retire(cta, w, at.mask);
    return {};
  }
  w.cur().pc = op.reconv;
  return {};
}

}  // namespace assay::machine
