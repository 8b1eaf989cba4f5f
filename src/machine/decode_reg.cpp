// Registers, constants and operands.
#include <fmt/format.h>

#include "machine/decoder.h"

namespace assay::machine {
namespace {

RegFile file_of_type(Ty t) {
  if (t == Ty::Pred) return RegFile::Pred;
  return bits(t) > 32 ? RegFile::Double : RegFile::Word;
}

uint64_t truncate_to(uint64_t v, Ty t) {
  return bits(t) >= 64 || bits(t) == 0 ? v : v & ((uint64_t{1} << bits(t)) - 1);
}

}  // namespace

Ty unsigned_of(Ty t) {
  switch (bits(t)) {
    case 8:
      return Ty::B8;
    case 16:
      return Ty::B16;
    case 32:
      return Ty::B32;
    case 64:
      return Ty::B64;
    default:
      return t;
  }
}

RegRef Decoder::new_reg(Ty type) {
  if (bits(type) > 64) {
    unsupported(fmt::format("register of type .{}", info(type).text));
    type = Ty::B64;
  }
  RegFile file = file_of_type(type);
  uint32_t words = file == RegFile::Pred ? 1 : file == RegFile::Word ? 32 : 64;
  if (words > 1) k_.file_words = (k_.file_words + 15) / 16 * 16;  // vectors of 64 bytes
  RegRef r{k_.file_words, static_cast<uint32_t>(k_.regs.size())};
  k_.file_words += words;
  k_.regs.push_back({file, type, r.off, false});
  return r;
}

RegRef Decoder::constant(RegFile file, uint64_t v) {
  if (file == RegFile::Word) v &= 0xffffffffu;
  auto [it, fresh] = constants_.try_emplace({static_cast<int>(file), v});
  if (fresh) {
    it->second = new_reg(file == RegFile::Pred     ? Ty::Pred
                         : file == RegFile::Double ? Ty::B64
                                                   : Ty::B32);
  }
  return it->second;
}

RegRef Decoder::special(ptx::Special s, uint8_t component) {
  auto dim = [&](const std::array<uint32_t, 3>& v) {
    return const32(component < 3 ? v[component] : 0);
  };
  switch (s) {
    case ptx::Special::Ntid:
      return dim(launch_.block);
    case ptx::Special::Nctaid:
      return dim(launch_.grid);
    case ptx::Special::ClusterNctaid:
      return dim(launch_.cluster);
    case ptx::Special::ClusterNctarank:
      return const32(launch_.cluster[0] * launch_.cluster[1] * launch_.cluster[2]);
    case ptx::Special::Nclusterid: {
      std::array<uint32_t, 3> n{};
      for (size_t i = 0; i < 3; ++i) n[i] = launch_.grid[i] / std::max(1u, launch_.cluster[i]);
      return dim(n);
    }
    case ptx::Special::Nwarpid:
      return const32((launch_.block[0] * launch_.block[1] * launch_.block[2] + 31) / 32);
    case ptx::Special::Gridid:
    case ptx::Special::CurrentGraphExec:
      return constant(RegFile::Double, 0);
    case ptx::Special::Envreg:
    case ptx::Special::ReservedSmemBegin:
    case ptx::Special::ReservedSmemEnd:
    case ptx::Special::ReservedSmemCap:
    case ptx::Special::ReservedSmem:
      return const32(0);
    case ptx::Special::TotalSmemSize:
    case ptx::Special::AggrSmemSize:
      return const32(k_.shared_bytes());
    case ptx::Special::DynamicSmemSize:
      return const32(launch_.dynamic_shared);
    case ptx::Special::Tid:
    case ptx::Special::Ctaid:
    case ptx::Special::Clusterid:
    case ptx::Special::ClusterCtaid:
      if (component > 2) return const32(0);
      break;
    case ptx::Special::Laneid:
    case ptx::Special::Warpid:
    case ptx::Special::ClusterCtarank:
    case ptx::Special::LanemaskEq:
    case ptx::Special::LanemaskLe:
    case ptx::Special::LanemaskLt:
    case ptx::Special::LanemaskGe:
    case ptx::Special::LanemaskGt:
      break;
    case ptx::Special::IsExplicitCluster:
      return constant(RegFile::Pred,
                      launch_.cluster == std::array<uint32_t, 3>{1, 1, 1} ? 0 : ~uint64_t{0});
    default: {  // clocks, counters, the multiprocessor: nothing determines them
      RegRef r = new_reg(ptx::info(s).type);
      MicroOp& op = emit(OpKind::Clock);
      op.dst = r;
      op.wide_dst = is_wide(r);
      k_.has_clock = true;
      return r;
    }
  }
  auto [it, fresh] = specials_.try_emplace({static_cast<int>(s), component});
  if (fresh) it->second = new_reg(Ty::B32);
  return it->second;
}

std::optional<uint64_t> Decoder::symbol_address(const ptx::SymbolRef& s) {
  switch (s.kind) {
    case ptx::SymbolKind::Global: {
      auto g = global_address_.find(s.index);
      if (g != global_address_.end()) return g->second;
      auto sh = shared_offset_.find({-1, s.index});
      if (sh != shared_offset_.end()) return sh->second;
      return std::nullopt;
    }
    case ptx::SymbolKind::Local: {
      auto i = static_cast<size_t>(s.index);
      if (ParamSlot* p = slot_of(*frame_, s); p && p->size) return p->local;
      return frame_->local_address[i];
    }
    case ptx::SymbolKind::Param:
      if (frame_->is_entry) {
        return kParamWindow + frame_->fn->params[static_cast<size_t>(s.index)].offset;
      }
      return frame_->params[static_cast<size_t>(s.index)].local;
    case ptx::SymbolKind::ReturnParam:
      return frame_->returns[static_cast<size_t>(s.index)].local;
    default:
      return std::nullopt;
  }
}

RegRef Decoder::read_reg(RegRef r, Ty type) {
  RegFile want = file_of_type(type);
  RegFile have = file_of(r);
  if (want == have) return r;
  if (want == RegFile::Word && have == RegFile::Double) {  // relaxed operand sizes, PTX ISA 9.4.1
    RegRef t = new_reg(Ty::B32);
    Mods m;
    m.type2 = Ty::U64;
    alu(Fn::CvtII, Ty::U32, m, t, {r});
    return t;
  }
  invalid(fmt::format("operand of a size that does not fit type .{}", info(type).text));
  return constant(want, 0);
}

RegRef Decoder::read(const Operand& o, Ty type) {
  switch (o.kind) {
    case ptx::OperandKind::Reg: {
      RegRef& r = frame_->regs[static_cast<size_t>(o.reg)];
      if (!r) r = new_reg(frame_->fn->reg_type(o.reg));
      return read_reg(r, type);
    }
    case ptx::OperandKind::Imm:
      if (type == Ty::Pred) return constant(RegFile::Pred, o.imm ? ~uint64_t{0} : 0);
      return constant(file_of_type(type), truncate_to(static_cast<uint64_t>(o.imm), type));
    case ptx::OperandKind::FImm:
      return constant(file_of_type(type), static_cast<uint64_t>(o.imm));
    case ptx::OperandKind::Special: {
      RegRef r = special(o.special, o.component);
      if (is_wide(r) || bits(type) <= 32) return read_reg(r, type);
      RegRef t = new_reg(Ty::B64);
      Mods m;
      m.type2 = Ty::U32;
      alu(Fn::CvtII, Ty::U64, m, t, {r});
      return t;
    }
    case ptx::OperandKind::Symbol: {
      auto at = symbol_address(o.symbol);
      if (!at) {
        unsupported("address of this symbol");
        at = 0;
      }
      uint64_t v = *at + static_cast<uint64_t>(o.imm);
      return constant(file_of_type(type), truncate_to(v, type));
    }
    default:
      invalid("unexpected operand");
      return constant(file_of_type(type), 0);
  }
}

RegRef Decoder::read_pred(const Operand& o) {
  RegRef r = read(o, Ty::Pred);
  if (!o.negated) return r;
  RegRef t = new_reg(Ty::Pred);
  MicroOp& op = emit(OpKind::PLogic);
  op.fn = Fn::PNot;
  op.dst = t;
  op.num_src = 1;
  op.src[0] = r;
  return t;
}

RegRef Decoder::write_to(const Operand& o, Ty type) {
  if (o.kind == ptx::OperandKind::Sink) return {};
  int32_t index = o.kind == ptx::OperandKind::Reg || o.kind == ptx::OperandKind::Pair ? o.reg : -1;
  if (index < 0) {
    if (o.kind != ptx::OperandKind::Pair) invalid("destination is no register");
    return {};
  }
  RegRef& r = frame_->regs[static_cast<size_t>(index)];
  if (!r) r = new_reg(frame_->fn->reg_type(index));
  if (file_of(r) != file_of_type(type)) {
    invalid(fmt::format("destination does not fit type .{}", info(type).text));
    return new_reg(type);
  }
  return r;
}

MicroOp& Decoder::emit(OpKind kind) {
  MicroOp& op = k_.ops.emplace_back();
  op.kind = kind;
  op.pc = pc_;
  op.reconv = kNever;
  if (in_ && in_->guard >= 0) {
    RegRef& g = frame_->regs[static_cast<size_t>(in_->guard)];
    if (!g) g = new_reg(Ty::Pred);
    op.guard = g;
    op.guard_neg = in_->guard_negated;
  }
  return op;
}

MicroOp& Decoder::alu(Fn fn, Ty type, const Mods& mods, RegRef dst,
                      std::initializer_list<RegRef> src) {
  MicroOp& op = emit(OpKind::Alu);
  op.fn = fn;
  op.type = type;
  op.mods = mods;
  op.dst = dst;
  for (RegRef r : src) op.src[op.num_src++] = r;
  op.wide_dst = is_wide(dst);
  op.wide_src = op.num_src && is_wide(op.src[0]);
  op.lane = lanes().fn(fn, type, mods);
  return op;
}

void Decoder::mov(RegRef dst, RegRef src) {
  if (!dst) return;
  bool pred = file_of(dst) == RegFile::Pred;
  MicroOp& op = emit(pred ? OpKind::PMov : OpKind::Mov);
  op.dst = dst;
  op.src[0] = src;
  op.num_src = 1;
  op.wide_dst = op.wide_src = is_wide(dst);
}

void Decoder::setp(Fn fn, Ty type, const Mods& mods, RegRef dst, RegRef dst2, RegRef a, RegRef b) {
  MicroOp& op = emit(OpKind::Setp);
  op.fn = fn;
  op.type = type;
  op.mods = mods;
  op.dst = dst;
  op.dst2 = dst2;
  op.src[0] = a;
  op.src[1] = b;
  op.num_src = 2;
  op.wide_src = is_wide(a);
  op.cmp = lanes().cmp(fn, type, mods);
}

void Decoder::selp(RegRef dst, RegRef a, RegRef b, RegRef p) {
  MicroOp& op = emit(OpKind::Selp);
  op.type = k_.regs[dst.id].type;
  op.dst = dst;
  op.src[0] = a;
  op.src[1] = b;
  op.src[2] = p;
  op.num_src = 3;
  op.wide_dst = op.wide_src = is_wide(dst);
}

Mods Decoder::mods_of(const Instr& i) const {
  Mods m;
  switch (i.mods.round()) {
    case ptx::Rounding::Rz:
    case ptx::Rounding::Rzi:
      m.round = Round::Rz;
      break;
    case ptx::Rounding::Rm:
    case ptx::Rounding::Rmi:
      m.round = Round::Rm;
      break;
    case ptx::Rounding::Rp:
    case ptx::Rounding::Rpi:
      m.round = Round::Rp;
      break;
    case ptx::Rounding::Rna:
      m.round = Round::Rna;
      break;
    default:
      break;
  }
  m.ftz = i.mods.ftz();
  m.sat = i.mods.sat();
  m.nan = i.mods.nan();
  m.approx = i.mods.precision() != ptx::Precision::None;
  return m;
}

const Decoder::Operand& Decoder::opnd(uint32_t n) const {
  static const Operand none;
  return n < in_->num_operands ? frame_->fn->operand_pool[in_->first_operand + n] : none;
}

std::string Decoder::here() const {
  if (!in_ || !frame_) return "";
  SrcLoc src = module_.source(*in_);
  std::string text = fmt::format("PTX line {}", in_->line);
  if (src.line) text += fmt::format(" ({}:{})", src.file, src.line);
  return text + ": '" + ptx::print(module_, *frame_->fn, *in_) + "': ";
}

void Decoder::unsupported(const std::string& what) {
  SrcLoc loc = in_ ? module_.source(*in_) : SrcLoc{};
  diags_.push_back({DiagKind::Unsupported, here() + what, loc});
}

void Decoder::invalid(const std::string& what) {
  SrcLoc loc = in_ ? module_.source(*in_) : SrcLoc{};
  diags_.push_back({DiagKind::Invalid, here() + what, loc});
}

}  // namespace assay::machine
