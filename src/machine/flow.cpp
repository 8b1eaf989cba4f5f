#include "machine/flow.h"

#include <algorithm>

namespace assay::machine {
namespace {

void find_blocks(Kernel& k) {
  auto n = static_cast<uint32_t>(k.ops.size());
  std::vector<bool> leader(n + 1, false);
  leader[0] = true;
  for (uint32_t i = 0; i < n; ++i) {
    const MicroOp& op = k.ops[i];
    if (op.kind == OpKind::Bra) leader[op.target] = true;
    if (op.kind == OpKind::BrxIdx) {
      for (uint32_t t = 0; t < op.count; ++t) leader[k.targets[op.target + t]] = true;
    }
    if (ends_block(op)) leader[i + 1] = true;
  }
  k.block_of.assign(n, 0);
  k.blocks.clear();
  for (uint32_t i = 0; i < n; ++i) {
    if (leader[i]) {
      k.blocks.emplace_back().first = i;
      k.ops[i].top = true;
    }
    k.block_of[i] = static_cast<uint32_t>(k.blocks.size() - 1);
    k.blocks.back().end = i + 1;
  }
  for (uint32_t b = 0; b < k.blocks.size(); ++b) {
    const MicroOp& last = k.ops[k.blocks[b].end - 1];
    std::vector<uint32_t>& succ = k.blocks[b].succ;
    bool falls = true;
    if (last.kind == OpKind::Bra) {
      succ.push_back(k.block_of[last.target]);
      falls = static_cast<bool>(last.guard);
    } else if (last.kind == OpKind::BrxIdx) {
      for (uint32_t t = 0; t < last.count; ++t) {
        succ.push_back(k.block_of[k.targets[last.target + t]]);
      }
      falls = static_cast<bool>(last.guard);
    } else if (last.kind == OpKind::Exit || last.kind == OpKind::Trap) {
      falls = static_cast<bool>(last.guard);
    }
    if (falls && k.blocks[b].end < n) succ.push_back(k.block_of[k.blocks[b].end]);
    std::sort(succ.begin(), succ.end());
    succ.erase(std::unique(succ.begin(), succ.end()), succ.end());
    for (uint32_t s : succ) k.blocks[s].pred.push_back(b);
  }
}

bool can_exit(const Kernel& k, uint32_t b) {
  const MicroOp& last = k.ops[k.blocks[b].end - 1];
  return last.kind == OpKind::Exit || last.kind == OpKind::Trap || k.blocks[b].succ.empty();
}

void find_rpo(Kernel& k) {
  std::vector<uint32_t> order;
  std::vector<uint8_t> state(k.blocks.size(), 0);
  std::vector<std::pair<uint32_t, size_t>> stack{{0, 0}};
  state[0] = 1;
  while (!stack.empty()) {
    auto& [b, i] = stack.back();
    // Last successor first: loop bodies then come before what follows the loop.
    const std::vector<uint32_t>& succ = k.blocks[b].succ;
    if (i < succ.size()) {
      uint32_t s = succ[succ.size() - 1 - i++];
      if (!state[s]) {
        state[s] = 1;
        stack.push_back({s, 0});
      }
    } else {
      order.push_back(b);
      stack.pop_back();
    }
  }
  for (size_t i = 0; i < order.size(); ++i) {
    k.blocks[order[i]].rpo = static_cast<uint32_t>(order.size() - 1 - i);
  }
}

// Blocks from which every path ends in a trap: what follows a failed assertion.
void find_traps(Kernel& k) {
  for (bool changed = true; changed;) {
    changed = false;
    for (Block& b : k.blocks) {
      if (b.traps) continue;
      const MicroOp& last = k.ops[b.end - 1];
      const bool ends = last.kind == OpKind::Trap && !last.guard;
      const bool all =
          !b.succ.empty() &&
          std::all_of(b.succ.begin(), b.succ.end(), [&](uint32_t s) { return k.blocks[s].traps; });
      b.traps = ends || all;
      changed = changed || b.traps;
    }
  }
}

// Immediate post-dominators (Cooper, Harvey, Kennedy) with one virtual exit. An endless loop, from
// which no path leads to the exit, has an edge to it from its last block: its branches meet again
// inside of it, and what follows another way out of the kernel does not post-dominate it. Ways to a
// trap do not count: lanes that pass an assertion meet again behind it.
void find_ipdom(Kernel& k) {
  auto n = static_cast<uint32_t>(k.blocks.size());
  std::vector<uint32_t> order;  // postorder on the reversed graph, exit last
  std::vector<uint8_t> seen(n, 0);
  std::vector<bool> exits(n, false);
  std::vector<uint32_t> roots;
  for (uint32_t b = 0; b < n; ++b) {
    exits[b] = can_exit(k, b);
    if (exits[b]) roots.push_back(b);
  }
  std::vector<uint32_t> last_first;
  for (uint32_t b = 0; b < n; ++b)
    if (k.blocks[b].rpo != kNever && !exits[b]) last_first.push_back(b);
  std::sort(last_first.begin(), last_first.end(),
            [&](uint32_t a, uint32_t b) { return k.blocks[a].rpo > k.blocks[b].rpo; });
  const size_t real_exits = roots.size();
  roots.insert(roots.end(), last_first.begin(), last_first.end());
  for (size_t next = 0; next < roots.size(); ++next) {
    const uint32_t root = roots[next];
    if (seen[root]) continue;
    if (next >= real_exits) exits[root] = true;
    std::vector<std::pair<uint32_t, size_t>> stack{{root, 0}};
    seen[root] = 1;
    while (!stack.empty()) {
      auto& [b, i] = stack.back();
      if (i < k.blocks[b].pred.size()) {
        uint32_t p = k.blocks[b].pred[i++];
        if (!seen[p]) {
          seen[p] = 1;
          stack.push_back({p, 0});
        }
      } else {
        order.push_back(b);
        stack.pop_back();
      }
    }
  }
  const uint32_t exit = n;
  constexpr uint32_t kUnset = ~0u;
  std::vector<uint32_t> number(n + 1, kUnset), dom(n + 1, kUnset);
  for (size_t i = 0; i < order.size(); ++i) number[order[i]] = static_cast<uint32_t>(i);
  number[exit] = static_cast<uint32_t>(order.size());
  dom[exit] = exit;
  auto meet = [&](uint32_t a, uint32_t b) {
    while (a != b) {
      while (number[a] < number[b]) a = dom[a];
      while (number[b] < number[a]) b = dom[b];
    }
    return a;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = order.size(); i-- > 0;) {
      uint32_t b = order[i];
      uint32_t d = exits[b] ? exit : kUnset;
      for (uint32_t s : k.blocks[b].succ) {
        if (number[s] == kUnset || dom[s] == kUnset) continue;
        if (k.blocks[s].traps && !k.blocks[b].traps) continue;
        d = d == kUnset ? s : meet(d, s);
      }
      if (d != dom[b]) {
        dom[b] = d;
        changed = true;
      }
    }
  }
  for (uint32_t b = 0; b < n; ++b) {
    k.blocks[b].ipdom = dom[b] == kUnset || dom[b] == exit ? kNever : dom[b];
    MicroOp& last = k.ops[k.blocks[b].end - 1];
    last.reconv = k.blocks[b].ipdom == kNever ? kNever : k.blocks[k.blocks[b].ipdom].first;
    // Lanes that come to the kernel's end need not wait for the others: they may be at a barrier
    // that counts the threads that are left.
    if (last.reconv == kNever) continue;
    const MicroOp& meet_at = k.ops[last.reconv];
    if (meet_at.kind == OpKind::Exit && !meet_at.guard) last.reconv = kNever;
  }
}

// Operations that make data of their own, whatever their operands are.
bool makes_data(const MicroOp& op, bool floats) {
  switch (op.kind) {
    case OpKind::Ld:
      return op.space != Space::Param && op.value;
    case OpKind::Atom:
      return floats || (op.value && op.dst);
    case OpKind::LdSym:
    case OpKind::Clock:
      return true;
    case OpKind::Alu:
      return floats && (info(op.fn).cls == FnClass::R || op.fn == Fn::CvtIF || op.fn == Fn::CvtFF ||
                        op.fn == Fn::CvtFI || op.fn == Fn::FrexpExp || is_float(op.type));
    case OpKind::Setp:
      return floats && is_float(op.type);
    default:
      return false;
  }
}

void find_taint(Kernel& k, bool floats) {
  for (RegInfo& r : k.regs) r.tainted = false;
  std::vector<UseDef> ud(k.ops.size());
  for (size_t i = 0; i < k.ops.size(); ++i) use_def(k, k.ops[i], ud[i]);
  std::vector<bool> block_tainted(k.blocks.size(), false), branch_done(k.blocks.size(), false);
  auto tainted = [&](uint32_t r) { return k.regs[r].tainted; };
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < k.ops.size(); ++i) {
      const MicroOp& op = k.ops[i];
      bool t = makes_data(op, floats) || block_tainted[k.block_of[i]] ||
               std::any_of(ud[i].uses.begin(), ud[i].uses.end(), tainted) ||
               std::any_of(ud[i].defs.begin(), ud[i].defs.end(), tainted);
      if (!t) continue;
      for (uint32_t d : ud[i].defs) {
        if (!k.regs[d].tainted) {
          k.regs[d].tainted = true;
          changed = true;
        }
      }
    }
    for (uint32_t b = 0; b < k.blocks.size(); ++b) {
      const MicroOp& last = k.ops[k.blocks[b].end - 1];
      bool t = (last.guard && tainted(last.guard.id)) ||
               (last.kind == OpKind::BrxIdx && tainted(last.src[0].id));
      if (!t || branch_done[b] || !ends_block(last)) continue;
      branch_done[b] = true;
      for (uint32_t r : region(k, b)) {
        if (!block_tainted[r]) {
          block_tainted[r] = true;
          changed = true;
        }
      }
    }
  }
  for (size_t i = 0; i < k.ops.size(); ++i) {
    MicroOp& op = k.ops[i];
    op.pure = !makes_data(op, floats) && !block_tainted[k.block_of[i]] &&
              std::none_of(ud[i].uses.begin(), ud[i].uses.end(), tainted) &&
              std::none_of(ud[i].defs.begin(), ud[i].defs.end(), tainted);
  }
}

}  // namespace

