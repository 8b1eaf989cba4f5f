// Integer arithmetic, logic and shifts.
#include "machine/decoder.h"

namespace assay::machine {
namespace {

using ptx::Op;

constexpr SimpleRow kInt[] = {
    {Op::AddI, Fn::IAdd, 2},   {Op::AddSat, Fn::IAdd, 2}, {Op::SubI, Fn::ISub, 2},
    {Op::SubSat, Fn::ISub, 2}, {Op::DivI, Fn::IDiv, 2},   {Op::RemI, Fn::IRem, 2},
    {Op::AbsI, Fn::IAbs, 1},   {Op::NegI, Fn::INeg, 1},   {Op::MinI, Fn::IMin, 2},
    {Op::MaxI, Fn::IMax, 2},   {Op::Popc, Fn::Popc, 1},   {Op::Clz, Fn::Clz, 1},
    {Op::Brev, Fn::Brev, 1},   {Op::Sad, Fn::Sad, 3},     {Op::And, Fn::And, 2},
    {Op::Or, Fn::Or, 2},       {Op::Xor, Fn::Xor, 2},     {Op::Not, Fn::Not, 1},
    {Op::Cnot, Fn::Cnot, 1},
};

}  // namespace

bool Decoder::int_op() {
  Ty t = type();
  Mods m = mods_of(*in_);
  auto a = [&](uint32_t n) { return read(opnd(n), t); };
  auto au = [&](uint32_t n) { return read(opnd(n), Ty::U32); };
  if (const SimpleRow* s = find_row(kInt, in_->op)) {
    bool counts = s->fn == Fn::Popc || s->fn == Fn::Clz;
    RegRef d = write_to(opnd(0), counts ? Ty::U32 : t);
    RegRef x = a(1);
    RegRef y = s->arity > 1 ? a(2) : RegRef{};
    RegRef z = s->arity > 2 ? a(3) : RegRef{};
    if (!d) return true;
    if (s->arity == 1) alu(s->fn, t, m, d, {x});
    if (s->arity == 2) alu(s->fn, t, m, d, {x, y});
    if (s->arity == 3) alu(s->fn, t, m, d, {x, y, z});
    return true;
  }
  auto mul_fn = [&] {
    return in_->mods.mul() == ptx::MulMode::Hi     ? Fn::IMulHi
           : in_->mods.mul() == ptx::MulMode::Wide ? Fn::IMulWide
                                                   : Fn::IMul;
  };
  auto wide = [&] {
    switch (t) {
      case Ty::U16:
        return Ty::U32;
      case Ty::S16:
        return Ty::S32;
      case Ty::U32:
        return Ty::U64;
      default:
        return Ty::S64;
    }
  };
  switch (in_->op) {
    case Op::MulI:
    case Op::MulWide: {
      Ty dt = in_->op == Op::MulWide ? wide() : t;
      RegRef x = a(1), y = a(2);
      alu(mul_fn(), t, m, write_to(opnd(0), dt), {x, y});
      return true;
    }
    case Op::MadI:
    case Op::MadWide: {
      Ty dt = in_->op == Op::MadWide ? wide() : t;
      RegRef x = a(1), y = a(2), z = read(opnd(3), dt);
      MicroOp& op = emit(OpKind::Mad);
      op.fn = mul_fn();
      op.type = t;
      op.mods = m;
      op.src = {x, y, z, {}};
      op.num_src = 3;
      RegRef d = write_to(opnd(0), dt);
      k_.ops.back().dst = d;
      k_.ops.back().wide_dst = is_wide(d);
      k_.ops.back().wide_src = is_wide(x);
      k_.ops.back().lane = lanes().mad(mul_fn(), t);
      return true;
    }
    case Op::MadHiSat: {
      RegRef p = temp(t), x = a(1), y = a(2), z = a(3);
      Mods none;
      alu(Fn::IMulHi, t, none, p, {x, y});
      alu(Fn::IAdd, t, m, write_to(opnd(0), t), {p, z});
      return true;
    }
    case Op::Mul24:
    case Op::Mad24:
    case Op::Mad24Sat: {  // the low 24 bits, as a number of 24 bits, 9.7.1.5
      Mods none, narrow, down;
      down.type2 = t == Ty::S32 ? Ty::S64 : Ty::U64;
      RegRef x = a(1), y = a(2), xs = temp(t), ys = temp(t), xt = temp(t), yt = temp(t);
      RegRef p = temp(Ty::B64), q = temp(Ty::B64), r = temp(t);
      alu(Fn::Shl, t, none, xs, {x, const32(8)});
      alu(Fn::Shr, t, none, xt, {xs, const32(8)});
      alu(Fn::Shl, t, none, ys, {y, const32(8)});
      alu(Fn::Shr, t, none, yt, {ys, const32(8)});
      alu(Fn::IMulWide, t, none, p, {xt, yt});
      if (in_->mods.mul() == ptx::MulMode::Hi) {
        alu(Fn::Shr, Ty::U64, none, q, {p, const32(16)});
      } else {
        q = p;
      }
      if (in_->op == Op::Mul24) {
        alu(Fn::CvtII, t, down, write_to(opnd(0), t), {q});
        return true;
      }
      alu(Fn::CvtII, t, down, r, {q});
      RegRef z = a(3);
      alu(Fn::IAdd, t, m, write_to(opnd(0), t), {r, z});
      return true;
    }
    case Op::MinRelu:
    case Op::MaxRelu: {
      RegRef r = temp(t), x = a(1), y = a(2);
      alu(in_->op == Op::MinRelu ? Fn::IMin : Fn::IMax, t, m, r, {x, y});
      alu(Fn::IMax, t, m, write_to(opnd(0), t), {r, const32(0)});
      return true;
    }
    case Op::Bfind: {
      m.imm = in_->mods.shiftamt() ? 1 : 0;
      RegRef x = a(1);
      alu(Fn::Bfind, t, m, write_to(opnd(0), Ty::U32), {x});
      return true;
    }
    case Op::Bfe: {
      RegRef x = a(1), y = au(2), z = au(3);
      alu(Fn::Bfe, t, m, write_to(opnd(0), t), {x, y, z});
      return true;
    }
    case Op::Bfi: {
      RegRef x = a(1), y = a(2), z = au(3), w = au(4);
      alu(Fn::Bfi, t, m, write_to(opnd(0), t), {x, y, z, w});
      return true;
    }
    case Op::Dp4a:
    case Op::Dp2a: {
      bool four = in_->op == Op::Dp4a;
      m.imm = static_cast<uint8_t>((is_signed(t) ? 1 : 0) | (is_signed(type(1)) ? 2 : 0) |
                                   (in_->mods.mul() == ptx::MulMode::Hi ? 4 : 0));
      RegRef x = read(opnd(1), Ty::B32), y = read(opnd(2), Ty::B32), z = au(3);
      alu(four ? Fn::Dp4a : Fn::Dp2a, t, m, write_to(opnd(0), Ty::U32), {x, y, z});
      return true;
    }
    case Op::Lop3: {
      m.imm = static_cast<uint8_t>(opnd(4).imm);
      RegRef x = a(1), y = a(2), z = a(3);
      alu(Fn::Lop3, t, m, write_to(opnd(0), t), {x, y, z});
      return true;
    }
    case Op::Shf: {
      m.imm = in_->mods.wrap() == ptx::WrapMode::Clamp ? 1 : 0;
      Fn fn = in_->mods.shift() == ptx::ShiftDir::L ? Fn::ShfL : Fn::ShfR;
      RegRef x = a(1), y = a(2), z = au(3);
      alu(fn, t, m, write_to(opnd(0), t), {x, y, z});
      return true;
    }
    case Op::Shl:
    case Op::Shr: {
      RegRef x = a(1), y = au(2);
      alu(in_->op == Op::Shl ? Fn::Shl : Fn::Shr, t, m, write_to(opnd(0), t), {x, y});
      return true;
    }
    case Op::Prmt: {
      m.imm = static_cast<uint8_t>(in_->mods.prmt());
      RegRef x = a(1), y = a(2), z = au(3);
      alu(Fn::Prmt, t, m, write_to(opnd(0), t), {x, y, z});
      return true;
    }
    case Op::AddCc:
    case Op::Addc:
    case Op::SubCc:
    case Op::Subc:
    case Op::MadCc:
    case Op::Madc: {
      bool mad = in_->op == Op::MadCc || in_->op == Op::Madc;
      bool sub = in_->op == Op::SubCc || in_->op == Op::Subc;
      if (!k_.carry) k_.carry = new_reg(Ty::Pred);
      RegRef x = a(1), y = a(2);
      if (mad) {
        RegRef p = temp(t);
        alu(mul_fn(), t, Mods{}, p, {x, y});
        x = p;
        y = a(3);
      }
      RegRef d = write_to(opnd(0), t);
      MicroOp& op = emit(OpKind::Carry);
      op.fn = sub ? Fn::ISub : Fn::IAdd;
      op.type = t;
      op.dst = d;
      op.wide_dst = op.wide_src = bits(t) == 64;
      op.reads_carry = in_->op == Op::Addc || in_->op == Op::Subc || in_->op == Op::Madc;
      op.writes_carry = in_->mods.cc();
      op.src = {x, y, k_.carry, {}};
      op.num_src = 2;
      return true;
    }
    default:
      return false;
  }
}

}  // namespace assay::machine
