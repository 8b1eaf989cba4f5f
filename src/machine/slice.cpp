// Slices of kernels: see flow.h.
#include <algorithm>
#include <unordered_set>

#include "machine/flow.h"
#include "machine/loops.h"

namespace assay::machine {
namespace {

class Slicer {
 public:
  Slicer(const Kernel& k, const SliceOptions& o) : k_(k), options_(o) {}
  Kernel run();

 private:
  bool is_root(const MicroOp& op) const;
  void control_dependence();
  void keep(uint32_t i);
  void need(uint32_t at, RegRef r);  // the value that r has before operation `at`
  void need_in(uint32_t block, RegRef r);
  bool find_def(uint32_t first, uint32_t end, RegRef r);
  void need_address(uint32_t i);
  void need_memory(Space s);
  bool may_be(const MicroOp& op, Space s) const {
    return op.space == s || op.space == Space::Generic;
  }
  Kernel build();

  const Kernel& k_;
  const SliceOptions& options_;
  std::vector<std::vector<uint32_t>> controls_;  // block -> blocks whose ends decide it
  std::vector<UseDef> use_def_;
  std::vector<bool> kept_, valued_, block_done_;
  std::unordered_set<uint64_t> needed_in_;  // block << 32 | register
  bool memory_[3] = {};                     // contents of global, shared, local memory are needed
  std::vector<uint32_t> work_;
};

bool Slicer::is_root(const MicroOp& op) const {
  switch (op.kind) {
    case OpKind::St:
    case OpKind::Atom:
      return may_be(op, Space::Global) || (options_.shared && op.space == Space::Shared);
    case OpKind::Ld:
      if (op.space == Space::Shared) return options_.shared;
      if (op.space == Space::Generic) return options_.shared || options_.global_loads;
      return op.space == Space::Global && options_.global_loads;
    case OpKind::Bar:
    case OpKind::WarpBar:
    case OpKind::ClusterBar:
      return options_.sync;
    case OpKind::Shfl:
    case OpKind::Vote:
    case OpKind::Match:
    case OpKind::Redux:
      return options_.sync;
    case OpKind::Exit:
      return !op.guard;
    default:
      return false;
  }
}

void Slicer::control_dependence() {
  controls_.resize(k_.blocks.size());
  for (uint32_t b = 0; b < k_.blocks.size(); ++b) {
    const MicroOp& last = k_.ops[k_.blocks[b].end - 1];
    bool decides = ends_block(last) && (last.guard || last.kind == OpKind::BrxIdx);
    if (!decides) continue;
    for (uint32_t s : k_.blocks[b].succ) {
      for (uint32_t x = s; x != kNever && x != k_.blocks[b].ipdom; x = k_.blocks[x].ipdom) {
        controls_[x].push_back(b);
      }
    }
  }
}

void Slicer::keep(uint32_t i) {
  if (kept_[i]) return;
  kept_[i] = true;
  work_.push_back(i);
}

// The last operation of [first, end) that writes r, from the end; true if it always does.
bool Slicer::find_def(uint32_t first, uint32_t end, RegRef r) {
  for (uint32_t i = end; i-- > first;) {
    const std::vector<uint32_t>& defs = use_def_[i].defs;
    if (std::find(defs.begin(), defs.end(), r.id) == defs.end()) continue;
    if (!valued_[i]) {
      valued_[i] = true;
      if (kept_[i]) work_.push_back(i);  // its data is needed now, too
    }
    keep(i);
    if (!k_.ops[i].guard) return true;
  }
  return false;
}

void Slicer::need(uint32_t at, RegRef r) {
  if (!r) return;
  uint32_t b = k_.block_of[at];
  if (!find_def(k_.blocks[b].first, at, r)) need_in(b, r);
}

void Slicer::need_in(uint32_t block, RegRef r) {
  std::vector<uint32_t> stack{block};
  while (!stack.empty()) {
    uint32_t b = stack.back();
    stack.pop_back();
    if (!needed_in_.insert(uint64_t{b} << 32 | r.id).second) continue;
    for (uint32_t p : k_.blocks[b].pred) {
      if (k_.blocks[p].rpo == kNever) continue;
      if (!find_def(k_.blocks[p].first, k_.blocks[p].end, r)) stack.push_back(p);
    }
  }
}

// Something reads this memory: what is stored there is needed.
void Slicer::need_memory(Space s) {
  auto mark = [&](Space x, int index) {
    if ((s != x && s != Space::Generic) || memory_[index]) return;
    memory_[index] = true;
    for (uint32_t i = 0; i < k_.ops.size(); ++i) {
      const MicroOp& op = k_.ops[i];
      if ((op.kind != OpKind::St && op.kind != OpKind::Atom) || !may_be(op, x)) continue;
      valued_[i] = true;
      if (kept_[i]) work_.push_back(i);
      keep(i);
    }
  };
  mark(Space::Global, 0);
  mark(Space::Shared, 1);
  mark(Space::Local, 2);
}

Kernel Slicer::run() {
  size_t n = k_.ops.size();
  kept_.assign(n, false);
  valued_.assign(n, false);
  block_done_.assign(k_.blocks.size(), false);
  control_dependence();
  use_def_.resize(n);
  for (uint32_t i = 0; i < n; ++i) use_def(k_, k_.ops[i], use_def_[i]);
  for (uint32_t i = 0; i < n; ++i) {
    if (is_root(k_.ops[i]) && k_.blocks[k_.block_of[i]].rpo != kNever) keep(i);
  }
  if (options_.loops)
    for (uint32_t i : open_loop_exits(k_)) keep(i);
  while (!work_.empty()) {
    uint32_t i = work_.back();
    work_.pop_back();
    const MicroOp& op = k_.ops[i];
    uint32_t b = k_.block_of[i];
    if (!block_done_[b]) {
      block_done_[b] = true;
      for (uint32_t c : controls_[b]) keep(k_.blocks[c].end - 1);
    }
    need(i, op.guard);
    bool memory = op.kind == OpKind::Ld || op.kind == OpKind::St || op.kind == OpKind::Atom;
    if (memory) {
      if (op.num_src) need(i, op.src[0]);
      if (!valued_[i]) continue;
      if (op.kind == OpKind::Ld) need_memory(op.space);
      if (op.kind == OpKind::St) {
        for (uint32_t e = 0; e < op.vec; ++e) need(i, k_.vecs[op.vecs + e]);
      }
      if (op.kind == OpKind::Atom) {
        need_memory(op.space);
        for (size_t s = 1; s < op.num_src; ++s) need(i, op.src[s]);
      }
      continue;
    }
    bool warp_op = op.kind >= OpKind::Shfl && op.kind <= OpKind::Redux;
    if (warp_op && !valued_[i]) {
      need(i, op.src[op.kind == OpKind::Shfl ? 3 : 1]);
      continue;
    }
    for (uint32_t r : use_def_[i].uses) need(i, RegRef{k_.regs[r].off, r});
  }
  return build();
}

Kernel Slicer::build() {
  Kernel out = k_;
  std::vector<MicroOp> ops;
  std::vector<uint32_t> place(k_.ops.size() + 1, 0);  // first kept operation from here on
  uint32_t skipped = 0;
  for (uint32_t i = 0; i < k_.ops.size(); ++i) {
    MicroOp op = k_.ops[i];
    if (op.top) skipped = 0;
    place[i] = static_cast<uint32_t>(ops.size());
    bool keep_it = kept_[i];
    if (!keep_it && ends_block(op)) {
      const Block& block = k_.blocks[k_.block_of[i]];
      bool plain_jump = op.kind == OpKind::Bra && !op.guard;
      if (!plain_jump) {  // decides nothing that is kept
        if (block.ipdom == kNever) {
          op = MicroOp{};
          op.kind = OpKind::Exit;
        } else {
          uint32_t target = k_.blocks[block.ipdom].first;
          op = MicroOp{};
          op.kind = OpKind::Bra;
          op.target = target;
        }
        op.pc = k_.ops[i].pc;
      }
      keep_it = true;
    }
    if (!keep_it) {
      skipped += op.weight;
      continue;
    }
    op.weight += skipped;
    skipped = 0;
    op.top = op.pure = false;
    bool memory = op.kind == OpKind::Ld || op.kind == OpKind::St || op.kind == OpKind::Atom;
    if (memory) op.value = valued_[i];
    if (op.kind == OpKind::Atom && !op.value) op.dst = {};
    bool warp_op = op.kind >= OpKind::Shfl && op.kind <= OpKind::Redux;
    if (warp_op && !valued_[i]) {
      RegRef members = op.src[op.kind == OpKind::Shfl ? 3 : 1];
      op.kind = OpKind::SyncPoint;
      op.dst = op.dst2 = {};
      op.src = {members, {}, {}, {}};
      op.num_src = 1;
    }
    ops.push_back(op);
  }
  place[k_.ops.size()] = static_cast<uint32_t>(ops.size());
  for (MicroOp& op : ops) {
    if (op.kind == OpKind::Bra) op.target = place[op.target];
  }
  for (uint32_t& t : out.targets) t = place[t];
  // Jumps to the next operation.
  std::vector<uint32_t> moved(ops.size() + 1, 0);
  std::vector<MicroOp> dense;
  uint32_t weight = 0;
  for (uint32_t i = 0; i < ops.size(); ++i) {
    moved[i] = static_cast<uint32_t>(dense.size());
    if (ops[i].kind == OpKind::Bra && ops[i].target == i + 1 && !ops[i].guard) {
      weight += ops[i].weight;
      continue;
    }
    ops[i].weight += weight;
    weight = 0;
    dense.push_back(ops[i]);
  }
  moved[ops.size()] = static_cast<uint32_t>(dense.size());
  for (MicroOp& op : dense) {
    if (op.kind == OpKind::Bra) op.target = moved[op.target];
  }
  for (uint32_t& t : out.targets) t = moved[t];
  out.ops = std::move(dense);
  out.blocks.clear();
  analyse(out, false);
  return out;
}

}  // namespace

Kernel slice(const Kernel& k, const SliceOptions& options) { return Slicer(k, options).run(); }

}  // namespace assay::machine