bool ends_block(const MicroOp& op) {
  return op.kind == OpKind::Bra || op.kind == OpKind::BrxIdx || op.kind == OpKind::Exit ||
         op.kind == OpKind::Trap;
}

void use_def(const Kernel& k, const MicroOp& op, UseDef& out) {
  out.uses.clear();
  out.defs.clear();
  auto use = [&](RegRef r) {
    if (r) out.uses.push_back(r.id);
  };
  auto def = [&](RegRef r) {
    if (r) out.defs.push_back(r.id);
  };
  use(op.guard);
  for (int i = 0; i < op.num_src; ++i) use(op.src[static_cast<size_t>(i)]);
  bool vec_in = op.kind == OpKind::St || op.kind == OpKind::Pack;
  bool vec_out = op.kind == OpKind::Ld || op.kind == OpKind::Unpack;
  for (uint32_t i = 0; i < op.vec && (vec_in || vec_out); ++i) {
    if (vec_in) use(k.vecs[op.vecs + i]);
    if (vec_out) def(k.vecs[op.vecs + i]);
  }
  def(op.dst);
  def(op.dst2);
  if (op.kind == OpKind::Carry) {
    if (op.reads_carry) use(k.carry);
    if (op.writes_carry) def(k.carry);
  }
}

std::vector<uint32_t> region(const Kernel& k, uint32_t b) {
  std::vector<uint32_t> out, stack;
  std::vector<bool> seen(k.blocks.size(), false);
  uint32_t end = k.blocks[b].ipdom;
  auto push = [&](uint32_t s) {
    if (s == end || seen[s]) return;
    seen[s] = true;
    stack.push_back(s);
    out.push_back(s);
  };
  for (uint32_t s : k.blocks[b].succ) push(s);
  while (!stack.empty()) {
    uint32_t x = stack.back();
    stack.pop_back();
    for (uint32_t s : k.blocks[x].succ) push(s);
  }
  return out;
}

