// Integer, float, comparison, move and conversion instructions.
#include "machine/decoder.h"

namespace assay::machine {
namespace {

using ptx::Op;

// Rows whose micro-operation is one Fn on operands of one type.
struct Simple {
  Op op;
  Fn fn;
  uint8_t arity;
};
constexpr Simple kInt[] = {
    {Op::AddI, Fn::IAdd, 2},   {Op::AddSat, Fn::IAdd, 2}, {Op::SubI, Fn::ISub, 2},
    {Op::SubSat, Fn::ISub, 2}, {Op::DivI, Fn::IDiv, 2},   {Op::RemI, Fn::IRem, 2},
    {Op::AbsI, Fn::IAbs, 1},   {Op::NegI, Fn::INeg, 1},   {Op::MinI, Fn::IMin, 2},
    {Op::MaxI, Fn::IMax, 2},   {Op::Popc, Fn::Popc, 1},   {Op::Clz, Fn::Clz, 1},
    {Op::Brev, Fn::Brev, 1},   {Op::Sad, Fn::Sad, 3},     {Op::And, Fn::And, 2},
    {Op::Or, Fn::Or, 2},       {Op::Xor, Fn::Xor, 2},     {Op::Not, Fn::Not, 1},
    {Op::Cnot, Fn::Cnot, 1},
};
constexpr Simple kFloat[] = {
    {Op::AddF, Fn::Add, 2},        {Op::SubF, Fn::Sub, 2},       {Op::MulF, Fn::Mul, 2},
    {Op::FmaF, Fn::Fma, 3},        {Op::MadF, Fn::Fma, 3},       {Op::DivF, Fn::Div, 2},
    {Op::DivApprox, Fn::Div, 2},   {Op::AbsF, Fn::Abs, 1},       {Op::NegF, Fn::Neg, 1},
    {Op::MinF, Fn::Min, 2},        {Op::MaxF, Fn::Max, 2},       {Op::Rcp, Fn::Rcp, 1},
    {Op::RcpApprox, Fn::Rcp, 1},   {Op::RcpApproxD, Fn::Rcp, 1}, {Op::Sqrt, Fn::Sqrt, 1},
    {Op::SqrtApprox, Fn::Sqrt, 1}, {Op::Rsqrt, Fn::Rsqrt, 1},    {Op::Sin, Fn::Sin, 1},
    {Op::Cos, Fn::Cos, 1},         {Op::Lg2, Fn::Log2, 1},       {Op::Ex2, Fn::Exp2, 1},
    {Op::Tanh, Fn::Tanh, 1},
};
constexpr Simple kHalf[] = {
    {Op::AddH, Fn::Add, 2},  {Op::SubH, Fn::Sub, 2}, {Op::MulH, Fn::Mul, 2},
    {Op::FmaH, Fn::Fma, 3},  {Op::NegH, Fn::Neg, 1}, {Op::AbsH, Fn::Abs, 1},
    {Op::MinH, Fn::Min, 2},  {Op::MaxH, Fn::Max, 2}, {Op::TanhH, Fn::Tanh, 1},
    {Op::Ex2H, Fn::Exp2, 1},
};

template <size_t n>
const Simple* find(const Simple (&rows)[n], Op op) {
  for (const Simple& s : rows) {
    if (s.op == op) return &s;
  }
  return nullptr;
}

uint64_t float_bits(Ty t, double v) {
  if (t == Ty::F64) return __builtin_bit_cast(uint64_t, v);
  return __builtin_bit_cast(uint32_t, static_cast<float>(v));
}

}  // namespace

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

void Decoder::instr() {
  if (ptx::row(in_->op).status != ptx::OpStatus::Executed) {
    unsupported("not executed");
    return;
  }
  if (in_->guard >= 0 && in_->op == Op::Call) {  // run around it
    RegRef& g = frame_->regs[static_cast<size_t>(in_->guard)];
    if (!g) g = new_reg(Ty::Pred);
    emit(OpKind::Bra).guard_neg = !in_->guard_negated;
    size_t skip = k_.ops.size() - 1;
    Instr plain = *in_;
    plain.guard = ptx::kNone;
    const Instr* guarded = in_;
    in_ = &plain;
    call();
    in_ = guarded;
    k_.ops[skip].target = static_cast<uint32_t>(k_.ops.size());
    return;
  }
  if (int_op() || float_op() || half_op() || compare_op() || move_op() || cvt_op() || mem_op() ||
      warp_op() || ctl_op()) {
    return;
  }
  unsupported("not executed");
}

bool Decoder::int_op() {
  Ty t = type();
  Mods m = mods_of(*in_);
  auto a = [&](uint32_t n) { return read(opnd(n), t); };
  auto au = [&](uint32_t n) { return read(opnd(n), Ty::U32); };
  if (const Simple* s = find(kInt, in_->op)) {
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

bool Decoder::float_op() {
  Ty t = type();
  Mods m = mods_of(*in_);
  if (const Simple* s = find(kFloat, in_->op)) {
    if (in_->mods.precision() == ptx::Precision::Full) m.imm = 1;
    RegRef x = read(opnd(1), t);
    RegRef y = s->arity > 1 ? read(opnd(2), t) : RegRef{};
    RegRef z = s->arity > 2 ? read(opnd(3), t) : RegRef{};
    RegRef d = write_to(opnd(0), t);
    if (s->arity == 1) alu(s->fn, t, m, d, {x});
    if (s->arity == 2) alu(s->fn, t, m, d, {x, y});
    if (s->arity == 3) alu(s->fn, t, m, d, {x, y, z});
    return true;
  }
  switch (in_->op) {
    case Op::Copysign: {  // sign of the first operand, magnitude of the second
      RegRef x = read(opnd(1), t), y = read(opnd(2), t);
      alu(Fn::Copysign, t, m, write_to(opnd(0), t), {y, x});
      return true;
    }
    case Op::Testp: {
      RegRef x = read(opnd(1), t), ax = temp(t), p = temp(Ty::Pred), q = temp(Ty::Pred);
      RegRef d = write_to(opnd(0), Ty::Pred);
      RegFile file = file_of(x);
      Mods none;
      double tiny = t == Ty::F64 ? __DBL_MIN__ : static_cast<double>(__FLT_MIN__);
      RegRef inf = constant(file, float_bits(t, __builtin_inf()));
      RegRef least = constant(file, float_bits(t, tiny));
      RegRef zero = constant(file, 0);
      auto logic = [&](Fn fn, RegRef dst, RegRef u, RegRef v) {
        MicroOp& op = emit(OpKind::PLogic);
        op.fn = fn;
        op.dst = dst;
        op.src = {u, v, {}, {}};
        op.num_src = 2;
      };
      alu(Fn::Abs, t, none, ax, {x});
      switch (in_->mods.test()) {
        case ptx::TestOp::Finite:
          setp(Fn::Lt, t, none, d, {}, ax, inf);
          break;
        case ptx::TestOp::Infinite:
          setp(Fn::Eq, t, none, d, {}, ax, inf);
          break;
        case ptx::TestOp::Number:
          setp(Fn::Num, t, none, d, {}, x, x);
          break;
        case ptx::TestOp::Notanumber:
          setp(Fn::Nan, t, none, d, {}, x, x);
          break;
        case ptx::TestOp::Normal: {  // zeros count as normal, 9.7.3.1
          RegRef r = temp(Ty::Pred);
          setp(Fn::Ge, t, none, p, {}, ax, least);
          setp(Fn::Eq, t, none, q, {}, ax, zero);
          logic(Fn::POr, r, p, q);
          setp(Fn::Lt, t, none, p, {}, ax, inf);
          logic(Fn::PAnd, d, p, r);
          break;
        }
        default:
          setp(Fn::Lt, t, none, p, {}, ax, least);
          setp(Fn::Gt, t, none, q, {}, ax, zero);
          logic(Fn::PAnd, d, p, q);
      }
      return true;
    }
    case Op::MinXorsign:
    case Op::MaxXorsign: {  // of magnitudes; sign: exclusive or of the signs
      RegRef x = read(opnd(1), t), y = read(opnd(2), t), ax = temp(t), ay = temp(t), r = temp(t);
      RegRef s = temp(Ty::B32), s1 = temp(Ty::B32);
      Mods none;
      alu(Fn::Abs, t, none, ax, {x});
      alu(Fn::Abs, t, none, ay, {y});
      alu(in_->op == Op::MinXorsign ? Fn::Min : Fn::Max, t, m, r, {ax, ay});
      alu(Fn::Xor, Ty::B32, none, s, {x, y});
      alu(Fn::And, Ty::B32, none, s1, {s, const32(0x80000000u)});
      alu(Fn::Xor, Ty::B32, none, write_to(opnd(0), t), {r, s1});
      return true;
    }
    default:
      return false;
  }
}

template <class Body>
void Decoder::per_half(Ty half, RegRef dst, const std::vector<RegRef>& src, Body body) {
  RegRef out[2];
  std::vector<RegRef> part[2];
  for (RegRef s : src) {
    RegRef lo = temp(half), hi = temp(half);
    MicroOp& op = emit(OpKind::Unpack);
    op.vec = 2;
    op.src[0] = s;
    op.num_src = 1;
    op.type = unsigned_of(half);
    op.vecs = static_cast<uint32_t>(k_.vecs.size());
    k_.vecs.push_back(lo);
    k_.vecs.push_back(hi);
    part[0].push_back(lo);
    part[1].push_back(hi);
  }
  for (int h = 0; h < 2; ++h) out[h] = body(part[h]);
  MicroOp& op = emit(OpKind::Pack);
  op.vec = 2;
  op.dst = dst;
  op.type = unsigned_of(half);
  op.vecs = static_cast<uint32_t>(k_.vecs.size());
  k_.vecs.push_back(out[0]);
  k_.vecs.push_back(out[1]);
}

bool Decoder::half_op() {
  const Simple* s = find(kHalf, in_->op);
  if (!s) return false;
  Ty t = type();
  bool packed = t == Ty::F16x2 || t == Ty::BF16x2;
  Ty half = t == Ty::F16x2 ? Ty::F16 : t == Ty::BF16x2 ? Ty::BF16 : t;
  Mods m = mods_of(*in_);
  std::vector<RegRef> src;
  for (uint32_t i = 1; i <= s->arity; ++i) src.push_back(read(opnd(i), t));
  RegRef d = write_to(opnd(0), t);
  bool relu = in_->mods.relu();
  auto one = [&](const std::vector<RegRef>& x, RegRef dst) {
    RegRef r = relu ? temp(half) : dst;
    if (s->arity == 1) alu(s->fn, half, m, r, {x[0]});
    if (s->arity == 2) alu(s->fn, half, m, r, {x[0], x[1]});
    if (s->arity == 3) alu(s->fn, half, m, r, {x[0], x[1], x[2]});
    if (relu) {  // NaN stays NaN
      Mods nan;
      nan.nan = true;
      alu(Fn::Max, half, nan, dst, {r, const32(0)});
    }
  };
  if (!packed) {
    one(src, d);
    return true;
  }
  per_half(half, d, src, [&](const std::vector<RegRef>& x) {
    RegRef r = temp(half);
    one(x, r);
    return r;
  });
  return true;
}

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
