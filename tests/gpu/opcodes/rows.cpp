#include "tests/gpu/opcodes/rows.h"

#include <bit>
#include <cmath>
#include <random>

#include "base/ieee.h"

namespace assay::opcodes {
namespace {

struct Mode {
  const char* text;
  Round round;
};
constexpr Mode kModes[] = {
    {".rn", Round::Rn}, {".rz", Round::Rz}, {".rm", Round::Rm}, {".rp", Round::Rp}};

std::string text(Ty t) { return std::string(info(t).text); }

class Builder {
 public:
  std::vector<Row> rows;

  // "op%d, %a, ..." with arity operands of one type.
  Row& add(const std::string& op, Fn fn, Ty type, int arity, Mods mods = {}) {
    return add(op, fn, type, std::vector<Ty>(static_cast<size_t>(arity), type), type, mods);
  }

  Row& add(const std::string& op, Fn fn, Ty type, std::vector<Ty> operands, Ty result,
           Mods mods = {}) {
    static const char* const names[] = {", %a", ", %b", ", %c", ", %e"};
    Row r;
    r.ptx = op + " %d";
    for (size_t i = 0; i < operands.size(); ++i) {
      r.ptx += names[i];
      r.order.push_back(static_cast<int>(i));
    }
    r.fn = fn;
    r.type = type;
    r.mods = mods;
    r.operands = std::move(operands);
    r.result = result;
    if (result == Ty::Pred) r.ptx.replace(r.ptx.find("%d"), 2, "%p");
    rows.push_back(std::move(r));
    return rows.back();
  }

  void floats();
  void halves();
  void approximations();
  void comparisons();
  void integers();
  void bits_and_bytes();
  void conversions();

