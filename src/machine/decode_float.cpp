// Floating-point arithmetic: single, double, halves and pairs of halves.
#include "machine/decoder.h"

namespace assay::machine {
namespace {

using ptx::Op;

constexpr SimpleRow kFloat[] = {
    {Op::AddF, Fn::Add, 2},        {Op::SubF, Fn::Sub, 2},       {Op::MulF, Fn::Mul, 2},
    {Op::FmaF, Fn::Fma, 3},        {Op::MadF, Fn::Fma, 3},       {Op::DivF, Fn::Div, 2},
    {Op::DivApprox, Fn::Div, 2},   {Op::AbsF, Fn::Abs, 1},       {Op::NegF, Fn::Neg, 1},
    {Op::MinF, Fn::Min, 2},        {Op::MaxF, Fn::Max, 2},       {Op::Rcp, Fn::Rcp, 1},
    {Op::RcpApprox, Fn::Rcp, 1},   {Op::RcpApproxD, Fn::Rcp, 1}, {Op::Sqrt, Fn::Sqrt, 1},
    {Op::SqrtApprox, Fn::Sqrt, 1}, {Op::Rsqrt, Fn::Rsqrt, 1},    {Op::Sin, Fn::Sin, 1},
    {Op::Cos, Fn::Cos, 1},         {Op::Lg2, Fn::Log2, 1},       {Op::Ex2, Fn::Exp2, 1},
    {Op::Tanh, Fn::Tanh, 1},
};
constexpr SimpleRow kHalf[] = {
    {Op::AddH, Fn::Add, 2},  {Op::SubH, Fn::Sub, 2}, {Op::MulH, Fn::Mul, 2},
    {Op::FmaH, Fn::Fma, 3},  {Op::NegH, Fn::Neg, 1}, {Op::AbsH, Fn::Abs, 1},
    {Op::MinH, Fn::Min, 2},  {Op::MaxH, Fn::Max, 2}, {Op::TanhH, Fn::Tanh, 1},
    {Op::Ex2H, Fn::Exp2, 1},
};

uint64_t float_bits(Ty t, double v) {
  if (t == Ty::F64) return __builtin_bit_cast(uint64_t, v);
  return __builtin_bit_cast(uint32_t, static_cast<float>(v));
}

}  // namespace

bool Decoder::float_op() {
  Ty t = type();
  Mods m = mods_of(*in_);
  if (const SimpleRow* s = find_row(kFloat, in_->op)) {
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

bool Decoder::half_op() {
  const SimpleRow* s = find_row(kHalf, in_->op);
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

}  // namespace assay::machine
