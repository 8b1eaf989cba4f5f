#include "region/roles.h"

#include <fmt/format.h>

#include <algorithm>

#include "region/ptx_code.h"

namespace assay::region {

namespace {

// What a register holds, as far as roles ask.
enum class Value : uint8_t {
  Unknown,
  Uniform,  // alike for all threads of the CTA: constants
  Thread,   // the thread's index
  Warp      // made of the thread's index without its lower five bits
};

constexpr int64_t kWarp = 32;
constexpr size_t kMaxDefs = 4;
constexpr int kMaxDepth = 8;  // of definitions followed: 4^8 at most

class Finder {
 public:
  Finder(const ptx::Module& m, const ptx::Function& f, const ptx::Cfg& cfg)
      : m_(m), f_(f), cfg_(cfg), defs_(f.num_regs) {}

  Roles run() {
    out_.of_block.assign(cfg_.blocks.size(), -1);
    ptx::DefUse du;
    for (uint32_t k = 0; k < f_.body.size(); ++k) {
      ptx::def_use(f_, f_.body[k], &du);
      for (int32_t r : du.defs) defs_[static_cast<size_t>(r)].push_back(k);
    }
    for (uint32_t b : cfg_.rpo) {
      const ptx::Block& block = cfg_.blocks[b];
      const ptx::Instr& last = f_.body[block.end - 1];
      if (last.op != ptx::Op::Bra || last.guard == ptx::kNone || block.succs.size() != 2 ||
          block.loop != ptx::kNone)
        continue;
      before(b);
      if (!warp_uniform(last.guard)) continue;
      side(b, block.succs[0], last, true);
      side(b, block.succs[1], last, false);
    }
    return std::move(out_);
  }

 private:
  // Blocks from which the branch that is looked at can be reached.
  void before(uint32_t block) {
    before_.assign(cfg_.blocks.size(), false);
    std::vector<uint32_t> todo = {block};
    while (!todo.empty()) {
      const uint32_t b = todo.back();
      todo.pop_back();
      if (before_[b]) continue;
      before_[b] = true;
      todo.insert(todo.end(), cfg_.blocks[b].preds.begin(), cfg_.blocks[b].preds.end());
    }
  }

  // The definitions of a register that the branch may see; nvcc uses registers again behind it.
  std::vector<uint32_t> definitions(int32_t reg) const {
    std::vector<uint32_t> out;
    for (uint32_t d : defs_[static_cast<size_t>(reg)]) {
      if (before_[cfg_.block_of[d]]) out.push_back(d);
    }
    return out;
  }

  // All definitions must agree.
  Value value(int32_t reg, int depth) const {
    const auto defs = definitions(reg);
    if (defs.empty() || defs.size() > kMaxDefs || depth > kMaxDepth) return Value::Unknown;
    const Value first = defined(defs[0], depth);
    for (uint32_t d : defs) {
      if (defined(d, depth) != first) return Value::Unknown;
    }
    return first;
  }

  Value defined(uint32_t def, int depth) const {
    const ptx::Instr& i = f_.body[def];
    const auto ops = f_.operands(i);
    if (i.guard != ptx::kNone || ops.size() < 2) return Value::Unknown;
    const std::string_view word = ptx::row(i.op).spelling;
    const Value a = value(ops[1], depth + 1);
    if (word == "mov" || word == "cvt") return a;
    // The warp's number told to all lanes by one of them.
    if (word == "shfl.sync") return a == Value::Thread || a == Value::Warp ? Value::Warp : a;
    if (ops.size() < 3) return Value::Unknown;
    const ptx::Operand& by = ops[2];
    const int64_t n = by.kind == ptx::OperandKind::Imm ? by.imm : -1;
    if (a == Value::Thread) {
      if (word == "shr" && n >= 5) return Value::Warp;
      if (word == "div" && n > 0 && n % kWarp == 0) return Value::Warp;
      if (word == "and" && by.kind == ptx::OperandKind::Imm && by.imm % kWarp == 0)
        return Value::Warp;
    }
    if (by.kind != ptx::OperandKind::Imm) return Value::Unknown;
    return a == Value::Warp || a == Value::Uniform ? a : Value::Unknown;
  }

  Value value(const ptx::Operand& o, int depth) const {
    if (o.kind == ptx::OperandKind::Imm) return Value::Uniform;
    if (o.kind == ptx::OperandKind::Special)
      return o.special == ptx::Special::Tid && o.component == 0 ? Value::Thread : Value::Unknown;
    return o.kind == ptx::OperandKind::Reg ? value(o.reg, depth) : Value::Unknown;
  }

