#include "region/build.h"

#include <fmt/format.h>

#include <algorithm>

#include "elf/lines.h"
#include "region/ptx_code.h"
#include "region/roles.h"
#include "region/source.h"
#include "region/tree.h"
#include "region/waits.h"

namespace assay::region {

namespace {

struct Tables {
  elf::LineTable source, ptx;
};

Chain row_chain(const elf::LineTable& table, const elf::LineTable::Found& found) {
  Chain chain;
  const elf::LineRow* row = found.row;
  while (row != nullptr && row->line != 0) {
    chain.push_back({table.files[row->file], row->line, row->column, row->function});
    // Call sites are earlier rows, so this ends.
    row = row->called_at < 0 ? nullptr : &found.sequence->rows[static_cast<size_t>(row->called_at)];
  }
  return chain;
}

bool same_place(const Frame& a, const Frame& b) { return a.line == b.line && a.file == b.file; }

bool same_calls(const Chain& a, const Chain& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same_place);
}

class FunctionBuilder {
 public:
  FunctionBuilder(const BuildInput& input, const Tables& tables, const elf::CubinFunction& f)
      : in_(input), tables_(tables), tree_(&out_) {
    out_.resources = f;
    out_.name = demangle(f.name);
    // A function that a kernel calls is placed behind it, as $kernel$function.
    if (in_.ptx != nullptr) ptx_ = in_.ptx->find_function(f.name);
    const std::string own = f.name.substr(f.name.find_last_of('$') + 1);
    if (in_.ptx != nullptr && ptx_ == nullptr) ptx_ = in_.ptx->find_function(own);
    if (own != f.name) {
      std::string caller = f.name.substr(0, f.name.size() - own.size() - 1);
      caller = caller.substr(std::min(caller.find_first_not_of('$'), caller.size()));
      // Helpers of ptxas stand in every kernel that divides.
      out_.name =
          demangle(own) + (caller.rfind("__internal", 0) == 0 ? "" : " in " + demangle(caller));
    }
    if (ptx_ != nullptr && (!ptx_->defined || ptx_->body.empty())) ptx_ = nullptr;
    if (ptx_ != nullptr) cfg_ = ptx::build_cfg(*ptx_);
    out_.has_ptx = ptx_ != nullptr;
  }

  KernelMap run(Sources* sources) {
    tree_.intern(Kind::Function, kNone, function_place());
    read_code();
    if (ptx_ != nullptr) {
      repair_tensor();
      place_ptx();
    } else {
      loops_of_code();
    }
    mark_moved();
    place_code();
    if (in_.sass == nullptr && ptx_ != nullptr) count_ptx();
    tree_.finish(sources);
    if (ptx_ != nullptr) waits();
    return std::move(out_);
  }

 private:
  Frame function_place() const {
    if (ptx_ != nullptr) {
      const Chain chain = ptx_chain(*in_.ptx, ptx_->body.front());
      if (!chain.empty()) return {chain.back().file, chain.back().line, 0, ""};
    }
    const auto found = tables_.source.find(out_.resources.section, out_.resources.offset);
    if (found.row == nullptr) return {};
    // The first instruction may be inlined code: the outermost frame is the function's.
    Frame f = row_chain(tables_.source, found).back();
    return {f.file, f.line, 0, ""};
  }

  // The disassembler lists a section under one of its functions.
  const SassFunction* sass() const {
    if (in_.sass == nullptr) return nullptr;
    for (const elf::CubinFunction& f : in_.cubin->functions) {
      if (f.section != out_.resources.section) continue;
      for (const SassFunction& s : in_.sass->functions) {
        if (s.name == f.name && s.offset <= out_.resources.offset) return &s;
      }
    }
    return nullptr;
  }

  // Functions that a kernel calls lie inside its own range.
  bool is_nested(uint64_t at) const {
    const elf::CubinFunction& own = out_.resources;
    for (const elf::CubinFunction& f : in_.cubin->functions) {
      if (f.section == own.section && f.symbol != own.symbol && f.offset > own.offset &&
          at >= f.offset && at < f.offset + f.size)
        return true;
    }
    return false;
  }

