#include "region/waits.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "region/ptx_code.h"

namespace assay::region {

namespace {

enum class Mechanism : uint8_t { None, Group, Bulk, Wgmma, Mbar, Cta, Cluster };

struct Row {
  ptx::Op op;
  std::string_view words;
  bool waits;
  Mechanism mechanism;
};
constexpr Row kRows[] = {
#define SITE(op, words, waits, mechanism) {ptx::Op::op, words, waits, Mechanism::mechanism},
#include "region/waits.def"
#undef SITE
};

constexpr uint64_t kMaxReach = uint64_t{1} << 26;  // blocks times blocks looked at

// The object a barrier instruction names.
struct Object {
  bool known = false, has_offset = false;
  std::string symbol;
  int64_t offset = 0;
  bool operator==(const Object&) const = default;
};

struct Found {
  Row row;
  uint32_t instr = 0;
  Object object;
  int64_t pending = -1;  // of wait_group: groups that may still be under way; -1: none such
};

class Finder {
 public:
  Finder(const ptx::Module& m, const ptx::Function& f, const ptx::Cfg& cfg,
         const std::vector<int32_t>& region_of)
      : m_(m), f_(f), cfg_(cfg), region_of_(region_of), def_(f.num_regs, kNone) {}

  Waits run() {
    define();
    for (uint32_t k = 0; k < f_.body.size(); ++k) {
      const ptx::Instr& i = f_.body[k];
      for (const Row& row : kRows) {
        if (row.op != i.op || words(i).substr(0, row.words.size()) != row.words) continue;
        if (row.mechanism != Mechanism::None) add(row, k);
        break;
      }
    }
    for (const auto& [wait, site] : waits_) connect(wait, site);
    return std::move(out_);
  }

 private:
  std::string_view words(const ptx::Instr& i) const {
    if (i.suffix == ptx::kNone) return {};
    std::string_view text = m_.strings[static_cast<size_t>(i.suffix)];
    return text.substr(std::min(text.find_first_not_of('.'), text.size()));
  }

  // The only instruction that writes a register; -2: several do.
  void define() {
    ptx::DefUse du;
    for (uint32_t k = 0; k < f_.body.size(); ++k) {
      ptx::def_use(f_, f_.body[k], &du);
      for (int32_t r : du.defs) {
        int32_t& d = def_[static_cast<size_t>(r)];
        d = d == kNone ? static_cast<int32_t>(k) : -2;
      }
    }
  }

  std::string symbol_name(ptx::SymbolRef s) const {
    if (s.kind == ptx::SymbolKind::Local) return f_.locals[static_cast<size_t>(s.index)].name;
    if (s.kind == ptx::SymbolKind::Global) return m_.variables[static_cast<size_t>(s.index)].name;
    return "";
  }

  Object resolve(const ptx::Operand& o, int depth = 0) const {
    if (o.kind == ptx::OperandKind::Symbol || (o.kind == ptx::OperandKind::Mem && o.reg < 0)) {
      const std::string name = symbol_name(o.symbol);
      return {!name.empty(), true, name, o.imm};
    }
    if ((o.kind != ptx::OperandKind::Reg && o.kind != ptx::OperandKind::Mem) || o.reg < 0 ||
        depth > 32)
      return {};
    const int64_t displacement = o.kind == ptx::OperandKind::Mem ? o.imm : 0;
    const int32_t def = def_[static_cast<size_t>(o.reg)];
    if (def < 0) return {};
    const ptx::Instr& i = f_.body[static_cast<size_t>(def)];
    const auto ops = f_.operands(i);
    Object base;
    if ((i.op == ptx::Op::Mov || i.op == ptx::Op::Cvta) && ops.size() == 2) {
      base = resolve(ops[1], depth + 1);
    } else if (ptx::row(i.op).spelling == "cvt" && ops.size() == 2) {
      base = resolve(ops[1], depth + 1);
    } else if (ptx::row(i.op).spelling == "add" && ops.size() == 3) {
      base = resolve(ops[1], depth + 1);
      const bool swapped = !base.known;
      if (swapped) base = resolve(ops[2], depth + 1);
      const ptx::Operand& other = ops[swapped ? 1 : 2];
      if (other.kind == ptx::OperandKind::Imm) {
        base.offset += other.imm;
      } else {
        base.has_offset = false;
      }
    }
    if (!base.has_offset) base.offset = 0;
    base.offset += base.has_offset ? displacement : 0;
    return base;
  }