// An atomic whose result nothing reads is a reduction.
void drop_unused_results(Kernel& k) {
  std::vector<bool> used(k.regs.size(), false);
  UseDef ud;
  for (const MicroOp& op : k.ops) {
    use_def(k, op, ud);
    for (uint32_t r : ud.uses) used[r] = true;
  }
  for (MicroOp& op : k.ops) {
    if (op.kind == OpKind::Atom && op.dst && !used[op.dst.id]) op.dst = {};
  }
}

void analyse(Kernel& k, bool floats_are_data) {
  drop_unused_results(k);
  for (const MicroOp& op : k.ops) {
    k.may_spin = k.may_spin || op.kind == OpKind::Atom || (op.kind == OpKind::Ld && op.strong);
  }
  find_blocks(k);
  find_rpo(k);
  find_traps(k);
  find_ipdom(k);
  find_taint(k, floats_are_data);
}

Liveness::Liveness(const Kernel& k) : words_((k.regs.size() + 63) / 64) {
  size_t n = k.blocks.size();
  in_.assign(n * words_, 0);
  std::vector<uint64_t> use(n * words_, 0), kill(n * words_, 0);
  UseDef ud;
  for (size_t b = 0; b < n; ++b) {
    uint64_t* u = &use[b * words_];
    uint64_t* d = &kill[b * words_];
    for (uint32_t i = k.blocks[b].first; i < k.blocks[b].end; ++i) {
      use_def(k, k.ops[i], ud);
      for (uint32_t r : ud.uses) {
        if (!((d[r / 64] >> (r % 64)) & 1)) u[r / 64] |= uint64_t{1} << (r % 64);
      }
      if (k.ops[i].guard) continue;  // a guarded write leaves the old value in some lanes
      for (uint32_t r : ud.defs) d[r / 64] |= uint64_t{1} << (r % 64);
    }
  }
  std::vector<uint32_t> order(n);
  for (uint32_t b = 0; b < n; ++b) order[b] = b;
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return k.blocks[a].rpo > k.blocks[b].rpo; });
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t b : order) {
      for (size_t w = 0; w < words_; ++w) {
        uint64_t live = 0;
        for (uint32_t s : k.blocks[b].succ) live |= in_[s * words_ + w];
        uint64_t v = use[b * words_ + w] | (live & ~kill[b * words_ + w]);
        if (v != in_[b * words_ + w]) {
          in_[b * words_ + w] = v;
          changed = true;
        }
      }
    }
  }
}

}  // namespace assay::machine
