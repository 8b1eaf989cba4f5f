// Do operands fit a row? PTX ISA 6.4 (operand types) and 9.4 (sizes).
#include <bit>

#include "ptx/parser.h"

namespace assay::ptx {

bool Parser::reg_fits(int32_t reg, Ty want, Shape::Rule rule) const {
  const Ty have = fn().reg_type(reg);
  if ((have == Ty::Pred) != (want == Ty::Pred)) return false;
  if (rule == Shape::Rule::Any || want == Ty::None) return true;
  if (rule == Shape::Rule::AtLeast && !assay::is_float(want)) return bits(have) >= bits(want);
  return bits(have) == bits(want);
}

std::string Parser::misfit_vec(const Shape& s, const Operand& o, const Form& form) const {
  const auto elements = fn().elements(o);
  const Ty want = wanted_type(s, form.types);
  if (s.letter == 'v' && o.count != static_cast<uint32_t>(form.mods.vector_width())) {
    return "is no vector of " + std::to_string(form.mods.vector_width());
  }
  uint32_t sum = 0;
  for (const Operand& e : elements) {
    if (e.kind == OperandKind::Reg) {
      const Ty have = fn().reg_type(e.reg);
      if (have == Ty::Pred || e.negated) return "holds a predicate";
      if (s.letter == 'v' && bits(have) < bits(want)) return "has too narrow an element";
      sum += bits(have);
    } else {
      const bool constant =
          e.kind == OperandKind::Imm || (e.kind == OperandKind::FImm && s.letter == 'v');
      if (s.def ? e.kind != OperandKind::Sink : !constant) {
        return "has an element of the wrong kind";
      }
      sum += bits(want) / o.count;  // parts of a mov: as wide as an equal share
    }
  }
  if (s.letter == 'V' && (o.count < 2 || sum != bits(want))) {
    return "has parts that do not add up to ." + std::string(assay::info(want).text);
  }
  return {};
}

// What keeps the operand from its position, as the rest of a sentence; empty: nothing.
std::string Parser::misfit(const Shape& s, const Operand& o, const Form& form) const {
  const Ty want = wanted_type(s, form.types);
  const std::string_view text = assay::info(want).text;
  const auto rule = s.letter == 'v' ? Shape::Rule::AtLeast : s.rule;
  const auto check_reg = [&](int32_t reg) -> std::string {
    if (s.letter == 'v') {
      const Ty have = fn().reg_type(reg);
      return have != Ty::Pred && bits(have) >= bits(want)
                 ? ""
                 : "is no register for ." + std::string(text);
    }
    return reg_fits(reg, want, rule) ? "" : "is no register of type ." + std::string(text);
  };
  switch (s.letter) {
    case '*':
      return {};
    case 'L':
      return o.kind == OperandKind::Label ? "" : "is no label";
    case 'B':
      return o.symbol.kind == SymbolKind::Targets ? "" : "is no list of branch targets";
    case 'm':
      return o.kind == OperandKind::Mem && o.count == 0 ? "" : "is no address";
    case 'i':
      return o.kind == OperandKind::Imm ? "" : "is no integer constant";
    case 'V':
      return o.kind == OperandKind::Vec ? misfit_vec(s, o, form) : "is no vector";
    case 'p':
      if (o.kind == OperandKind::Imm) return s.def ? "is a constant" : "";
      break;
    case 'v':
      if (form.mods.vec() != Vec::None) {
        return o.kind == OperandKind::Vec ? misfit_vec(s, o, form) : "is no vector";
      }
      break;
    default:
      break;
  }
  if (o.kind == OperandKind::Pair) {
    if (s.pair == Shape::Second::No) return "is a pair";
    if (o.reg2 != kNone && fn().reg_type(o.reg2) != Ty::Pred) return "has no predicate behind '|'";
    if (o.reg == kNone) return {};
    if (s.letter == 'p') return fn().reg_type(o.reg) == Ty::Pred ? "" : "is no predicate";
    return check_reg(o.reg);
  }
  if (s.pair == Shape::Second::Required) return "is no pair";
  if (o.kind == OperandKind::Sink) return s.def ? "" : "is '_', but is read";
  if (o.kind == OperandKind::Reg) {
    if (s.letter == 'p') return fn().reg_type(o.reg) == Ty::Pred ? "" : "is no predicate";
    if (o.negated) return "is negated";
    return check_reg(o.reg);
  }
  if (s.def) return "is no register";
  switch (o.kind) {
    case OperandKind::Imm:
      if (assay::is_float(want)) return "is an integer, but a ." + std::string(text) + " is wanted";
      return {};
    case OperandKind::FImm:
      if (bits(want) < 32 || bits(want) > 64 || is_signed(want) ||
          assay::info(want).cls == TyClass::U) {
        return "is a floating constant, but a ." + std::string(text) + " is wanted";
      }
      return {};
    case OperandKind::Special:
      if (s.letter == 'p') return assay::info(Ty::Pred).text == text ? "" : "is no predicate";
      return {};
    case OperandKind::Symbol:
      if (s.letter != 's') return "is a name";
      return {};
    default:
      return "is of the wrong kind";
  }
}

bool Parser::fits(const Form& form, const std::vector<Operand>& operands, std::string* why) {
  const Row& r = compiled(form.op);
  positions_.clear();
  if (r.free_operands || (!r.shapes.empty() && r.shapes[0].letter == 'C')) return true;
  if (!assign_positions(r, form.mods, static_cast<uint32_t>(operands.size()), &positions_)) {
    *why = std::to_string(operands.size()) + " operands, but it takes " +
           std::string(r.op->operands.empty() ? "none" : r.op->operands);
    return false;
  }
  for (size_t k = 0; k < operands.size(); ++k) {
    const std::string what = misfit(*positions_[k], operands[k], form);
    if (what.empty()) continue;
    *why = "operand " + std::to_string(k + 1) + " " + what;
    return false;
  }
  return true;
}

// Gives a floating constant the width that its position has.
void Parser::set_float_type(Operand* o, Ty want) {
  if (o->kind != OperandKind::FImm || want == Ty::None) return;
  if (bits(want) == 32 && o->type == Ty::F64) {
    const auto value = static_cast<float>(std::bit_cast<double>(o->imm));
    o->imm = static_cast<int64_t>(std::bit_cast<uint32_t>(value));
    o->type = Ty::F32;
  } else if (bits(want) == 64 && o->type == Ty::F32) {
    const double value = std::bit_cast<float>(static_cast<uint32_t>(o->imm));
    o->imm = std::bit_cast<int64_t>(value);
    o->type = Ty::F64;
  }
}

}  // namespace assay::ptx