  void read_code() {
    const SassFunction* s = sass();
    const uint64_t count = out_.resources.size / kSassBytes;
    chains_.resize(count);
    for (uint64_t k = 0; k < count; ++k) {
      Instr i;
      i.offset = k * kSassBytes;
      const uint64_t at = out_.resources.offset + i.offset;
      const uint64_t listed = s == nullptr ? 0 : (at - s->offset) / kSassBytes;
      if (s != nullptr && listed < s->code.size()) {
        i.sass = s->code[listed];
        i.cls = i.sass.predicate == "@!PT" ? Class::Dummy : sass_class(i.sass.opcode);
        i.bytes = access_bytes(i.sass.opcode);
        if (i.sass.target >= 0) i.sass.target -= static_cast<int64_t>(out_.resources.offset);
      }
      if (i.sass.padding || is_nested(at)) i.flags |= kPadding;
      chains_[k] = row_chain(tables_.source, tables_.source.find(out_.resources.section, at));
      if (const auto* row = tables_.ptx.find(out_.resources.section, at).row; row != nullptr)
        i.ptx_line = row->line;
      if (ptx_ != nullptr) i.ptx = ptx_at(i.ptx_line);
      out_.code.push_back(std::move(i));
    }
  }

  // The instruction whose text holds that line; kNone: none in this function.
  int32_t ptx_at(uint32_t line) const {
    const auto& body = ptx_->body;
    if (line < body.front().line) return kNone;
    auto next = std::upper_bound(body.begin(), body.end(), line,
                                 [](uint32_t l, const ptx::Instr& i) { return l < i.line; });
    const auto k = static_cast<int32_t>(next - body.begin()) - 1;
    // Behind the last instruction only its own line counts.
    return next == body.end() && line != body.back().line ? kNone : k;
  }

  // The operation itself: not its fences, commits and waits.
  bool is_wgmma(const ptx::Instr& i) const {
    return i.op == ptx::Op::Wgmma && i.suffix != ptx::kNone &&
           in_.ptx->strings[static_cast<size_t>(i.suffix)].find("mma_async") != std::string::npos;
  }

  // The assembler's table is often wrong for tensor operations, never for their order: where PTX
  // and machine code have equally many, they are matched by it.
  void repair_tensor() {
    std::vector<int32_t> ptx;
    for (size_t k = 0; k < ptx_->body.size(); ++k) {
      if (is_wgmma(ptx_->body[k])) ptx.push_back(static_cast<int32_t>(k));
    }
    std::vector<Instr*> code;
    for (Instr& i : out_.code) {
      if (i.sass.opcode.find("GMMA") != std::string::npos) code.push_back(&i);
    }
    if (ptx.empty() || code.size() % ptx.size() != 0) return;
    // One wgmma may be several machine instructions.
    const size_t each = code.size() / ptx.size();
    for (size_t k = 0; k < code.size(); ++k) {
      const int32_t right = ptx[k / each];
      if (code[k]->ptx == right) continue;
      code[k]->ptx = right;
      code[k]->ptx_line = ptx_->body[static_cast<size_t>(right)].line;
      code[k]->flags |= kRepaired;
      const Chain chain = ptx_chain(*in_.ptx, ptx_->body[static_cast<size_t>(right)]);
      if (!chain.empty()) chains_[code[k]->offset / kSassBytes] = chain;
    }
  }

  // Source chain of a PTX instruction: by `.loc`, else by the machine instructions it became.
  void chains_of_ptx() {
    ptx_chains_.resize(ptx_->body.size());
    for (size_t k = 0; k < ptx_->body.size(); ++k)
      ptx_chains_[k] = ptx_chain(*in_.ptx, ptx_->body[k]);
    for (size_t k = 0; k < out_.code.size(); ++k) {
      const int32_t p = out_.code[k].ptx;
      if (p != kNone && ptx_->body[static_cast<size_t>(p)].loc == ptx::kNone &&
          ptx_chains_[static_cast<size_t>(p)].empty())
        ptx_chains_[static_cast<size_t>(p)] = chains_[k];
    }
  }

