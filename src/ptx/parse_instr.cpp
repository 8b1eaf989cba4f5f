// Instructions and their operands, PTX ISA 6 and 9.1 to 9.4.
#include <deque>

#include "ptx/parser.h"

namespace assay::ptx {
namespace {

struct SpecialName {
  Special special{};
  uint8_t component = 0;
};

// Every spelling, numbered families spelled out: %envreg7, %pm3_64.
class SpecialNames {
 public:
  SpecialNames() {
    for (int k = 0; k < static_cast<int>(Special::Count); ++k) {
      const auto s = static_cast<Special>(k);
      const SpecialInfo& i = info(s);
      if (i.shape != 'I') map_[i.spelling] = {s, 0};
      for (int n = 0; n < i.count; ++n) {
        std::string& text = texts_.emplace_back(i.spelling);
        text.replace(text.find('#'), 1, std::to_string(n));
        map_[text] = {s, static_cast<uint8_t>(n)};
      }
    }
  }
  const SpecialName* find(std::string_view name) const {
    const auto it = map_.find(name);
    return it == map_.end() ? nullptr : &it->second;
  }

 private:
  std::deque<std::string> texts_;  // keys of the map point here
  std::unordered_map<std::string_view, SpecialName> map_;
};

}  // namespace

// {+n} {-n} {+-n} ...: the sum.
bool Parser::addend(int64_t* value) {
  while (is('+') || is('-')) {
    const Token sign = next();
    Const c;
    if (!unary(&c, 0)) return false;
    if (c.kind != Const::Kind::Int) return syntax(sign, "integer offset expected");
    const auto n = static_cast<uint64_t>(c.value);
    const auto sum = static_cast<uint64_t>(*value);
    *value = static_cast<int64_t>(sign.punct == '+' ? sum + n : sum - n);
  }
  return true;
}

// Elements up to `close`; they are put behind one another in the pool.
bool Parser::vec_operand(Operand* out, char close, uint32_t depth) {
  if (depth > kMaxDepth) return error(DiagKind::Limit, peek(), "operands nested too deeply");
  std::vector<Operand> elements;
  if (!is(close)) {
    do {
      Operand o;
      if (!operand(&o, false, depth + 1)) return false;
      elements.push_back(o);
    } while (accept(','));
  }
  if (!expect(close)) return false;
  out->first = static_cast<uint32_t>(fn().operand_pool.size());
  out->count = static_cast<uint32_t>(elements.size());
  fn().operand_pool.insert(fn().operand_pool.end(), elements.begin(), elements.end());
  return true;
}

// After '['.
bool Parser::mem_operand(Operand* out, uint32_t depth) {
  out->kind = OperandKind::Mem;
  const Token t = peek();
  if (t.kind == Tok::Ident && t.text != "WARP_SZ") {
    next();
    const Binding* b = names_.find(t.text);
    if (b == nullptr) {
      return error(DiagKind::Invalid, t, "unknown name '" + std::string(t.text) + "'");
    }
    if (b->reg != kNone) {
      out->reg = b->reg;
      if (fn().reg_type(b->reg) == Ty::Pred || b->vector > 1) {
        return error(DiagKind::Invalid, t, "'" + std::string(t.text) + "' is no address");
      }
    } else {
      out->symbol = b->symbol;
    }
    if (!addend(&out->imm)) return false;
  } else if (!integer(&out->imm)) {
    return false;
  }
  if (is(',')) {  // coordinates of textures, surfaces and tensor maps
    next();
    return vec_operand(out, ']', depth + 1);
  }
  return expect(']');
}

// d|p
bool Parser::pair_rest(Operand* out) {
  if (!accept('|')) return true;
  Token name;
  if (!expect_ident(&name)) return false;
  out->kind = OperandKind::Pair;
  if (name.text == "_") return true;
  const Binding* b = names_.find(name.text);
  if (b == nullptr || b->reg == kNone) {
    return error(DiagKind::Invalid, name, "'" + std::string(name.text) + "' is no register");
  }
  out->reg2 = b->reg;
  return true;
}

bool Parser::reg_operand(Operand* out, const Binding& b, const Token& name) {
  out->kind = OperandKind::Reg;
  out->reg = b.reg;
  if (b.vector == 1) return pair_rest(out);
  if (peek().kind == Tok::Directive) {  // r.x
    const Token c = next();
    const size_t k = std::string_view("xyzwrgba").find(c.text);
    if (c.text.size() != 1 || k == std::string_view::npos || k % 4 >= b.vector) {
      return error(DiagKind::Invalid, c,
                   "'" + std::string(name.text) + "' has no component " + describe(c));
    }
    out->reg = b.reg + static_cast<int32_t>(k % 4);
    return true;
  }
  out->kind = OperandKind::Vec;
  out->reg = kNone;
  out->first = static_cast<uint32_t>(fn().operand_pool.size());
  out->count = b.vector;
  for (int32_t k = 0; k < b.vector; ++k) {
    Operand element;
    element.kind = OperandKind::Reg;
    element.reg = b.reg + k;
    fn().operand_pool.push_back(element);
  }
  return true;
}

bool Parser::special(Operand* out, const Token& name) {
  static const SpecialNames names;
  const SpecialName* found = names.find(name.text);
  if (found == nullptr) {
    const bool percent = name.text[0] == '%';
    return error(
        DiagKind::Invalid, name,
        (percent ? "unknown register '" : "unknown name '") + std::string(name.text) + "'");
  }
  out->kind = OperandKind::Special;
  out->special = found->special;
  out->component = found->component;
  if (info(out->special).shape != 'V') return true;
  if (peek().kind != Tok::Directive) {
    return error(DiagKind::Unsupported, name,
                 "'" + std::string(name.text) + "' without a component");
  }
  const Token c = next();
  const size_t k = std::string_view("xyzw").find(c.text);
  if (c.text.size() != 1 || k == std::string_view::npos) {
    return error(DiagKind::Invalid, c,
                 "'" + std::string(name.text) + "' has no component " + describe(c));
  }
  out->component = static_cast<uint8_t>(k);
  return true;
}

bool Parser::named_operand(Operand* out, const Token& name, bool labels) {
  const auto use_label = [&] {
    out->kind = OperandKind::Label;
    out->imm = static_cast<int64_t>(label_uses_.size());  // until it is in the pool
    label_uses_.push_back({name.text, scope_, name.line, name.column, false, 0, 0});
    return true;
  };
  if (labels) return use_label();
  if (name.text == "_") {
    out->kind = OperandKind::Sink;
    return pair_rest(out);
  }
  const Binding* b = names_.find(name.text);
  if (b == nullptr) return special(out, name);
  if (b->reg != kNone) return reg_operand(out, *b, name);
  out->kind = OperandKind::Symbol;
  out->symbol = b->symbol;
  return addend(&out->imm);
}

bool Parser::operand(Operand* out, bool labels, uint32_t depth) {
  if (depth > kMaxDepth) return error(DiagKind::Limit, peek(), "operands nested too deeply");
  *out = Operand{};
  const Token t = peek();
  if (t.kind == Tok::Ident && t.text != "WARP_SZ") {
    next();
    return named_operand(out, t, labels);
  }
  if (t.kind == Tok::Punct && t.punct == '[') {
    next();
    return mem_operand(out, depth);
  }
  if (t.kind == Tok::Punct && t.punct == '{') {
    next();
    out->kind = OperandKind::Vec;
    return vec_operand(out, '}', depth);
  }
  if (t.kind == Tok::Punct && t.punct == '!' && lex_.following() != '(') {
    next();
    Token name;
    if (!expect_ident(&name)) return false;
    const Binding* b = names_.find(name.text);
    if (b == nullptr || b->reg == kNone || fn().reg_type(b->reg) != Ty::Pred) {
      return error(DiagKind::Invalid, name,
                   "'" + std::string(name.text) + "' is no predicate register");
    }
    out->kind = OperandKind::Reg;
    out->reg = b->reg;
    out->negated = true;
    return true;
  }
  Const c;
  if (!expression(&c)) return false;
  out->imm = c.value;
  out->kind = c.kind == Const::Kind::Int ? OperandKind::Imm : OperandKind::FImm;
  if (c.kind != Const::Kind::Int) out->type = c.kind == Const::Kind::F32 ? Ty::F32 : Ty::F64;
  return true;
}

bool Parser::instruction_operands(std::vector<Operand>* out, bool labels) {
  out->clear();
  if (accept(';')) return true;
  do {
    Operand o;
    if (!operand(&o, labels, 0)) return false;
    out->push_back(o);
  } while (accept(','));
  return expect(';');
}

// {(returns),} target {, (arguments)} {, prototype or targets};
bool Parser::call_operands(std::vector<Operand>* out) {
  out->assign(3, Operand{});
  (*out)[0].kind = (*out)[2].kind = OperandKind::Vec;
  if (accept('(')) {
    if (!vec_operand(&(*out)[0], ')', 0) || !expect(',')) return false;
  }
  const Token target = peek();
  if (!operand(&(*out)[1], false, 0)) return false;
  const Operand& f = (*out)[1];
  const bool direct = f.kind == OperandKind::Symbol && f.symbol.kind == SymbolKind::Function;
  if (!direct && f.kind != OperandKind::Reg) {
    return error(DiagKind::Invalid, target, "call of " + describe(target) + ", no function");
  }
  if (accept(',')) {
    bool more = true;
    if (accept('(')) {
      if (!vec_operand(&(*out)[2], ')', 0)) return false;
      more = accept(',');
    }
    if (more) {
      Operand last;
      const Token at = peek();
      if (!operand(&last, false, 0)) return false;
      if (last.symbol.kind != SymbolKind::Prototype && last.symbol.kind != SymbolKind::Targets) {
        return error(DiagKind::Invalid, at, "prototype or call targets expected");
      }
      out->push_back(last);
    }
  }
  if (!direct && out->size() < 4) {
    return error(DiagKind::Invalid, target, "indirect call without a prototype");
  }
  return expect(';');
}

bool Parser::instruction(const Token& name, int32_t guard, bool negated, const Token& first) {
  const std::string_view opcode = lex_.opcode_after(name);
  auto it = forms_.find(opcode);
  if (it == forms_.end()) {
    std::string why;
    bool unknown = false;
    std::vector<Form> forms = match_opcode(opcode, &why, &unknown);
    if (forms.empty()) {
      return error(unknown ? DiagKind::Unsupported : DiagKind::Invalid, name, std::move(why));
    }
    it = forms_.emplace(opcode, std::move(forms)).first;
  }
  const std::vector<Form>& forms = it->second;
  const auto& shapes = compiled(forms[0].op).shapes;
  const char letter = shapes.empty() ? ' ' : shapes[0].letter;
  std::vector<Operand>& operands = operands_;
  if (letter == 'C') {
    if (!call_operands(&operands)) return false;
  } else if (!instruction_operands(&operands, letter == 'L')) {
    return false;
  }
  Instr instr;
  instr.guard = guard;
  instr.guard_negated = negated;
  instr.loc = loc_;
  instr.line = first.line;
  finish_instruction(instr, forms, &operands, opcode, name);
  return true;
}

// Picks the form that the operands fit and appends the instruction.
void Parser::finish_instruction(Instr instr, const std::vector<Form>& forms,
                                std::vector<Operand>* operands, std::string_view opcode,
                                const Token& at) {
  const Form* form = nullptr;
  std::string why, first_why;
  for (const Form& f : forms) {
    why.clear();
    if (fits(f, *operands, &why)) {
      form = &f;
      break;
    }
    if (first_why.empty()) first_why = std::move(why);
  }
  if (form == nullptr) {
    error(DiagKind::Invalid, at, "'" + std::string(opcode) + "': " + first_why);
    return;
  }
  const OpRow& r = row(form->op);
  if (r.min_sm > module_.sm || r.min_ptx > module_.version) {
    error(DiagKind::Invalid, at,
          "'" + std::string(opcode) + "' needs sm_" + std::to_string(r.min_sm) + " and PTX " +
              std::to_string(r.min_ptx / 10) + "." + std::to_string(r.min_ptx % 10));
  }
  if (r.status == OpStatus::Parsed) {
    unsupported(at, "instruction '" + std::string(opcode) + "' is not executed");
  }
  instr.op = form->op;
  instr.mods = form->mods;
  instr.types = form->types;
  if (!form->suffix.empty()) instr.suffix = string_index(form->suffix);
  Function& f = fn();
  for (size_t k = 0; k < positions_.size(); ++k) {  // none for calls and free operands
    Operand& o = (*operands)[k];
    const Ty want = wanted_type(*positions_[k], form->types);
    set_float_type(&o, want);
    for (uint32_t e = 0; o.kind == OperandKind::Vec && e < o.count; ++e) {
      set_float_type(&f.operand_pool[o.first + e], want);
    }
  }
  instr.first_operand = static_cast<uint32_t>(f.operand_pool.size());
  instr.num_operands = static_cast<uint32_t>(operands->size());
  for (Operand& o : *operands) {
    if (o.kind == OperandKind::Label) {
      label_uses_[static_cast<size_t>(o.imm)].index = static_cast<uint32_t>(f.operand_pool.size());
      o.imm = 0;
    }
    f.operand_pool.push_back(o);
  }
  f.body.push_back(instr);
}

}  // namespace assay::ptx