  // A comparison of a warp's number with a constant, or of the thread's index with a multiple of 32
  // by an order that warps do not straddle.
  bool warp_uniform(int32_t predicate) const {
    const auto defs = definitions(predicate);
    if (defs.size() != 1) return false;
    const ptx::Instr& i = f_.body[defs[0]];
    if (ptx::row(i.op).spelling != "setp" || i.guard != ptx::kNone) return false;
    const auto ops = f_.operands(i);
    if (ops.size() != 3 || ops[2].kind != ptx::OperandKind::Imm) return false;
    const Value v = value(ops[1], 0);
    if (v == Value::Warp) return true;
    if (v != Value::Thread) return false;
    const std::string text = ptx::print(m_, f_, i);
    const bool below = text.find(".lt.") != text.npos || text.find(".ge.") != text.npos ||
                       text.find(".lo.") != text.npos || text.find(".hs.") != text.npos;
    return ops[2].imm % kWarp == 0 ? below
                                   : !below && (ops[2].imm + 1) % kWarp == 0 && ordered(text);
  }
  static bool ordered(const std::string& text) {
    return text.find(".gt.") != text.npos || text.find(".le.") != text.npos ||
           text.find(".hi.") != text.npos || text.find(".ls.") != text.npos;
  }

  bool dominates(uint32_t a, uint32_t b) const {
    for (int32_t k = static_cast<int32_t>(b); k >= 0;
         k = cfg_.blocks[static_cast<size_t>(k)].idom) {
      if (static_cast<uint32_t>(k) == a) return true;
      if (k == cfg_.blocks[static_cast<size_t>(k)].idom) break;
    }
    return false;
  }

  // The blocks that only this side of the branch leads to.
  void side(uint32_t branch, uint32_t first, const ptx::Instr& at, bool taken) {
    if (first >= cfg_.blocks.size() || first == cfg_.blocks[branch].ipdom) return;
    if (cfg_.blocks[first].preds.size() != 1) return;
    std::vector<uint32_t> blocks;
    bool works = false;
    std::string registers;
    for (uint32_t b : cfg_.rpo) {
      if (!dominates(first, b)) continue;
      blocks.push_back(b);
      for (uint32_t k = cfg_.blocks[b].first; k < cfg_.blocks[b].end; ++k) {
        const ptx::Instr& i = f_.body[k];
        works = works || copy_key(i) != 0;
        const auto ops = f_.operands(i);
        if (i.op == ptx::Op::Setmaxnreg && registers.empty() && !ops.empty())
          registers = fmt::format(", {} registers", ops[0].imm);
      }
    }
    if (!works) return;
    const std::string name = fmt::format("{} where {}{}", "warps", condition(at, taken), registers);
    for (uint32_t b : blocks) out_.of_block[b] = static_cast<int32_t>(out_.roles.size());
    out_.roles.push_back({name});
  }

  // "thread < 128" as the comparison says it; `taken`: where it sends those that branch.
  std::string condition(const ptx::Instr& branch, bool taken) const {
    const ptx::Instr& i = f_.body[definitions(branch.guard)[0]];
    const auto ops = f_.operands(i);
    const std::string text = ptx::print(m_, f_, i);
    // A mask leaves the index of the warp's first thread.
    const bool is_reg = ops[1].kind == ptx::OperandKind::Reg;
    const bool masked =
        is_reg && ptx::row(f_.body[definitions(ops[1].reg)[0]].op).spelling == "and";
    const char* what = value(ops[1], 0) != Value::Warp ? "thread index"
                       : masked                        ? "first thread index"
                                                       : "warp index";
    struct Word {
      const char *ptx, *yes, *no;
    };
    static constexpr Word kWords[] = {{".eq.", "=", "!="}, {".ne.", "!=", "="}, {".lt.", "<", ">="},
                                      {".le.", "<=", ">"}, {".gt.", ">", "<="}, {".ge.", ">=", "<"},
                                      {".lo.", "<", ">="}, {".ls.", "<=", ">"}, {".hi.", ">", "<="},
                                      {".hs.", ">=", "<"}};
    for (const Word& w : kWords) {
      if (text.find(w.ptx) == text.npos) continue;
      return fmt::format("{} {} {}", what, taken != branch.guard_negated ? w.yes : w.no,
                         ops[2].imm);
    }
    return fmt::format("{} decides", what);
  }

  const ptx::Module& m_;
  const ptx::Function& f_;
  const ptx::Cfg& cfg_;
  std::vector<bool> before_;
  std::vector<std::vector<uint32_t>> defs_;  // of each register
  Roles out_;
};

}  // namespace

Roles find_roles(const ptx::Module& m, const ptx::Function& f, const ptx::Cfg& cfg) {
  return Finder(m, f, cfg).run();
}

}  // namespace assay::region