  // The statement that a loop is made of: where its back edge branches, else where it begins.
  Frame loop_place(const ptx::Loop& loop) const {
    for (uint32_t latch : loop.latches) {
      const Chain& c = ptx_chains_[cfg_.blocks[latch].end - 1];
      if (!c.empty()) return c.front();
    }
    for (uint32_t k = cfg_.blocks[loop.header].first; k < cfg_.blocks[loop.header].end; ++k) {
      if (!ptx_chains_[k].empty()) return ptx_chains_[k].front();
    }
    return {};
  }

  void place_ptx() {
    chains_of_ptx();
    const Roles roles = find_roles(*in_.ptx, *ptx_, cfg_);
    std::vector<int32_t> role_regions;
    for (const Role& r : roles.roles)
      role_regions.push_back(tree_.intern(Kind::Role, 0, {}, r.name));
    const auto outside = [&](uint32_t block) {
      const int32_t role = roles.of_block[block];
      return role == kNone ? 0 : role_regions[static_cast<size_t>(role)];
    };
    for (const ptx::Loop& loop : cfg_.loops) {  // outer before inner
      const int32_t parent = loop.parent == ptx::kNone
                                 ? outside(loop.header)
                                 : loop_regions_[static_cast<size_t>(loop.parent)];
      Frame at = loop_place(loop);
      at.column = 0;
      at.function.clear();
      loop_regions_.push_back(tree_.intern(
          Kind::Loop, parent, at,
          at.line == 0 ? fmt::format("PTX line {}", header_line(loop)) : std::string()));
    }
    for (uint32_t b = 0; b < cfg_.blocks.size(); ++b) {
      const int32_t loop = cfg_.blocks[b].loop;
      block_regions_.push_back(loop == ptx::kNone ? outside(b)
                                                  : loop_regions_[static_cast<size_t>(loop)]);
    }
    find_copies();
  }

  uint32_t header_line(const ptx::Loop& loop) const {
    return ptx_->body[cfg_.blocks[loop.header].first].line;
  }
  uint32_t loop_line(uint32_t block) const {
    const int32_t loop = cfg_.blocks[block].loop;
    return loop == ptx::kNone ? 0 : header_line(cfg_.loops[static_cast<size_t>(loop)]);
  }

  int32_t line_region(int32_t parent, const Chain& chain) {
    if (chain.empty()) return parent;
    Frame at = chain.front();
    at.column = 0;
    at.function.clear();
    const Region& p = out_.regions[static_cast<size_t>(parent)];
    // A loop's own statement is the loop, and the function's first line the function.
    if (p.at.line == at.line && p.at.file == at.file) return parent;
    return tree_.intern(Kind::Line, parent, at);
  }

  static Chain rest(const Chain& chain) {
    return chain.size() < 2 ? Chain{} : Chain(chain.begin() + 1, chain.end());
  }

  // How often the code of a statement repeats: unrolling made copies of it, with all that it calls.
  void find_copies() {
    copies_.assign(ptx_->body.size(), 0);
    // By loop, and by the statement of the function itself that the code belongs to.
    std::map<std::tuple<int32_t, uint32_t, uint32_t>, std::vector<uint32_t>> groups;
    for (uint32_t k = 0; k < ptx_->body.size(); ++k) {
      const uint32_t b = cfg_.block_of[k];
      ptx_regions_.push_back(line_region(block_regions_[b], ptx_chains_[k]));
      if (!ptx_chains_[k].empty())
        groups[{block_regions_[b], loop_line(b), ptx_chains_[k].back().line}].push_back(k);
    }
    std::map<std::pair<int32_t, uint32_t>, uint32_t> sure;  // most copies of a statement, by loop
    std::vector<CopyKeys> keys;
    std::vector<uint32_t> counts;
    for (const auto& [key, members] : groups) {
      CopyKeys own;
      for (uint32_t k : members) {
        const uint64_t op = copy_key(ptx_->body[k]);
        own.push_back(op == 0 ? 0 : op * 1021 + ptx_chains_[k].front().line);
      }
      counts.push_back(count_copies(own));
      uint32_t& most = sure[{std::get<0>(key), std::get<1>(key)}];
      most = std::max(most, counts.back());
      keys.push_back(std::move(own));
    }
    size_t at = 0;
    for (const auto& [key, members] : groups) {
      // A single kind of operation says little alone, but fits the other statements of its loop.
      if (counts[at] == 1)
        counts[at] = fitting_copies(keys[at], sure[{std::get<0>(key), std::get<1>(key)}]);
      const auto copies = assign_copies(keys[at], counts[at]);
      for (size_t k = 0; k < members.size(); ++k) copies_[members[k]] = copies[k];
      ++at;
    }
  }