  Found describe(Row row, uint32_t k) const {
    const ptx::Instr& i = f_.body[k];
    const auto ops = f_.operands(i);
    Found found{row, k, {}, -1};
    if (i.op == ptx::Op::CpAsyncBulk && !row.waits)
      found.row.mechanism =
          words(i).find("mbarrier") != std::string_view::npos ? Mechanism::Mbar : Mechanism::Bulk;
    switch (found.row.mechanism) {
      case Mechanism::Cta: {
        // The barrier's number is the operand after the result of a reduction.
        for (const ptx::Operand& o : ops) {
          if (o.kind == ptx::OperandKind::Imm) {
            found.object = {true, true, "barrier", o.imm};
            break;
          }
        }
        break;
      }
      case Mechanism::Mbar: {
        // A bulk copy names its destination first and its barrier last.
        for (const ptx::Operand& o : ops) {
          if (o.kind == ptx::OperandKind::Mem) found.object = resolve(o);
        }
        break;
      }
      default:
        if (!found.row.waits) break;
        found.pending = 0;
        for (const ptx::Operand& o : ops) {
          if (o.kind == ptx::OperandKind::Imm) found.pending = o.imm;
        }
    }
    return found;
  }

  static std::string object_name(const Found& f) {
    const Object& o = f.object;
    if (!o.known) return "";
    if (f.row.mechanism == Mechanism::Cta) return fmt::format("barrier {}", o.offset);
    if (!o.has_offset) return fmt::format("mbarrier in {}", o.symbol);
    return fmt::format("mbarrier {}+{}", o.symbol, o.offset);
  }

  std::string what(const Found& f) const {
    const ptx::Instr& i = f_.body[f.instr];
    std::string text(ptx::row(i.op).spelling);
    const std::string_view more = words(i);
    // Enough words to tell what it does; types and shapes follow them.
    size_t end = more.find('.');
    if (i.op == ptx::Op::CpAsyncBulk && more.rfind("tensor.", 0) == 0) end = more.find('.', 7);
    if (!more.empty()) text += "." + std::string(more.substr(0, end));
    if (i.op == ptx::Op::BarSync || i.op == ptx::Op::BarrierSync) text += ".sync";
    if (i.op == ptx::Op::BarArrive || i.op == ptx::Op::BarrierArrive) text += ".arrive";
    if (f.pending >= 0 && f.row.waits) text += fmt::format(" {}", f.pending);
    return text;
  }

  uint32_t site(bool waits, const std::string& what, const std::string& object, uint32_t instr) {
    const int32_t region = region_of_[instr];
    auto [at, fresh] = site_of_.try_emplace(std::tuple(region, what, object),
                                            static_cast<uint32_t>(out_.sites.size()));
    if (fresh) {
      out_.sites.push_back({waits, what, object, f_.body[instr].line, region, {}, {}});
    }
    if (in_site_.insert(std::pair(at->second, instr)).second)
      out_.sites[at->second].body.push_back(instr);
    return at->second;
  }

  void add(const Row& row, uint32_t k) {
    const Found found = describe(row, k);
    const uint32_t s = site(row.waits, what(found), object_name(found), k);
    (row.waits ? waits_ : issues_).emplace_back(found, s);
    if (row.waits && found.row.mechanism == Mechanism::Cta) cta_waits_.emplace(k, found.object);
  }

  void edge(uint32_t wait, uint32_t issue, bool certain) {
    auto [at, fresh] = edge_of_.try_emplace(std::pair(wait, issue), out_.edges.size());
    if (fresh) {
      out_.edges.push_back({wait, issue, certain});
    } else {
      out_.edges[at->second].certain |= certain;
    }
  }

