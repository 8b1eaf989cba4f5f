#include "ptx/cfg.h"

#include <algorithm>
#include <numeric>

#include "ptx/dominators.h"
#include "ptx/form.h"

namespace assay::ptx {
namespace {

bool ends_block(Op op) { return op == Op::Bra || op == Op::Brx || is_terminator(op); }

class Builder {
 public:
  explicit Builder(const Function& f) : f_(f) {}

  Cfg run() {
    if (f_.body.empty()) return std::move(cfg_);
    cut();
    link();
    order();
    dominate();
    find_loops();
    return std::move(cfg_);
  }

 private:
  void cut() {
    const auto n = static_cast<uint32_t>(f_.body.size());
    std::vector<bool> leader(n + 1, false);
    leader[0] = true;
    for (const Label& l : f_.labels) leader[std::min(l.target, n)] = true;
    for (uint32_t k = 0; k < n; ++k) {
      if (ends_block(f_.body[k].op)) leader[k + 1] = true;
    }
    cfg_.block_of.resize(n);
    for (uint32_t k = 0; k < n; ++k) {
      if (leader[k]) {
        cfg_.blocks.emplace_back();
        cfg_.blocks.back().first = k;
      }
      cfg_.blocks.back().end = k + 1;
      cfg_.block_of[k] = static_cast<uint32_t>(cfg_.blocks.size() - 1);
    }
  }

  uint32_t block_at(uint32_t instr) const {
    return instr < f_.body.size() ? cfg_.block_of[instr] : cfg_.exit();
  }

  void link() {
    std::vector<int64_t> seen(cfg_.blocks.size() + 1, -1);  // by which block, against duplicates
    for (uint32_t b = 0; b < cfg_.blocks.size(); ++b) {
      Block& block = cfg_.blocks[b];
      const auto add = [&](uint32_t to) {
        if (seen[to] == b) return;
        seen[to] = b;
        block.succs.push_back(to);
      };
      const Instr& last = f_.body[block.end - 1];
      const bool guarded = last.guard != kNone;
      const auto operands = f_.operands(last);
      const auto go = [&](SymbolRef label) {
        if (label.index < 0) return;
        add(block_at(f_.labels[static_cast<size_t>(label.index)].target));
      };
      if (last.op == Op::Bra) {
        go(operands[0].symbol);
      } else if (last.op == Op::Brx) {
        const auto list = static_cast<size_t>(operands[1].symbol.index);
        for (SymbolRef target : f_.target_lists[list].targets) go(target);
      } else if (is_terminator(last.op)) {
        add(cfg_.exit());
      }
      if (guarded || !ends_block(last.op)) add(block_at(block.end));
    }
    for (uint32_t b = 0; b < cfg_.blocks.size(); ++b) {
      for (uint32_t s : cfg_.blocks[b].succs) {
        if (s != cfg_.exit()) cfg_.blocks[s].preds.push_back(b);
      }
    }
  }

  void order() {
    std::vector<std::pair<uint32_t, size_t>> stack{{0, 0}};
    cfg_.blocks[0].reachable = true;
    while (!stack.empty()) {
      auto& [b, next] = stack.back();
      if (next == cfg_.blocks[b].succs.size()) {
        cfg_.rpo.push_back(b);
        stack.pop_back();
        continue;
      }
      const uint32_t s = cfg_.blocks[b].succs[next++];
      if (s == cfg_.exit() || cfg_.blocks[s].reachable) continue;
      cfg_.blocks[s].reachable = true;
      stack.emplace_back(s, 0);
    }
    std::reverse(cfg_.rpo.begin(), cfg_.rpo.end());
  }

  void dominate() {
    const size_t n = cfg_.blocks.size();
    std::vector<std::vector<uint32_t>> succs(n + 1), preds(n + 1);
    for (uint32_t b = 0; b < n; ++b) {
      succs[b] = cfg_.blocks[b].succs;
      for (uint32_t s : succs[b]) preds[s].push_back(b);
    }
    const auto idom = dominators(succs, 0);
    const auto ipdom = dominators(preds, cfg_.exit());
    for (uint32_t b = 0; b < n; ++b) {
      cfg_.blocks[b].idom = idom[b];
      cfg_.blocks[b].ipdom = ipdom[b] < 0 ? cfg_.exit() : static_cast<uint32_t>(ipdom[b]);
    }
  }

  // Loops from inner to outer headers (reverse of rpo), each loop found so far standing as its
  // header (Tarjan's loop forest).
  void find_loops() {
    const size_t n = cfg_.blocks.size();
    number_dominator_tree();
    head_.resize(n);
    std::iota(head_.begin(), head_.end(), 0u);
    std::vector<int32_t> loop_of_header(n, kNone);
    std::vector<uint32_t> position(n, 0);
    for (uint32_t k = 0; k < cfg_.rpo.size(); ++k) position[cfg_.rpo[k]] = k;
    for (auto it = cfg_.rpo.rbegin(); it != cfg_.rpo.rend(); ++it) {
      const uint32_t h = *it;
      Loop loop;
      loop.header = h;
      for (uint32_t p : cfg_.blocks[h].preds) {
        if (!cfg_.blocks[p].reachable) continue;
        if (dominates(h, p)) {
          loop.latches.push_back(p);
        } else if (position[p] >= position[h]) {
          cfg_.reducible = false;  // an edge back to a block that does not dominate
        }
      }
      if (loop.latches.empty()) continue;
      collect(loop, static_cast<int32_t>(cfg_.loops.size()), &loop_of_header);
      cfg_.loops.push_back(std::move(loop));
    }
    outer_first();
  }

