#include "machine/loops.h"

#include <algorithm>

#include "machine/flow.h"

namespace assay::machine {
namespace {

using Blocks = std::vector<bool>;

bool reachable(const Kernel& k, uint32_t b) { return k.blocks[b].rpo != kNever; }

// The blocks of the loop that the edge from `latch` back to `head` closes.
Blocks body_of(const Kernel& k, uint32_t head, uint32_t latch) {
  Blocks body(k.blocks.size(), false);
  body[head] = true;
  std::vector<uint32_t> stack;
  auto push = [&](uint32_t b) {
    if (body[b] || !reachable(k, b)) return;
    body[b] = true;
    stack.push_back(b);
  };
  push(latch);
  while (!stack.empty()) {
    const uint32_t b = stack.back();
    stack.pop_back();
    for (uint32_t p : k.blocks[b].pred) push(p);
  }
  return body;
}

class Loop {
 public:
  Loop(const Kernel& k, uint32_t head, uint32_t latch)
      : k_(k), head_(head), latch_(latch), body_(body_of(k, head, latch)) {}

  bool counts() const {
    for (uint32_t b : {latch_, head_})
      if (leaves(b) && exit_counts(k_.ops[k_.blocks[b].end - 1])) return true;
    return false;
  }
  // The branches out of the loop. One that no way leads out of needs none, but where its branch has
  // no post-dominator a slice without it would take it for the end of the kernel.
  void decisions(std::vector<uint32_t>* out) const {
    bool any = false;
    for (uint32_t b = 0; b < k_.blocks.size(); ++b) any = any || (body_[b] && leaves(b));
    for (uint32_t b = 0; b < k_.blocks.size(); ++b) {
      if (!body_[b] || k_.blocks[b].succ.size() < 2) continue;
      if (any ? leaves(b) : k_.blocks[b].ipdom == kNever) out->push_back(k_.blocks[b].end - 1);
    }
  }

 private:
  bool leaves(uint32_t b) const {
    const auto& succ = k_.blocks[b].succ;
    return std::any_of(succ.begin(), succ.end(), [&](uint32_t s) { return !body_[s]; });
  }
  // The only operation of the loop that writes r; nullptr: none or several. `none`: none.
  const MicroOp* only_def(RegRef r, bool* none) const {
    const MicroOp* found = nullptr;
    bool several = false;
    UseDef ud;
    for (uint32_t b = 0; b < k_.blocks.size(); ++b) {
      if (!body_[b]) continue;
      for (uint32_t i = k_.blocks[b].first; i < k_.blocks[b].end; ++i) {
        use_def(k_, k_.ops[i], ud);
        if (std::find(ud.defs.begin(), ud.defs.end(), r.id) == ud.defs.end()) continue;
        several = found != nullptr;
        found = &k_.ops[i];
        if (several) break;
      }
    }
    *none = found == nullptr;
    return several ? nullptr : found;
  }
  bool constant(RegRef r) const {  // and not 0
    bool none = false;
    only_def(r, &none);
    return none && std::any_of(k_.consts.begin(), k_.consts.end(),
                               [&](const ConstInit& c) { return c.reg.id == r.id && c.bits != 0; });
  }
  bool steps(RegRef r) const {
    bool none = false;
    const MicroOp* op = only_def(r, &none);
    if (op == nullptr || op->kind != OpKind::Alu || op->guard) return false;
    if (op->fn != Fn::IAdd && op->fn != Fn::ISub) return false;
    return op->src[0].id == r.id && constant(op->src[1]);
  }
  bool exit_counts(const MicroOp& branch) const {
    if (branch.kind != OpKind::Bra || !branch.guard) return false;
    bool none = false;
    const MicroOp* test = only_def(branch.guard, &none);
    if (test == nullptr || test->kind != OpKind::Setp || test->combine != 0 || test->guard)
      return false;
    if (test->fn == Fn::Eq || is_float(test->type)) return false;
    for (int side = 0; side < 2; ++side) {
      const RegRef counter = test->src[static_cast<size_t>(side)];
      const RegRef bound = test->src[static_cast<size_t>(1 - side)];
      only_def(bound, &none);
      if (none && steps(counter)) return true;
    }
    return false;
  }

  const Kernel& k_;
  uint32_t head_, latch_;
  Blocks body_;
};

}  // namespace

std::vector<uint32_t> open_loop_exits(const Kernel& k) {
  std::vector<uint32_t> out;
  for (uint32_t b = 0; b < k.blocks.size(); ++b) {
    if (!reachable(k, b)) continue;
    for (uint32_t head : k.blocks[b].succ) {
      if (k.blocks[head].rpo > k.blocks[b].rpo) continue;
      const Loop loop(k, head, b);
      if (!loop.counts()) loop.decisions(&out);
    }
  }
  return out;
}

bool loops_are_closed(const Kernel& k) {
  Blocks inside(k.blocks.size(), false);
  for (uint32_t b = 0; b < k.blocks.size(); ++b) {
    if (!reachable(k, b)) continue;
    for (uint32_t head : k.blocks[b].succ) {
      if (k.blocks[head].rpo > k.blocks[b].rpo) continue;
      const Blocks body = body_of(k, head, b);
      for (uint32_t x = 0; x < k.blocks.size(); ++x)
        if (body[x]) inside[x] = true;
    }
  }
  for (uint32_t b = 0; b < k.blocks.size(); ++b) {
    if (!inside[b]) continue;
    for (uint32_t i = k.blocks[b].first; i < k.blocks[b].end; ++i) {
      const MicroOp& op = k.ops[i];
      switch (op.kind) {
        case OpKind::Ld:
        case OpKind::Atom:
          if (op.value && op.space != Space::Param) return false;
          break;
        case OpKind::Clock:
        case OpKind::LaneMask:
        case OpKind::LdSym:
        case OpKind::Shfl:
        case OpKind::Vote:
        case OpKind::Match:
        case OpKind::Redux:
        case OpKind::Elect:
        case OpKind::ClusterBar:
          return false;
        case OpKind::Bar:
          if (op.dst || op.dst2) return false;
          break;
        default:
          break;
      }
    }
  }
  return true;
}

}  // namespace assay::machine
