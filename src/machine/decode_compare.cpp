// Comparisons and selections.
#include "machine/decoder.h"

namespace assay::machine {
namespace {

using ptx::Op;

Fn compare_fn(ptx::Cmp cmp) {
  switch (cmp) {
    case ptx::Cmp::Eq:
      return Fn::Eq;
    case ptx::Cmp::Ne:
      return Fn::Ne;
    case ptx::Cmp::Lt:
    case ptx::Cmp::Lo:
      return Fn::Lt;
    case ptx::Cmp::Le:
    case ptx::Cmp::Ls:
      return Fn::Le;
    case ptx::Cmp::Gt:
    case ptx::Cmp::Hi:
      return Fn::Gt;
    case ptx::Cmp::Ge:
    case ptx::Cmp::Hs:
      return Fn::Ge;
    case ptx::Cmp::Equ:
      return Fn::Equ;
    case ptx::Cmp::Neu:
      return Fn::Neu;
    case ptx::Cmp::Ltu:
      return Fn::Ltu;
    case ptx::Cmp::Leu:
      return Fn::Leu;
    case ptx::Cmp::Gtu:
      return Fn::Gtu;
    case ptx::Cmp::Geu:
      return Fn::Geu;
    case ptx::Cmp::Num:
      return Fn::Num;
    case ptx::Cmp::Nan:
      return Fn::Nan;
    default:
      return Fn::Eq;
  }
}

}  // namespace

bool Decoder::compare_op() {
  Ty t = type();
  Mods m = mods_of(*in_);
  ptx::Cmp c = in_->mods.cmp();
  Fn fn = compare_fn(c);
  auto combine = [&](MicroOp& op, RegRef p) {
    op.combine = static_cast<uint8_t>(in_->mods.boolop());
    op.src[2] = p;
    op.num_src = 3;
  };
  auto unsigned_cmp = [&](Ty x) {
    bool u = c == ptx::Cmp::Lo || c == ptx::Cmp::Ls || c == ptx::Cmp::Hi || c == ptx::Cmp::Hs;
    if (!u) return x;
    return bits(x) == 16 ? Ty::U16 : bits(x) == 32 ? Ty::U32 : Ty::U64;
  };
  bool has_bool = in_->mods.boolop() != ptx::BoolOp::None;
  switch (in_->op) {
    case Op::SetpI:
    case Op::SetpF:
    case Op::SetpH: {
      RegRef a = read(opnd(1), t), b = read(opnd(2), t);
      RegRef p = has_bool ? read_pred(opnd(3)) : RegRef{};
      RegRef d = write_to(opnd(0), Ty::Pred), d2;
      if (opnd(0).kind == ptx::OperandKind::Pair && opnd(0).reg2 >= 0) {
        RegRef& r = frame_->regs[static_cast<size_t>(opnd(0).reg2)];
        if (!r) r = new_reg(Ty::Pred);
        d2 = r;
      }
      setp(fn, unsigned_cmp(t), m, d, d2, a, b);
      if (has_bool) combine(k_.ops.back(), p);
      return true;
    }
    case Op::SetpHX2: {
      Ty half = t == Ty::F16x2 ? Ty::F16 : Ty::BF16;
      RegRef x[2] = {read(opnd(1), t), read(opnd(2), t)}, part[2][2];
      RegRef p = has_bool ? read_pred(opnd(3)) : RegRef{};
      for (int i = 0; i < 2; ++i) {
        part[i][0] = temp(half);
        part[i][1] = temp(half);
        MicroOp& op = emit(OpKind::Unpack);
        op.vec = 2;
        op.src[0] = x[i];
        op.num_src = 1;
        op.type = Ty::B16;
        op.vecs = static_cast<uint32_t>(k_.vecs.size());
        k_.vecs.push_back(part[i][0]);
        k_.vecs.push_back(part[i][1]);
      }
      RegRef d = write_to(opnd(0), Ty::Pred), d2;
      if (opnd(0).kind == ptx::OperandKind::Pair && opnd(0).reg2 >= 0) {
        RegRef& r = frame_->regs[static_cast<size_t>(opnd(0).reg2)];
        if (!r) r = new_reg(Ty::Pred);
        d2 = r;
      }
      if (d) {
        setp(fn, half, m, d, {}, part[0][0], part[1][0]);
        if (has_bool) combine(k_.ops.back(), p);
      }
      if (d2) {
        setp(fn, half, m, d2, {}, part[0][1], part[1][1]);
        if (has_bool) combine(k_.ops.back(), p);
      }
      return true;
    }
    case Op::SetI:
    case Op::SetF:
    case Op::SetH: {
      Ty u = type(1);
      RegRef a = read(opnd(1), u), b = read(opnd(2), u), p = temp(Ty::Pred);
      RegRef q = has_bool ? read_pred(opnd(3)) : RegRef{};
      setp(fn, unsigned_cmp(u), m, p, {}, a, b);
      if (has_bool) combine(k_.ops.back(), q);
      uint64_t one = t == Ty::F32    ? 0x3f800000u
                     : t == Ty::F16  ? 0x3c00u
                     : t == Ty::BF16 ? 0x3f80u
                     : bits(t) == 16 ? 0xffffu
                                     : 0xffffffffu;
      selp(write_to(opnd(0), t), const32(static_cast<uint32_t>(one)), const32(0), p);
      return true;
    }
    case Op::SetHX2: {
      Ty u = type(1);
      Ty half = u == Ty::F16x2 ? Ty::F16 : Ty::BF16;
      RegRef a = read(opnd(1), u), b = read(opnd(2), u);
      RegRef q = has_bool ? read_pred(opnd(3)) : RegRef{};
      uint32_t one = t == Ty::F16x2 ? 0x3c00u : t == Ty::BF16x2 ? 0x3f80u : 0xffffu;
      per_half(half, write_to(opnd(0), t), {a, b}, [&](const std::vector<RegRef>& x) {
        RegRef p = temp(Ty::Pred), r = temp(Ty::B16);
        setp(fn, half, m, p, {}, x[0], x[1]);
        if (has_bool) combine(k_.ops.back(), q);
        selp(r, const32(one), const32(0), p);
        return r;
      });
      return true;
    }
    case Op::Selp: {
      RegRef a = read(opnd(1), t), b = read(opnd(2), t), p = read_pred(opnd(3));
      selp(write_to(opnd(0), t), a, b, p);
      k_.ops.back().type = t;
      return true;
    }
    case Op::SlctI:
    case Op::SlctF: {
      Ty u = type(1);
      RegRef a = read(opnd(1), t), b = read(opnd(2), t), x = read(opnd(3), u), p = temp(Ty::Pred);
      setp(Fn::Ge, u, m, p, {}, x, constant(file_of(x), 0));
      selp(write_to(opnd(0), t), a, b, p);
      k_.ops.back().type = t;
      return true;
    }
    default:
      return false;
  }
}

}  // namespace assay::machine