  // Without PTX: loops of the machine code, by their address ranges.
  void loops_of_code() {
    code_regions_.assign(out_.code.size(), 0);
    const auto loops = code_loops(all_sass());
    std::vector<int32_t> regions;
    for (const CodeLoop& l : loops) {
      const int32_t parent = l.parent < 0 ? 0 : regions[static_cast<size_t>(l.parent)];
      const Chain& c = chains_[l.last];
      Frame at = c.empty() ? Frame{} : c.front();
      at.column = 0;
      at.function.clear();
      const std::string name = c.empty() ? fmt::format("bytes {:#x} to {:#x}", l.first * kSassBytes,
                                                       (l.last + 1) * kSassBytes)
                                         : "";
      regions.push_back(tree_.intern(Kind::Loop, parent, at, name));
      for (size_t k = l.first; k <= l.last; ++k) code_regions_[k] = regions.back();
    }
  }

  std::vector<Sass> all_sass() const {
    std::vector<Sass> all;
    for (const Instr& i : out_.code) all.push_back(i.sass);
    return all;
  }

  // An instruction of a loop that stands less deep in loops of the machine code than others of the
  // same loop was moved out of it, or belongs to what remains when it was unrolled.
  void mark_moved() {
    if (ptx_ == nullptr || sass() == nullptr) return;
    const std::vector<uint32_t> depths = loop_depths(all_sass());
    std::map<int32_t, uint32_t> deepest;  // by innermost loop of the PTX
    const auto loop_of = [&](const Instr& i) {
      return i.ptx == kNone ? ptx::kNone
                            : cfg_.blocks[cfg_.block_of[static_cast<size_t>(i.ptx)]].loop;
    };
    for (size_t k = 0; k < out_.code.size(); ++k) {
      const int32_t loop = loop_of(out_.code[k]);
      if (loop != ptx::kNone) deepest[loop] = std::max(deepest[loop], depths[k]);
    }
    for (size_t k = 0; k < out_.code.size(); ++k) {
      const int32_t loop = loop_of(out_.code[k]);
      if (loop == ptx::kNone) continue;
      const ptx::Loop& l = cfg_.loops[static_cast<size_t>(loop)];
      if (depths[k] < std::min(deepest[loop], l.depth)) out_.code[k].flags |= kMoved;
      // No deeper than the loop around it: the machine code has no such loop.
      if (deepest[loop] < l.depth)
        out_.regions[static_cast<size_t>(loop_regions_[static_cast<size_t>(loop)])].assembled_away =
            true;
    }
  }

  void place_code() {
    for (size_t k = 0; k < out_.code.size(); ++k) {
      Instr& i = out_.code[k];
      Chain chain = chains_[k];
      Instance instance;
      int32_t parent = ptx_ == nullptr ? code_regions_[k] : 0;
      if (i.ptx != kNone) {
        const auto p = static_cast<size_t>(i.ptx);
        const uint32_t block = cfg_.block_of[p];
        const Chain& own = ptx_chains_[p];
        parent = block_regions_[block];
        instance.loop_ptx = loop_line(block);
        instance.copy = copies_[p];
        if (chain.empty()) chain = own;
        if (!own.empty() && !same_place(own[0], chain[0])) {
          i.flags |= kConflict;
        } else if (ptx_->body[p].loc != ptx::kNone && !own.empty() && !same_calls(own, chain)) {
          // ptxas forgets a new call site where the line stays the same.
          chain = own;
          i.flags |= kRepaired;
        }
      } else if (ptx_ != nullptr) {
        i.flags |= kNoPtx;
      }
      if (chain.empty()) i.flags |= kNoSource;
      if (i.ptx == kNone && ptx_ == nullptr) i.flags |= kNoPtx;
      i.region = line_region(parent, chain);
      instance.called_at = rest(chain);
      i.instance = tree_.instance(i.region, instance);
    }
  }

