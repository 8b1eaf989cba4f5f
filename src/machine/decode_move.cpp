// Moves between registers, address spaces and predicates; conversions.
#include "machine/decoder.h"

namespace assay::machine {
namespace {

using ptx::Op;

}  // namespace

bool Decoder::move_op() {
  Ty t = type();
  switch (in_->op) {
    case Op::AndPred:
    case Op::OrPred:
    case Op::XorPred:
    case Op::NotPred: {
      RegRef a = read_pred(opnd(1));
      RegRef b = in_->op == Op::NotPred ? RegRef{} : read_pred(opnd(2));
      RegRef d = write_to(opnd(0), Ty::Pred);
      MicroOp& op = emit(OpKind::PLogic);
      op.fn = in_->op == Op::AndPred   ? Fn::PAnd
              : in_->op == Op::OrPred  ? Fn::POr
              : in_->op == Op::XorPred ? Fn::PXor
                                       : Fn::PNot;
      op.dst = d;
      op.src = {a, b, {}, {}};
      op.num_src = b ? 2 : 1;
      return true;
    }
    case Op::MovPred: {
      RegRef a = read_pred(opnd(1));
      mov(write_to(opnd(0), Ty::Pred), a);
      return true;
    }
    case Op::Mov: {
      RegRef a = read(opnd(1), t);
      RegRef d = write_to(opnd(0), t);
      mov(d, a);
      if (d) k_.ops.back().type = t;
      return true;
    }
    case Op::MovPack:
    case Op::MovUnpack: {
      bool pack = in_->op == Op::MovPack;
      auto parts = frame_->fn->elements(opnd(pack ? 1 : 0));
      if (parts.empty() || bits(t) % parts.size() || bits(t) > 64) {
        unsupported("parts of this size");
        return true;
      }
      uint32_t width = bits(t) / static_cast<uint32_t>(parts.size());
      Ty part = width == 8 ? Ty::B8 : width == 16 ? Ty::B16 : Ty::B32;
      std::vector<RegRef> regs;
      for (const Operand& o : parts) regs.push_back(pack ? read(o, part) : write_to(o, part));
      RegRef whole = pack ? write_to(opnd(0), t) : read(opnd(1), t);
      MicroOp& op = emit(pack ? OpKind::Pack : OpKind::Unpack);
      op.type = part;
      op.vec = static_cast<uint8_t>(parts.size());
      if (pack) op.dst = whole;
      if (!pack) {
        op.src[0] = whole;
        op.num_src = 1;
      }
      op.wide_dst = pack && bits(t) == 64;
      op.wide_src = !pack && bits(t) == 64;
      op.vecs = static_cast<uint32_t>(k_.vecs.size());
      for (RegRef r : regs) k_.vecs.push_back(r);
      return true;
    }
    case Op::Cvta: {
      RegRef a = read(opnd(1), t);
      RegRef d = write_to(opnd(0), t);
      uint64_t window = 0;
      switch (in_->mods.space()) {
        case ptx::Space::Shared:
        case ptx::Space::SharedCta:
        case ptx::Space::SharedCluster:
          window = kSharedWindow;
          break;
        case ptx::Space::Local:
          window = kLocalWindow;
          break;
        default:
          break;  // global, const and param addresses are generic ones
      }
      if (!window) {
        mov(d, a);
        return true;
      }
      if (bits(t) != 64) {
        unsupported("32-bit generic address");
        return true;
      }
      alu(in_->mods.to() ? Fn::ISub : Fn::IAdd, Ty::U64, Mods{}, d,
          {a, constant(RegFile::Double, window)});
      return true;
    }
    case Op::Isspacep: {
      RegRef a = read(opnd(1), Ty::B64);
      RegRef d = write_to(opnd(0), Ty::Pred);
      MicroOp& op = emit(OpKind::IsSpace);
      op.dst = d;
      op.src[0] = a;
      op.num_src = 1;
      switch (in_->mods.space()) {
        case ptx::Space::Shared:
        case ptx::Space::SharedCta:
        case ptx::Space::SharedCluster:
          op.space = Space::Shared;
          break;
        case ptx::Space::Local:
          op.space = Space::Local;
          break;
        case ptx::Space::Const:
          op.space = Space::Const;
          break;
        case ptx::Space::Param:
        case ptx::Space::ParamEntry:
        case ptx::Space::ParamFunc:
          op.space = Space::Param;
          break;
        default:
          op.space = Space::Global;
          break;
      }
      return true;
    }
    default:
      return false;
  }
}

bool Decoder::cvt_op() {
  if (in_->op == Op::CvtX2) {  // d = {high: a, low: b}
    Ty half = type() == Ty::F16x2 ? Ty::F16 : Ty::BF16;
    Mods m = mods_of(*in_);
    m.type2 = Ty::F32;
    RegRef part[2];
    for (uint32_t i = 0; i < 2; ++i) {
      RegRef x = read(opnd(2 - i), Ty::F32);
      part[i] = temp(half);
      alu(Fn::CvtFF, half, m, part[i], {x});
      if (in_->mods.relu()) {
        RegRef r = temp(half);
        Mods nan;
        nan.nan = true;
        alu(Fn::Max, half, nan, r, {part[i], const32(0)});
        part[i] = r;
      }
    }
    if (in_->mods.saturate() == ptx::Saturate::Satfinite) unsupported("satfinite");
    RegRef d = write_to(opnd(0), Ty::B32);
    MicroOp& op = emit(OpKind::Pack);
    op.type = Ty::B16;
    op.vec = 2;
    op.dst = d;
    op.vecs = static_cast<uint32_t>(k_.vecs.size());
    k_.vecs.push_back(part[0]);
    k_.vecs.push_back(part[1]);
    return true;
  }
  if (in_->op != Op::Cvt) return false;
  cvt();
  return true;
}

void Decoder::cvt() {
  Ty to = type(0), from = type(1);
  Mods m = mods_of(*in_);
  m.type2 = from;
  if (in_->mods.saturate() == ptx::Saturate::Satfinite) unsupported("satfinite");
  RegRef src = read(opnd(1), from);
  // The destination register may be wider than `to`: extended by its sign (9.4.1).
  const Operand& d = opnd(0);
  RegRef dst;
  Ty reg = d.kind == ptx::OperandKind::Reg ? frame_->fn->reg_type(d.reg) : to;
  bool widen = bits(reg) > bits(to) && (is_int(to)) && is_signed(to);
  bool other_file = (bits(reg) > 32) != (bits(to) > 32);
  RegRef final_dst = write_to(d, other_file ? reg : to);
  dst = widen || other_file ? temp(to) : final_dst;
  if (is_int(to) && is_int(from)) {
    if (to == from && !m.sat) {
      mov(dst, src);
    } else {
      alu(Fn::CvtII, to, m, dst, {src});
    }
  } else if (is_int(to)) {
    alu(Fn::CvtFI, to, m, dst, {src});
  } else if (is_int(from)) {
    alu(Fn::CvtIF, to, m, dst, {src});
  } else {
    ptx::Rounding r = in_->mods.round();
    Fn integral = r == ptx::Rounding::Rni   ? Fn::Rint
                  : r == ptx::Rounding::Rzi ? Fn::Trunc
                  : r == ptx::Rounding::Rmi ? Fn::Floor
                                            : Fn::Ceil;
    bool to_integral = r == ptx::Rounding::Rni || r == ptx::Rounding::Rzi ||
                       r == ptx::Rounding::Rmi || r == ptx::Rounding::Rpi;
    bool sat = m.sat;
    bool relu = in_->mods.relu();
    Mods plain = m;
    plain.round = to_integral ? Round::Rn : m.round;
    plain.sat = false;
    RegRef x = src;
    auto step = [&](bool last, Fn fn, Ty ty, const Mods& mods, std::initializer_list<RegRef> in) {
      RegRef out = last ? dst : temp(ty);
      alu(fn, ty, mods, out, in);
      x = out;
    };
    bool rounds = to != from || (m.ftz && !to_integral && !sat);
    Mods own = plain;
    own.type2 = Ty::None;
    if (to_integral) step(!rounds && !sat && !relu, integral, from, own, {x});
    if (rounds) step(!sat && !relu, Fn::CvtFF, to, plain, {x});
    if (sat) step(!relu, Fn::Sat, to, own, {x});
    if (relu) {
      Mods nan;
      nan.nan = true;
      step(true, Fn::Max, to, nan,
           {x, constant(bits(to) > 32 ? RegFile::Double : RegFile::Word, 0)});
    }
    if (!to_integral && !rounds && !sat && !relu) mov(dst, src);
  }
  if (widen || other_file) {
    Mods ext;
    ext.type2 = to;
    Ty wide = bits(reg) > 32   ? (is_signed(to) ? Ty::S64 : Ty::U64)
              : bits(reg) > 16 ? (is_signed(to) ? Ty::S32 : Ty::U32)
                               : (is_signed(to) ? Ty::S16 : Ty::U16);
    alu(Fn::CvtII, wide, ext, final_dst, {dst});
  }
}

}  // namespace assay::machine