 private:
  void rounded(Ty t, const std::vector<bool>& ftz, const std::vector<bool>& sat);
  void cvt(const std::string& suffix, Fn fn, Ty to, Ty from, Mods m);
};

Mods with(Round round, bool ftz = false, bool sat = false) {
  Mods m;
  m.round = round;
  m.ftz = ftz;
  m.sat = sat;
  return m;
}

// add, sub, mul, fma, div, rcp, sqrt in four modes (PTX ISA 9.7.3).
void Builder::rounded(Ty t, const std::vector<bool>& ftz, const std::vector<bool>& sat) {
  for (const Mode& mode : kModes) {
    for (bool z : ftz) {
      const std::string f = z ? ".ftz" : "";
      for (bool s : sat) {
        const Mods m = with(mode.round, z, s);
        const std::string tail = mode.text + f + (s ? ".sat." : ".") + text(t);
        add("add" + tail, Fn::Add, t, 2, m);
        add("sub" + tail, Fn::Sub, t, 2, m);
        add("mul" + tail, Fn::Mul, t, 2, m);
        add("fma" + tail, Fn::Fma, t, 3, m);
      }
      const Mods m = with(mode.round, z);
      const std::string tail = mode.text + f + "." + text(t);
      add("div" + tail, Fn::Div, t, 2, m);
      add("rcp" + tail, Fn::Rcp, t, 1, m);
      add("sqrt" + tail, Fn::Sqrt, t, 1, m);
    }
  }
}

void Builder::floats() {
  rounded(Ty::F32, {false, true}, {false, true});
  rounded(Ty::F64, {false}, {false});
  for (bool z : {false, true}) {
    const std::string f = z ? ".ftz" : "";
    for (bool nan : {false, true}) {
      Mods m = with(Round::Rn, z);
      m.nan = nan;
      add("min" + f + (nan ? ".NaN" : "") + ".f32", Fn::Min, Ty::F32, 2, m);
      add("max" + f + (nan ? ".NaN" : "") + ".f32", Fn::Max, Ty::F32, 2, m);
    }
    add("neg" + f + ".f32", Fn::Neg, Ty::F32, 1, with(Round::Rn, z));
    add("abs" + f + ".f32", Fn::Abs, Ty::F32, 1, with(Round::Rn, z));
  }
  add("min.f64", Fn::Min, Ty::F64, 2);
  add("max.f64", Fn::Max, Ty::F64, 2);
  add("neg.f64", Fn::Neg, Ty::F64, 1);
  add("abs.f64", Fn::Abs, Ty::F64, 1);
  for (Ty t : {Ty::F32, Ty::F64}) {
    // copysign d, a, b: the sign of a, the magnitude of b.
    add("copysign." + text(t), Fn::Copysign, t, 2).order = {1, 0};
    add("testp.infinite." + text(t), Fn::IsInf, t, {t}, Ty::Pred);
  }
}

void Builder::halves() {
  for (Ty t : {Ty::F16, Ty::F16x2, Ty::BF16, Ty::BF16x2}) {
    const bool half = t == Ty::F16 || t == Ty::F16x2;
    for (bool z : {false, true}) {
      if (z && !half) continue;
      for (bool s : {false, true}) {
        if (s && !half) continue;
        const Mods m = with(Round::Rn, z, s);
        const std::string tail =
            std::string(".rn") + (z ? ".ftz" : "") + (s ? ".sat." : ".") + text(t);
        add("add" + tail, Fn::Add, t, 2, m);
        add("sub" + tail, Fn::Sub, t, 2, m);
        add("mul" + tail, Fn::Mul, t, 2, m);
        add("fma" + tail, Fn::Fma, t, 3, m);
      }
      for (bool nan : {false, true}) {
        Mods m = with(Round::Rn, z);
        m.nan = nan;
        const std::string tail = std::string(z ? ".ftz" : "") + (nan ? ".NaN." : ".") + text(t);
        add("min" + tail, Fn::Min, t, 2, m);
        add("max" + tail, Fn::Max, t, 2, m);
      }
      const std::string tail = std::string(z ? ".ftz." : ".") + text(t);
      add("neg" + tail, Fn::Neg, t, 1, with(Round::Rn, z));
      add("abs" + tail, Fn::Abs, t, 1, with(Round::Rn, z));
    }
  }
}

// Errors as stated in PTX ISA 9.7.3 and 9.7.4 for each approximate form.
void Builder::approximations() {
  for (bool z : {false, true}) {
    Mods m = with(Round::Rn, z);
    m.approx = true;
    const std::string f = z ? ".ftz.f32" : ".f32";
    add("rcp.approx" + f, Fn::Rcp, Ty::F32, 1, m).ulps = 1;
    add("sqrt.approx" + f, Fn::Sqrt, Ty::F32, 1, m).ulps = 3;    // relative error 2^-23 and more
    add("rsqrt.approx" + f, Fn::Rsqrt, Ty::F32, 1, m).ulps = 4;  // 2^-22.9
    Row& div = add("div.approx" + f, Fn::Div, Ty::F32, 2, m);
    div.ulps = 2;
    m.imm = 1;
    add("div.full" + f, Fn::Div, Ty::F32, 2, m).ulps = 2;
    m.imm = 0;
    add("ex2.approx" + f, Fn::Exp2, Ty::F32, 1, m).ulps = 2;  // 2 ulp
    Row& lg2 = add("lg2.approx" + f, Fn::Log2, Ty::F32, 1, m);
    lg2.absolute = 0x1p-22;
    lg2.ulps = 4;
    for (auto [name, fn] : {std::pair{"sin", Fn::Sin}, {"cos", Fn::Cos}}) {
      Row& r = add(name + std::string(".approx") + f, fn, Ty::F32, 1, m);
      r.absolute = 0x1p-20;  // 2^-20.5 and 2^-20.9 in [-pi, pi]
      r.lo = 0;
      r.hi = 3.14;
    }
  }
  Mods m;
  m.approx = true;
  Row& tanh = add("tanh.approx.f32", Fn::Tanh, Ty::F32, 1, m);
  tanh.ulps = std::ldexp(1.0, 24 - 11);  // relative error 2^-11
  add("rsqrt.approx.f64", Fn::Rsqrt, Ty::F64, 1, m).ulps = std::ldexp(1.0, 53 - 22);
  m.ftz = true;  // seeds: about 20 bits
  add("rcp.approx.ftz.f64", Fn::Rcp, Ty::F64, 1, m).ulps = std::ldexp(1.0, 53 - 18);
  add("rsqrt.approx.ftz.f64", Fn::Rsqrt, Ty::F64, 1, m).ulps = std::ldexp(1.0, 53 - 18);
  m.ftz = false;
  for (Ty t : {Ty::F16, Ty::F16x2}) {
    add("ex2.approx." + text(t), Fn::Exp2, t, 1, m).ulps = 2;
    add("tanh.approx." + text(t), Fn::Tanh, t, 1, m).ulps = 2;
  }
  for (Ty t : {Ty::BF16, Ty::BF16x2}) {
    add("tanh.approx." + text(t), Fn::Tanh, t, 1, m).ulps = 2;
    Mods z = m;
    z.ftz = true;
    add("ex2.approx.ftz." + text(t), Fn::Exp2, t, 1, z).ulps = 2;
  }
}

void Builder::comparisons() {
  struct Cmp {
    const char* name;
    Fn fn;
  };
  static constexpr Cmp kFloat[] = {
      {"eq", Fn::Eq},   {"ne", Fn::Ne},   {"lt", Fn::Lt},   {"le", Fn::Le},   {"gt", Fn::Gt},
      {"ge", Fn::Ge},   {"equ", Fn::Equ}, {"neu", Fn::Neu}, {"ltu", Fn::Ltu}, {"leu", Fn::Leu},
      {"gtu", Fn::Gtu}, {"geu", Fn::Geu}, {"num", Fn::Num}, {"nan", Fn::Nan}};
  for (const Cmp& c : kFloat) {
    for (Ty t : {Ty::F32, Ty::F64, Ty::F16, Ty::BF16}) {
      add(std::string("setp.") + c.name + "." + text(t), c.fn, t, {t, t}, Ty::Pred);
    }
    add(std::string("setp.") + c.name + ".ftz.f32", c.fn, Ty::F32, {Ty::F32, Ty::F32}, Ty::Pred,
        with(Round::Rn, true));
  }
  for (size_t i = 0; i < 6; ++i) {
    for (Ty t : {Ty::U16, Ty::S16, Ty::U32, Ty::S32, Ty::U64, Ty::S64}) {
      add(std::string("setp.") + kFloat[i].name + "." + text(t), kFloat[i].fn, t, {t, t}, Ty::Pred);
    }
  }
}

void Builder::integers() {
  for (Ty t : {Ty::U16, Ty::S16, Ty::U32, Ty::S32, Ty::U64, Ty::S64}) {
    const std::string s = "." + text(t);
    add("add" + s, Fn::IAdd, t, 2);
    add("sub" + s, Fn::ISub, t, 2);
    add("mul.lo" + s, Fn::IMul, t, 2);
    add("mul.hi" + s, Fn::IMulHi, t, 2);
    add("div" + s, Fn::IDiv, t, 2);
    add("rem" + s, Fn::IRem, t, 2);
    add("min" + s, Fn::IMin, t, 2);
    add("max" + s, Fn::IMax, t, 2);
    add("sad" + s, Fn::Sad, t, 3);
    add("shr" + s, Fn::Shr, t, {t, Ty::U32}, t);
    if (!is_signed(t)) continue;
    add("neg" + s, Fn::INeg, t, 1);
    add("abs" + s, Fn::IAbs, t, 1);
  }
  add("add.sat.s32", Fn::IAdd, Ty::S32, 2, with(Round::Rn, false, true));
  add("sub.sat.s32", Fn::ISub, Ty::S32, 2, with(Round::Rn, false, true));
  add("mul.wide.u16", Fn::IMulWide, Ty::U16, {Ty::U16, Ty::U16}, Ty::U32);
  add("mul.wide.s16", Fn::IMulWide, Ty::S16, {Ty::S16, Ty::S16}, Ty::S32);
  add("mul.wide.u32", Fn::IMulWide, Ty::U32, {Ty::U32, Ty::U32}, Ty::U64);
  add("mul.wide.s32", Fn::IMulWide, Ty::S32, {Ty::S32, Ty::S32}, Ty::S64);
  for (uint8_t sign = 0; sign < 4; ++sign) {
    const Ty a = (sign & 1) != 0 ? Ty::S32 : Ty::U32, b = (sign & 2) != 0 ? Ty::S32 : Ty::U32;
    const std::string types = "." + text(a) + "." + text(b);
    Mods m;
    m.imm = sign;
    add("dp4a" + types, Fn::Dp4a, Ty::S32, 3, m);
    add("dp2a.lo" + types, Fn::Dp2a, Ty::S32, 3, m);
    m.imm = sign | 4;
    add("dp2a.hi" + types, Fn::Dp2a, Ty::S32, 3, m);
  }
}

void Builder::bits_and_bytes() {
  for (Ty t : {Ty::B16, Ty::B32, Ty::B64}) {
    const std::string s = "." + text(t);
    add("and" + s, Fn::And, t, 2);
    add("or" + s, Fn::Or, t, 2);
    add("xor" + s, Fn::Xor, t, 2);
    add("not" + s, Fn::Not, t, 1);
    add("cnot" + s, Fn::Cnot, t, 1);
    add("shl" + s, Fn::Shl, t, {t, Ty::U32}, t);
    add("shr" + s, Fn::Shr, t, {t, Ty::U32}, t);
  }
  for (Ty t : {Ty::B32, Ty::B64}) {
    const std::string s = "." + text(t);
    add("popc" + s, Fn::Popc, t, {t}, Ty::U32);
    add("clz" + s, Fn::Clz, t, {t}, Ty::U32);
    add("brev" + s, Fn::Brev, t, 1);
    add("bfi" + s, Fn::Bfi, t, {t, t, Ty::U32, Ty::U32}, t);
  }
  for (Ty t : {Ty::U32, Ty::S32, Ty::U64, Ty::S64}) {
    const std::string s = "." + text(t);
    add("bfe" + s, Fn::Bfe, t, {t, Ty::U32, Ty::U32}, t);
    add("bfind" + s, Fn::Bfind, t, {t}, Ty::U32);
    Mods m;
    m.imm = 1;
    add("bfind.shiftamt" + s, Fn::Bfind, t, {t}, Ty::U32, m);
  }
  for (int table : {0x80, 0xe8, 0x96, 0x1b, 0xfe, 0x00, 0x3c}) {
    Mods m;
    m.imm = static_cast<uint8_t>(table);
    add("lop3.b32", Fn::Lop3, Ty::B32, 3, m).ptx += ", " + std::to_string(table);
  }
  const char* const modes[] = {"", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"};
  for (uint8_t i = 0; i < 7; ++i) {
    Mods m;
    m.imm = i;
    add(std::string("prmt.b32") + modes[i], Fn::Prmt, Ty::B32, 3, m);
  }
  for (uint8_t clamp = 0; clamp < 2; ++clamp) {
    Mods m;
    m.imm = clamp;
    const std::string s = clamp != 0 ? ".clamp.b32" : ".wrap.b32";
    add("shf.l" + s, Fn::ShfL, Ty::B32, {Ty::B32, Ty::B32, Ty::U32}, Ty::B32, m);
    add("shf.r" + s, Fn::ShfR, Ty::B32, {Ty::B32, Ty::B32, Ty::U32}, Ty::B32, m);
  }
}

void Builder::cvt(const std::string& suffix, Fn fn, Ty to, Ty from, Mods m) {
  m.type2 = from;
  add("cvt" + suffix + "." + text(to) + "." + text(from), fn, to, {from}, to, m);
}

constexpr Ty kIntTypes[] = {Ty::U8, Ty::S8, Ty::U16, Ty::S16, Ty::U32, Ty::S32, Ty::U64, Ty::S64};

void Builder::conversions() {
  const auto cvt_ftz = [&](const std::string& suffix, Fn fn, Ty to, Ty from, Mods m) {
    cvt(suffix, fn, to, from, m);
    if (to != Ty::F32 && from != Ty::F32) return;
    m.ftz = true;
    cvt(suffix + ".ftz", fn, to, from, m);
  };
  for (const Mode& mode : kModes) {
    cvt_ftz(mode.text, Fn::CvtFF, Ty::F32, Ty::F64, with(mode.round));
    for (Ty from : {Ty::F32, Ty::F64}) {
      cvt(mode.text, Fn::CvtFF, Ty::F16, from, with(mode.round));
      cvt(mode.text + std::string(".sat"), Fn::CvtFF, Ty::F16, from, with(mode.round, false, true));
    }
    cvt(mode.text + std::string(".sat"), Fn::CvtFF, Ty::F32, Ty::F64,
        with(mode.round, false, true));
    const std::string integral = mode.text + std::string("i");
    const Fn fn = mode.round == Round::Rn   ? Fn::Rint
                  : mode.round == Round::Rz ? Fn::Trunc
                  : mode.round == Round::Rm ? Fn::Floor
                                            : Fn::Ceil;
    for (Ty t : {Ty::F16, Ty::F32, Ty::F64}) {
      cvt_ftz(integral, fn, t, t, Mods{});
      for (Ty to : kIntTypes) cvt(integral, Fn::CvtFI, to, t, with(mode.round));
      for (Ty from : kIntTypes) cvt(mode.text, Fn::CvtIF, t, from, with(mode.round));
    }
    for (Ty to : {Ty::S32, Ty::U32, Ty::S64, Ty::U64}) {
      cvt(integral + ".ftz", Fn::CvtFI, to, Ty::F32, with(mode.round, true));
    }
    for (Ty t : kIntTypes) {
      if (bits(t) == 8) continue;  // ptxas has no such forms for bf16
      cvt(integral, Fn::CvtFI, t, Ty::BF16, with(mode.round));
      cvt(mode.text, Fn::CvtIF, Ty::BF16, t, with(mode.round));
    }
  }
  cvt(".rn", Fn::CvtFF, Ty::BF16, Ty::F32, with(Round::Rn));
  cvt(".rz", Fn::CvtFF, Ty::BF16, Ty::F32, with(Round::Rz));
  cvt_ftz("", Fn::CvtFF, Ty::F32, Ty::F16, Mods{});
  cvt_ftz("", Fn::CvtFF, Ty::F64, Ty::F32, Mods{});
  cvt("", Fn::CvtFF, Ty::F64, Ty::F16, Mods{});
  cvt("", Fn::CvtFF, Ty::F32, Ty::BF16, Mods{});
  cvt_ftz(".sat", Fn::CvtFF, Ty::F32, Ty::F32, with(Round::Rn, false, true));
  for (Ty to : kIntTypes) {
    for (Ty from : kIntTypes) {
      if (to == from) continue;
      cvt("", Fn::CvtII, to, from, Mods{});
      // .sat is an error where the destination holds every value of the source.
      const bool holds = is_signed(to) == is_signed(from) ? bits(to) >= bits(from)
                                                          : is_signed(to) && bits(to) > bits(from);
      if (!holds) cvt(".sat", Fn::CvtII, to, from, with(Round::Rn, false, true));
    }
  }
}

// Corners: every interesting pattern of the type.
std::vector<uint64_t> float_corners(int mant, int exp_bits) {
  const uint64_t one = uint64_t{1}, top = (one << exp_bits) - 1, frac = (one << mant) - 1;
  const uint64_t bias = top >> 1, sign = one << (mant + exp_bits);
  const std::vector<uint64_t> magnitudes = {0,
                                            1,
                                            frac,
                                            one << mant,
                                            (one << mant) | 1,
                                            bias << mant,
                                            bias << mant | 1,
                                            (bias - 1) << mant,
                                            (bias - 1) << mant | frac,
                                            (bias + 1) << mant | frac >> 1,
                                            (bias + static_cast<uint64_t>(mant)) << mant | 1,
                                            (top - 1) << mant | frac,
                                            top << mant,
                                            top << mant | ((frac >> 1) + 1),
                                            top << mant | 1};
  std::vector<uint64_t> v;
  for (uint64_t m : magnitudes) {
    v.push_back(m);
    v.push_back(m | sign);
  }
  return v;
}

std::vector<uint64_t> int_corners(uint32_t width) {
  const uint64_t all = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
  std::vector<uint64_t> v = {0,
                             1,
                             2,
                             3,
                             7,
                             8,
                             31,
                             32,
                             33,
                             all,
                             all - 1,
                             all >> 1,
                             (all >> 1) + 1,
                             0x5555555555555555 & all,
                             0x00ff00ff00ff00ff & all};
  for (uint32_t b = width / 2; b < width; b += width / 4) v.push_back(uint64_t{1} << b);
  return v;
}

struct Shape {
  int mant, exp_bits;
};
bool float_shape(Ty t, Shape* s) {
  switch (t) {
    case Ty::F16:
      *s = {10, 5};
      return true;
    case Ty::BF16:
      *s = {7, 8};
      return true;
    case Ty::F32:
      *s = {23, 8};
      return true;
    case Ty::F64:
      *s = {52, 11};
      return true;
    default:
      return false;
  }
}

uint64_t scalar_operand(Ty t, int index, int tuple, uint64_t r) {
  Shape s{};
  const bool is_fp = float_shape(t, &s);
  const std::vector<uint64_t> corners =
      is_fp ? float_corners(s.mant, s.exp_bits) : int_corners(bits(t));
  // The first operand walks the corners, the others walk them at other strides; the last third is
  // random.
  static constexpr int kStride[] = {1, 7, 11, 13};
  static constexpr int kStart[] = {0, 3, 5, 2};
  if (tuple < kTuples * 2 / 3) {
    const size_t at = static_cast<size_t>(kStart[index] + tuple * kStride[index]);
    return corners[at % corners.size()];
  }
  const uint64_t all = bits(t) == 64 ? ~uint64_t{0} : (uint64_t{1} << bits(t)) - 1;
  if (!is_fp) return index >= 1 && (tuple & 1) != 0 ? r % 80 & all : (r >> (r % 24)) & all;
  if (tuple % 3 == 0) return r & all;
  // Exponents near that of 1: sums cancel, conversions have fractions.
  const uint64_t bias = (uint64_t{1} << (s.exp_bits - 1)) - 1;
  const uint64_t e = bias - 3 + (r >> 8) % 14;
  return ((r >> 12) & ((uint64_t{1} << s.mant) - 1)) | e << s.mant |
         (r & 1) << (s.mant + s.exp_bits);
}

double distance(Ty t, uint64_t a, uint64_t b, double* absolute) {
  const double x = ieee_to_double(t, a), y = ieee_to_double(t, b);
  *absolute = std::fabs(x - y);
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) == std::isnan(y) ? 0 : INFINITY;
  if (x == y) {
    *absolute = 0;
    return std::signbit(x) == std::signbit(y) ? 0 : INFINITY;
  }
  const auto key = [&](uint64_t u) {
    const uint64_t sign = uint64_t{1} << (bits(t) - 1);
    return (u & sign) != 0 ? -static_cast<double>(u & (sign - 1)) : static_cast<double>(u);
  };
  return std::fabs(key(a) - key(b));
}

}  // namespace

const std::vector<Row>& rows() {
  static const std::vector<Row> list = [] {
    Builder b;
    b.floats();
    b.halves();
    b.approximations();
    b.comparisons();
    b.integers();
    b.bits_and_bytes();
    b.conversions();
    return b.rows;
  }();
  return list;
}

uint64_t operand(const Row& r, int index, int t) {
  const Ty type = r.operands[static_cast<size_t>(index)];
  std::mt19937_64 rng(static_cast<uint64_t>(type) * 1000003 + static_cast<uint64_t>(index) * 10007 +
                      static_cast<uint64_t>(t));
  const uint64_t x = rng(), y = rng();
  if (type == Ty::F16x2 || type == Ty::BF16x2) {
    const Ty half = type == Ty::F16x2 ? Ty::F16 : Ty::BF16;
    return scalar_operand(half, index, t, x) |
           scalar_operand(half, (index + 1) % 3, (t * 5 + 1) % kTuples, y) << 16;
  }
  return scalar_operand(type, index, t, x);
}

uint32_t result_bits(const Row& r) { return bits(r.result); }

uint64_t expected(const Row& r, int t) {
  uint64_t v[4] = {0, 0, 0, 0};
  for (size_t i = 0; i < r.order.size(); ++i) v[i] = operand(r, r.order[i], t);
  return ieee_apply1(r.fn, r.type, r.mods, v[0], v[1], v[2], v[3]);
}

bool agrees(const Row& r, int t, uint64_t device, std::string* why) {
  const uint64_t want = expected(r, t);
  if (device == want) return true;
  if (r.lo < r.hi) {
    const double a = std::fabs(ieee_to_double(r.operands[0], operand(r, 0, t)));
    if (!(a >= r.lo && a <= r.hi)) return true;
  }
  const bool packed = r.result == Ty::F16x2 || r.result == Ty::BF16x2;
  const Ty type = r.result == Ty::F16x2 ? Ty::F16 : r.result == Ty::BF16x2 ? Ty::BF16 : r.result;
  double worst = 0;
  for (int part = 0; part < (packed ? 2 : 1); ++part) {
    const uint64_t mask = packed ? 0xffff : ~uint64_t{0};
    const uint64_t x = (device >> (16 * part)) & mask, y = (want >> (16 * part)) & mask;
    if (x == y) continue;
    // The payload and sign of a NaN are unspecified (PTX ISA 9.7.3, 9.7.4); the H200 keeps them for
    // f64 and makes neg and abs of f32 and f16 canonical.
    if (is_float(type) && std::isnan(ieee_to_double(type, x)) &&
        std::isnan(ieee_to_double(type, y)))
      continue;
    double absolute = 0;
    const double ulps = is_float(type) ? distance(type, x, y, &absolute) : INFINITY;
    const bool near = (r.ulps > 0 && ulps <= r.ulps) || (r.absolute > 0 && absolute <= r.absolute);
    if (!near) worst = std::max(worst, ulps == 0 ? 1 : ulps);
  }
  if (worst == 0) return true;
  char buffer[200];
  std::snprintf(buffer, sizeof buffer, "%s tuple %d: device %llx, expected %llx (%g ulp)",
                r.ptx.c_str(), t, static_cast<unsigned long long>(device),
                static_cast<unsigned long long>(want), worst);
  *why = buffer;
  for (size_t k = 0; k < r.operands.size(); ++k) {
    std::snprintf(buffer, sizeof buffer, "%s%llx", k == 0 ? ", operands " : ", ",
                  static_cast<unsigned long long>(operand(r, static_cast<int>(k), t)));
    *why += buffer;
  }
  return false;
}

}  // namespace assay::opcodes