  // Without a disassembler the evidence is that of the PTX; the machine instructions, of which only
  // the number is known, stay out of the counts.
  void count_ptx() {
    for (Instr& i : out_.code) i.flags |= kPadding;
    for (uint32_t k = 0; k < ptx_->body.size(); ++k) {
      Instr i;
      i.cls = ptx_class(ptx_->body[k]);
      if (ptx_->body[k].op == ptx::Op::Wgmma && !is_wgmma(ptx_->body[k])) i.cls = Class::Barrier;
      i.bytes = ptx_access_bytes(*ptx_, ptx_->body[k]);
      i.sass.opcode = ptx::row(ptx_->body[k].op).spelling;
      if (ptx_chains_[k].empty()) i.flags |= kNoSource;
      out_.regions[static_cast<size_t>(ptx_regions_[k])].own.add(i);
    }
  }

  void waits() {
    Waits w = find_waits(*in_.ptx, *ptx_, cfg_, ptx_regions_);
    std::map<int32_t, std::vector<uint64_t>> offsets;
    for (const Instr& i : out_.code) {
      if (i.ptx != kNone) offsets[i.ptx].push_back(i.offset);
    }
    for (Site& s : w.sites) {
      for (uint32_t k : s.body) {
        const auto& of = offsets[static_cast<int32_t>(k)];
        s.offsets.insert(s.offsets.end(), of.begin(), of.end());
      }
      std::sort(s.offsets.begin(), s.offsets.end());
    }
    out_.sites = std::move(w.sites);
    out_.edges = std::move(w.edges);
  }

  const BuildInput& in_;
  const Tables& tables_;
  KernelMap out_;
  Tree tree_;
  const ptx::Function* ptx_ = nullptr;
  ptx::Cfg cfg_;
  std::vector<Chain> chains_;          // of machine instructions, by .debug_line
  std::vector<Chain> ptx_chains_;      // of PTX instructions
  std::vector<uint32_t> copies_;       // of PTX instructions
  std::vector<int32_t> ptx_regions_;   // of PTX instructions
  std::vector<int32_t> loop_regions_;  // of Cfg::loops
  std::vector<int32_t> block_regions_;
  std::vector<int32_t> code_regions_;  // of machine instructions, without PTX
};

}  // namespace

Result<RegionMap> build_map(const BuildInput& input) {
  Tables tables;
  ASSAY_TRY(tables.source, elf::read_lines(*input.cubin, ".debug_line", input.file));
  ASSAY_TRY(tables.ptx, elf::read_lines(*input.cubin, ".nv_debug_line_sass", input.file));
  RegionMap map;
  map.arch = input.cubin->sm == 0 ? "" : fmt::format("sm_{}", input.cubin->sm);
  map.assembler = input.cubin->assembler;
  if (input.sass != nullptr) map.disassembler = input.sass->producer;
  if (tables.source.sequences.empty())
    map.missing.push_back("source lines: the cubin has no .debug_line (compile with -lineinfo)");
  if (tables.ptx.sequences.empty())
    map.missing.push_back(
        "PTX lines: the cubin has no .nv_debug_line_sass, so loops are those of "
        "the machine code");
  if (const uint32_t n = tables.source.damaged + tables.ptx.damaged; n != 0)
    map.missing.push_back(fmt::format("{} rows of the line tables are impossible", n));
  Sources sources;
  for (const bool kernels : {true, false}) {
    for (const elf::CubinFunction& f : input.cubin->functions) {
      if (f.is_kernel == kernels)
        map.kernels.push_back(FunctionBuilder(input, tables, f).run(&sources));
    }
  }
  return map;
}

}  // namespace assay::region
