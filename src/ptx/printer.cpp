#include "ptx/printer.h"

#include <fmt/format.h>

#include <algorithm>

#include "ptx/form.h"

namespace assay::ptx {
namespace {

std::string_view linkage_word(Linkage l) {
  switch (l) {
    case Linkage::Visible:
      return ".visible ";
    case Linkage::Extern:
      return ".extern ";
    case Linkage::Weak:
      return ".weak ";
    case Linkage::Common:
      return ".common ";
    case Linkage::Internal:
      break;
  }
  return "";
}

template <class... Args>
void put(std::string* out, fmt::format_string<Args...> format, Args&&... args) {
  fmt::format_to(std::back_inserter(*out), format, std::forward<Args>(args)...);
}

}  // namespace

void Printer::offset(int64_t n) {
  if (n != 0) put(&out_, "+{}", n);
}

std::string Printer::symbol_name(const Function* f, SymbolRef s) const {
  const auto k = static_cast<size_t>(s.index);
  switch (s.kind) {
    case SymbolKind::Global:
      return m_.variables[k].name;
    case SymbolKind::Function:
      return m_.functions[k].name;
    case SymbolKind::Local:
      return f->locals[k].name;
    case SymbolKind::Param:
      return f->params[k].name;
    case SymbolKind::ReturnParam:
      return f->returns[k].name;
    case SymbolKind::Prototype:
      return f->prototypes[k].name;
    case SymbolKind::Targets:
      return f->target_lists[k].name;
    case SymbolKind::Label:
      return f->labels[k].name;
    case SymbolKind::None:
      break;
  }
  return "_";
}

void Printer::list(const Function& f, std::span<const Operand> operands) {
  for (size_t k = 0; k < operands.size(); ++k) {
    if (k > 0) out_ += ", ";
    operand(f, operands[k]);
  }
}

void Printer::operand(const Function& f, const Operand& o) {
  const auto reg = [&](int32_t r) { out_ += r == kNone ? "_" : f.reg_name(r); };
  switch (o.kind) {
    case OperandKind::None:
      break;
    case OperandKind::Reg:
      if (o.negated) out_ += '!';
      reg(o.reg);
      break;
    case OperandKind::Imm:
      put(&out_, "{}", o.imm);
      break;
    case OperandKind::FImm:
      if (o.type == Ty::F32) {
        put(&out_, "0f{:08X}", static_cast<uint32_t>(o.imm));
      } else {
        put(&out_, "0d{:016X}", static_cast<uint64_t>(o.imm));
      }
      break;
    case OperandKind::Special: {
      const SpecialInfo& s = info(o.special);
      std::string text(s.spelling);
      if (s.shape == 'V') text += std::string(".") + "xyzw"[o.component & 3];
      if (s.shape == 'I') text.replace(text.find('#'), 1, std::to_string(o.component));
      out_ += text;
      break;
    }
    case OperandKind::Symbol:
    case OperandKind::Label:
      out_ += symbol_name(&f, o.symbol);
      offset(o.imm);
      break;
    case OperandKind::Mem:
      out_ += '[';
      if (o.reg != kNone || o.symbol.kind != SymbolKind::None) {
        if (o.reg != kNone) {
          reg(o.reg);
        } else {
          out_ += symbol_name(&f, o.symbol);
        }
        offset(o.imm);
      } else {
        put(&out_, "{}", o.imm);
      }
      if (o.count > 0) {
        out_ += ", ";
        list(f, f.elements(o));
      }
      out_ += ']';
      break;
    case OperandKind::Vec:
      out_ += '{';
      list(f, f.elements(o));
      out_ += '}';
      break;
    case OperandKind::Pair:
      reg(o.reg);
      out_ += '|';
      reg(o.reg2);
      break;
    case OperandKind::Sink:
      out_ += '_';
      break;
  }
}

void Printer::call(const Function& f, const Instr& i) {
  const auto operands = f.operands(i);
  out_ += ' ';
  if (operands[0].count > 0) {
    out_ += '(';
    list(f, f.elements(operands[0]));
    out_ += "), ";
  }
  operand(f, operands[1]);
  if (operands[2].count > 0 || operands.size() > 3) {
    out_ += ", (";
    list(f, f.elements(operands[2]));
    out_ += ')';
  }
  if (operands.size() > 3) {
    out_ += ", ";
    operand(f, operands[3]);
  }
}

void Printer::instruction(const Function& f, const Instr& i) {
  if (i.guard != kNone) put(&out_, "@{}{} ", i.guard_negated ? "!" : "", f.reg_name(i.guard));
  out_ += opcode_text(m_, i);
  if (i.op == Op::Call) {
    call(f, i);
  } else if (i.num_operands > 0) {
    out_ += ' ';
    list(f, f.operands(i));
  }
  out_ += ';';
}

// A position inlined somewhere names that place by file, line and column; if the last .loc of that
// triple is another one, the right one is written first.
void Printer::loc(int32_t index) {
  std::vector<int32_t> chain;
  for (int32_t k = index; k != kNone; k = m_.locs[static_cast<size_t>(k)].inlined_at) {
    const Loc& l = m_.locs[static_cast<size_t>(k)];
    const auto it = latest_loc_.find({l.file, l.line, l.column});
    if (k != index && it != latest_loc_.end() && it->second == k) break;
    chain.push_back(k);
  }
  for (; !chain.empty(); chain.pop_back()) {
    const int32_t k = chain.back();
    const Loc& l = m_.locs[static_cast<size_t>(k)];
    put(&out_, "\t.loc {} {} {}", l.file, l.line, l.column);
    if (l.function != kNone) put(&out_, ", function_name $L__info_string{}", l.function);
    if (l.inlined_at != kNone) {
      const Loc& at = m_.locs[static_cast<size_t>(l.inlined_at)];
      put(&out_, ", inlined_at {} {} {}", at.file, at.line, at.column);
    }
    out_ += '\n';
    latest_loc_[{l.file, l.line, l.column}] = k;
  }
}

void Printer::directives(const Directives& d) {
  const auto triple = [&](std::string_view name, const std::array<uint32_t, 3>& n) {
    if (n != std::array<uint32_t, 3>{}) put(&out_, ".{} {}, {}, {}\n", name, n[0], n[1], n[2]);
  };
  const auto number = [&](std::string_view name, uint32_t n) {
    if (n != 0) put(&out_, ".{} {}\n", name, n);
  };
  triple("maxntid", d.maxntid);
  triple("reqntid", d.reqntid);
  triple("reqnctapercluster", d.reqnctapercluster);
  number("maxnreg", d.maxnreg);
  number("minnctapersm", d.minnctapersm);
  number("maxnctapersm", d.maxnctapersm);
  number("maxclusterrank", d.maxclusterrank);
  number("abi_preserve", d.abi_preserve);
  number("abi_preserve_control", d.abi_preserve_control);
  if (d.explicitcluster) out_ += ".explicitcluster\n";
  if (d.blocksareclusters) out_ += ".blocksareclusters\n";
  if (d.noreturn) out_ += ".noreturn\n";
}

void Printer::parameters(const std::vector<Variable>& list) {
  out_ += '(';
  for (size_t k = 0; k < list.size(); ++k) {
    out_ += k == 0 ? "\n\t" : ",\n\t";
    variable(list[k], true);
  }
  out_ += list.empty() ? ")" : "\n)";
}

void Printer::header(const Function& f) {
  out_ += linkage_word(f.linkage);
  out_ += f.is_entry ? ".entry " : ".func ";
  for (const std::string& a : f.attributes) put(&out_, ".attribute(.{}) ", a);
  if (!f.returns.empty()) {
    parameters(f.returns);
    out_ += ' ';
  }
  out_ += f.name;
  parameters(f.params);
  out_ += '\n';
  directives(f.directives);
}

void Printer::registers(const Function& f) {
  const auto is_param = [&](const RegGroup& g) {
    const auto has = [&](const std::vector<Variable>& list) {
      return std::any_of(list.begin(), list.end(), [&](const Variable& v) {
        return v.is_reg && v.reg == static_cast<int32_t>(g.first);
      });
    };
    return has(f.params) || has(f.returns);
  };
  for (const RegGroup& g : f.regs) {
    if (is_param(g)) continue;
    out_ += "\t.reg ";
    if (g.vector > 1) put(&out_, ".v{} ", g.vector);
    put(&out_, ".{} {}", assay::info(g.type).text, g.name);
    if (g.range) put(&out_, "<{}>", g.count);
    out_ += ";\n";
  }
}

void Printer::declarations(const Function& f) {
  registers(f);
  for (const Variable& v : f.locals) {
    out_ += '\t';
    variable(v, false);
    out_ += ";\n";
  }
  for (const Prototype& p : f.prototypes) {
    put(&out_, "{}: .callprototype ", p.name);
    if (!p.returns.empty()) parameters(p.returns);
    out_ += " _ ";
    parameters(p.params);
    out_ += p.noreturn ? " .noreturn;\n" : ";\n";
  }
  for (const TargetList& t : f.target_lists) {
    put(&out_, "{}: .{} ", t.name, t.calls ? "calltargets" : "branchtargets");
    for (size_t k = 0; k < t.targets.size(); ++k) {
      if (k > 0) out_ += ", ";
      out_ += symbol_name(&f, t.targets[k]);
    }
    out_ += ";\n";
  }
}

void Printer::function(const Function& f) {
  header(f);
  out_ += "{\n";
  declarations(f);
  size_t label = 0, pragma = 0;
  int32_t at = kNone;
  for (uint32_t k = 0; k <= f.body.size(); ++k) {
    for (; label < f.labels.size() && f.labels[label].target <= k; ++label) {
      put(&out_, "{}:\n", f.labels[label].name);
    }
    for (; pragma < f.pragmas.size() && f.pragmas[pragma].before <= k; ++pragma) {
      put(&out_, "\t.pragma \"{}\";\n", f.pragmas[pragma].text);
    }
    if (k == f.body.size()) break;
    const Instr& i = f.body[k];
    if (i.loc != kNone && i.loc != at) loc(i.loc);
    at = i.loc;
    out_ += '\t';
    instruction(f, i);
    out_ += '\n';
  }
  out_ += "}\n";
}

void Printer::debug_strings() {
  std::vector<int32_t> used;
  for (const Loc& l : m_.locs) {
    if (l.function != kNone) used.push_back(l.function);
  }
  std::sort(used.begin(), used.end());
  used.erase(std::unique(used.begin(), used.end()), used.end());
  if (used.empty()) return;
  out_ += ".section .debug_str\n{\n";
  for (int32_t k : used) {
    put(&out_, "$L__info_string{}:\n", k);
    for (char c : m_.strings[static_cast<size_t>(k)]) {
      put(&out_, ".b8 {}\n", static_cast<unsigned>(static_cast<uint8_t>(c)));
    }
    out_ += ".b8 0\n";
  }
  out_ += "}\n";
}

std::string Printer::run() {
  put(&out_, ".version {}.{}\n.target {}", m_.version / 10, m_.version % 10, m_.target);
  for (const std::string& o : m_.target_options) put(&out_, ", {}", o);
  put(&out_, "\n.address_size {}\n", m_.address_size);
  size_t pragma = 0;
  for (size_t k = 0; k <= m_.items.size(); ++k) {
    for (; pragma < m_.pragmas.size() && m_.pragmas[pragma].before <= k; ++pragma) {
      put(&out_, ".pragma \"{}\";\n", m_.pragmas[pragma].text);
    }
    if (k == m_.items.size()) break;
    const SymbolRef s = m_.items[k].symbol;
    if (s.kind == SymbolKind::Global) {
      variable(m_.variables[static_cast<size_t>(s.index)], false);
      out_ += ";\n";
      continue;
    }
    const Function& f = m_.functions[static_cast<size_t>(s.index)];
    if (f.defined && !f.declared_first) {
      function(f);
      continue;
    }
    header(f);
    out_ += ";\n";
  }
  for (const Function& f : m_.functions) {
    if (f.defined && f.declared_first) function(f);
  }
  for (const Alias& a : m_.aliases) {
    put(&out_, ".alias {}, {};\n", symbol_name(nullptr, a.alias), symbol_name(nullptr, a.aliasee));
  }
  for (const File& f : m_.files) put(&out_, ".file {} \"{}\"\n", f.id, f.path);
  debug_strings();
  return take();
}

std::string print(const Module& m) { return Printer(m).run(); }

std::string print(const Module& m, const Function& f, const Instr& i) {
  Printer p(m);
  p.instruction(f, i);
  return p.take();
}

}  // namespace assay::ptx