  // Blocks from which control can come to the start of `block`, itself only around a loop.
  const std::vector<bool>& before(uint32_t block) {
    auto [at, fresh] = before_.try_emplace(block);
    std::vector<bool>& seen = at->second;
    if (!fresh) return seen;
    seen.assign(cfg_.blocks.size(), false);
    if (before_.size() * cfg_.blocks.size() > kMaxReach) return seen;
    std::vector<uint32_t> todo(cfg_.blocks[block].preds);
    while (!todo.empty()) {
      const uint32_t b = todo.back();
      todo.pop_back();
      if (b >= seen.size() || seen[b]) continue;
      seen[b] = true;
      todo.insert(todo.end(), cfg_.blocks[b].preds.begin(), cfg_.blocks[b].preds.end());
    }
    return seen;
  }

  bool reaches(uint32_t from, uint32_t to) {
    const uint32_t a = cfg_.block_of[from], b = cfg_.block_of[to];
    return (a == b && from < to) || before(b)[a];
  }

  void connect(const Found& wait, uint32_t site) {
    switch (wait.row.mechanism) {
      case Mechanism::Cta:
        connect_barrier(wait, site);
        return;
      case Mechanism::Mbar:
      case Mechanism::Cluster:
        for (const auto& [issue, s] : issues_) {
          if (issue.row.mechanism != wait.row.mechanism) continue;
          const bool both = issue.object.known && wait.object.known;
          const bool exact = both && issue.object.has_offset && wait.object.has_offset;
          if (both && issue.object.symbol != wait.object.symbol) continue;
          if (exact && issue.object.offset != wait.object.offset) continue;
          edge(site, s, exact || wait.row.mechanism == Mechanism::Cluster);
        }
        return;
      default:
        for (const auto& [issue, s] : issues_) {
          if (issue.row.mechanism == wait.row.mechanism && reaches(issue.instr, wait.instr))
            edge(site, s, wait.pending == 0);
        }
    }
  }

  // A CTA's barrier waits for the other warps: for what they do in shared memory since the barrier
  // before, and for those that only arrive.
  void connect_barrier(const Found& wait, uint32_t wait_site) {
    for (const auto& [issue, s] : issues_) {
      if (issue.row.mechanism == Mechanism::Cta &&
          (!issue.object.known || !wait.object.known || issue.object == wait.object))
        edge(wait_site, s, issue.object.known && wait.object.known);
    }
    std::vector<bool> seen(cfg_.blocks.size(), false);
    std::vector<std::pair<uint32_t, uint32_t>> todo;  // block, end of what is looked at
    todo.emplace_back(cfg_.block_of[wait.instr], wait.instr);
    while (!todo.empty()) {
      const auto [b, end] = todo.back();
      todo.pop_back();
      bool open = true;
      for (uint32_t k = end; open && k-- > cfg_.blocks[b].first;) {
        const Class c = ptx_class(f_.body[k]);
        if (c == Class::SharedStore || c == Class::SharedLoad)
          edge(wait_site, site(false, c == Class::SharedStore ? "st.shared" : "ld.shared", "", k),
               true);
        open = !is_wait_on(k, wait.object);
      }
      if (!open) continue;
      for (uint32_t p : cfg_.blocks[b].preds) {
        if (seen[p]) continue;
        seen[p] = true;
        todo.emplace_back(p, cfg_.blocks[p].end);
      }
    }
  }

  bool is_wait_on(uint32_t k, const Object& object) const {
    auto at = cta_waits_.find(k);
    return at != cta_waits_.end() && at->second == object;
  }

  const ptx::Module& m_;
  const ptx::Function& f_;
  const ptx::Cfg& cfg_;
  const std::vector<int32_t>& region_of_;
  std::vector<int32_t> def_;
  std::vector<std::pair<Found, uint32_t>> waits_, issues_;  // with their sites
  std::map<uint32_t, Object> cta_waits_;                    // by instruction
  std::map<std::tuple<int32_t, std::string, std::string>, uint32_t> site_of_;
  std::set<std::pair<uint32_t, uint32_t>> in_site_;
  std::map<std::pair<uint32_t, uint32_t>, size_t> edge_of_;
  std::map<uint32_t, std::vector<bool>> before_;
  Waits out_;
};

}  // namespace

Waits find_waits(const ptx::Module& m, const ptx::Function& f, const ptx::Cfg& cfg,
                 const std::vector<int32_t>& region_of) {
  return Finder(m, f, cfg, region_of).run();
}

}  // namespace assay::region