  void collect(const Loop& loop, int32_t index, std::vector<int32_t>* loop_of_header) {
    const uint32_t h = loop.header;
    std::vector<uint32_t> work;
    for (uint32_t p : loop.latches) work.push_back(find(p));
    cfg_.blocks[h].loop = index;
    while (!work.empty()) {
      const uint32_t b = find(work.back());
      work.pop_back();
      if (b == h) continue;
      if (const int32_t inner = (*loop_of_header)[b]; inner != kNone) {
        cfg_.loops[static_cast<size_t>(inner)].parent = index;
      } else {
        cfg_.blocks[b].loop = index;
      }
      head_[b] = h;
      for (uint32_t p : cfg_.blocks[b].preds) {
        // Entries of an irreducible cycle lie outside the header's dominance: they are no part of
        // it.
        if (cfg_.blocks[p].reachable && dominates(h, p)) work.push_back(find(p));
      }
    }
    (*loop_of_header)[h] = index;
  }

  // Reverses the order, so that parents come first, and sets depths.
  void outer_first() {
    const auto n = static_cast<int32_t>(cfg_.loops.size());
    std::reverse(cfg_.loops.begin(), cfg_.loops.end());
    for (Block& b : cfg_.blocks) {
      if (b.loop != kNone) b.loop = n - 1 - b.loop;
    }
    for (Loop& l : cfg_.loops) {
      if (l.parent == kNone) continue;
      l.parent = n - 1 - l.parent;
      l.depth = cfg_.loops[static_cast<size_t>(l.parent)].depth + 1;
    }
  }

  uint32_t find(uint32_t b) {
    uint32_t root = b;
    while (head_[root] != root) root = head_[root];
    while (head_[b] != root) b = std::exchange(head_[b], root);
    return root;
  }

  void number_dominator_tree() {
    const size_t n = cfg_.blocks.size();
    std::vector<std::vector<uint32_t>> children(n);
    for (uint32_t b = 0; b < n; ++b) {
      if (cfg_.blocks[b].idom != kNone) {
        children[static_cast<size_t>(cfg_.blocks[b].idom)].push_back(b);
      }
    }
    enter_.assign(n, 0);
    leave_.assign(n, 0);
    uint32_t clock = 0;
    std::vector<std::pair<uint32_t, size_t>> stack{{0, 0}};
    enter_[0] = ++clock;
    while (!stack.empty()) {
      auto& [b, next] = stack.back();
      if (next == children[b].size()) {
        leave_[b] = ++clock;
        stack.pop_back();
        continue;
      }
      const uint32_t c = children[b][next++];
      enter_[c] = ++clock;
      stack.emplace_back(c, 0);
    }
  }

  bool dominates(uint32_t a, uint32_t b) const {
    return enter_[a] <= enter_[b] && leave_[b] <= leave_[a];
  }

  const Function& f_;
  Cfg cfg_;
  std::vector<uint32_t> head_, enter_, leave_;
};

// Adds the registers of an operand: those it writes to defs if `def`, all it reads to uses.
void add_operand(const Function& f, const Operand& o, bool def, bool use, DefUse* out) {
  const auto add = [&](int32_t reg, bool is_def, bool is_use) {
    if (reg == kNone) return;
    if (is_def) out->defs.push_back(reg);
    if (is_use) out->uses.push_back(reg);
  };
  if (o.kind == OperandKind::Mem) {
    add(o.reg, false, true);
    for (const Operand& e : f.elements(o)) add_operand(f, e, false, true, out);
    return;
  }
  if (o.kind == OperandKind::Reg || o.kind == OperandKind::Pair) {
    add(o.reg, def, use);
    add(o.reg2, def, use);
  }
  for (const Operand& e : f.elements(o)) add_operand(f, e, def, use, out);
}

}  // namespace

bool is_terminator(Op op) { return op == Op::Ret || op == Op::Exit || op == Op::Trap; }

Cfg build_cfg(const Function& f) { return Builder(f).run(); }

bool Cfg::in_loop(uint32_t block, int32_t loop) const {
  for (int32_t l = blocks[block].loop; l != kNone; l = loops[static_cast<size_t>(l)].parent) {
    if (l == loop) return true;
  }
  return false;
}

uint32_t Cfg::reconvergence(uint32_t instr) const {
  const uint32_t b = blocks[block_of[instr]].ipdom;
  return b == exit() ? static_cast<uint32_t>(block_of.size()) : blocks[b].first;
}

void def_use(const Function& f, const Instr& i, DefUse* out) {
  out->defs.clear();
  out->uses.clear();
  const Row& r = compiled(i.op);
  const auto operands = f.operands(i);
  if (i.guard != kNone) out->uses.push_back(i.guard);
  const bool chain = i.op == Op::Addc || i.op == Op::Subc || i.op == Op::Madc;
  out->reads_carry = chain;
  out->writes_carry = i.mods.cc();
  if (i.op == Op::Call) {
    add_operand(f, operands[0], true, false, out);
    for (size_t k = 1; k < operands.size(); ++k) add_operand(f, operands[k], false, true, out);
    return;
  }
  if (r.free_operands) {
    for (size_t k = 0; k < operands.size(); ++k) add_operand(f, operands[k], k == 0, true, out);
    return;
  }
  std::vector<const Shape*> positions;
  assign_positions(r, i.mods, i.num_operands, &positions);
  for (size_t k = 0; k < operands.size() && k < positions.size(); ++k) {
    add_operand(f, operands[k], positions[k]->def, !positions[k]->def, out);
  }
}

}  // namespace assay::ptx
