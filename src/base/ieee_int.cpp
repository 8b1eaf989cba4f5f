// Integer, bit and predicate operations (PTX ISA 9.7.1, 9.7.2, 9.7.8). Values are computed in 64
// bits and cut to the type's width. Encodings of Mods::imm are listed in fn.h.
#include <algorithm>

#include "base/ieee_impl.h"

namespace assay::ieee {
namespace {

struct Word {  // the type of one operation
  uint32_t width;
  bool is_signed;
  uint64_t mask() const { return width_mask(width); }
  int64_t s(uint64_t u) const { return sign_extend(u, width); }
  uint64_t z(uint64_t u) const { return u & mask(); }
};

// Clamps to the type's range.
uint64_t clamp_to(__int128 v, const Word& w) {
  const __int128 one = 1;
  const __int128 lo = w.is_signed ? -(one << (w.width - 1)) : 0;
  const __int128 hi = (one << (w.is_signed ? w.width - 1 : w.width)) - 1;
  return w.z(static_cast<uint64_t>(std::clamp(v, lo, hi)));
}

__int128 widen(uint64_t u, const Word& w) {
  return w.is_signed ? static_cast<__int128>(w.s(u)) : static_cast<__int128>(w.z(u));
}

// By zero both quotient and remainder are all ones (seen on the H200: tests/gpu/opcodes).
uint64_t divide(uint64_t a, uint64_t b, const Word& w, bool remainder) {
  if (w.z(b) == 0) return w.mask();
  const __int128 x = widen(a, w), y = widen(b, w);
  return w.z(static_cast<uint64_t>(remainder ? x % y : x / y));
}

uint64_t mul_high(uint64_t a, uint64_t b, const Word& w) {
  if (w.width < 64) return w.z(static_cast<uint64_t>((widen(a, w) * widen(b, w)) >> w.width));
  if (w.is_signed) {
    return static_cast<uint64_t>((static_cast<__int128>(w.s(a)) * static_cast<__int128>(w.s(b))) >>
                                 64);
  }
  return static_cast<uint64_t>((static_cast<unsigned __int128>(a) * b) >> 64);
}

uint64_t mul_wide(uint64_t a, uint64_t b, const Word& w) {
  const uint64_t r = static_cast<uint64_t>(widen(a, w) * widen(b, w));
  return r & width_mask(2 * w.width);
}

uint64_t shift(uint64_t a, uint64_t amount, const Word& w, bool left) {
  if (left) return amount >= w.width ? 0 : w.z(w.z(a) << amount);
  if (!w.is_signed) return amount >= w.width ? 0 : w.z(a) >> amount;
  return w.z(static_cast<uint64_t>(w.s(a) >> std::min<uint64_t>(amount, w.width - 1)));
}

// Positions and lengths of bfe and bfi: the low 8 bits; the 64-bit forms take the whole 32-bit
// value, beyond what the ISA allows (0..255), as seen on the H200.
uint64_t field_bound(uint64_t v, const Word& w) {
  return w.width == 64 ? v & 0xffffffff : v & 0xff;
}

// PTX ISA 9.7.1 bfe: field of `len` bits at `pos`, filled with zeros or the field's sign bit.
uint64_t bit_field_extract(uint64_t a, uint64_t b, uint64_t c, const Word& w) {
  const uint64_t msb = w.width - 1, pos = field_bound(b, w), len = field_bound(c, w);
  const bool fill = w.is_signed && len != 0 && ((w.z(a) >> std::min(pos + len - 1, msb)) & 1) != 0;
  const uint64_t field = pos > msb ? 0 : w.z(a) >> pos;
  const uint64_t valid = pos > msb ? 0 : std::min(len, w.width - pos);  // bits that exist
  const uint64_t kept = field & width_mask(static_cast<uint32_t>(valid));
  return fill ? w.z(kept | ~width_mask(static_cast<uint32_t>(valid))) : kept;
}

uint64_t bit_field_insert(uint64_t a, uint64_t b, uint64_t c, uint64_t d, const Word& w) {
  const uint64_t pos = field_bound(c, w), len = field_bound(d, w);
  if (pos >= w.width) return w.z(b);
  const uint64_t field = w.z(width_mask(static_cast<uint32_t>(std::min<uint64_t>(len, 64))) << pos);
  return w.z((b & ~field) | ((a << pos) & field));
}

uint64_t bit_find(uint64_t a, const Word& w, bool shift_amount) {
  uint64_t v = w.z(a);
  if (w.is_signed && w.s(a) < 0) v = w.z(~a);  // most significant bit that is no sign bit
  if (v == 0) return 0xffffffff;
  const uint64_t pos = 63 - static_cast<uint64_t>(std::countl_zero(v));
  return shift_amount ? w.width - 1 - pos : pos;
}

uint64_t bit_reverse(uint64_t a, const Word& w) {
  uint64_t r = 0;
  for (uint32_t i = 0; i < w.width; ++i) r |= ((a >> i) & 1) << (w.width - 1 - i);
  return r;
}

uint64_t lop3(uint64_t a, uint64_t b, uint64_t c, uint8_t table) {
  uint64_t r = 0;
  for (uint32_t i = 0; i < 8; ++i) {
    if (((table >> i) & 1) == 0) continue;
    r |= ((i & 4) != 0 ? a : ~a) & ((i & 2) != 0 ? b : ~b) & ((i & 1) != 0 ? c : ~c);
  }
  return r;
}

// Byte selectors of the six prmt modes for c[1:0] = 0..3, lowest byte first (PTX ISA 9.7.9, prmt).
constexpr uint16_t kPermuteModes[6][4] = {
    {0x3210, 0x4321, 0x5432, 0x6543},  // f4e
    {0x5670, 0x6701, 0x7012, 0x0123},  // b4e
    {0x0000, 0x1111, 0x2222, 0x3333},  // rc8
    {0x3210, 0x3211, 0x3222, 0x3333},  // ecl
    {0x0000, 0x1110, 0x2210, 0x3210},  // ecr
    {0x1010, 0x3232, 0x1010, 0x3232},  // rc16
};

uint64_t permute(uint64_t a, uint64_t b, uint64_t c, uint8_t mode) {
  const uint64_t bytes = (b & 0xffffffff) << 32 | (a & 0xffffffff);
  const uint64_t select = mode == 0 || mode > 6 ? c : kPermuteModes[mode - 1][c & 3];
  uint64_t r = 0;
  for (int i = 0; i < 4; ++i) {
    const uint64_t s = (select >> (4 * i)) & 0xf;
    uint64_t byte = (bytes >> (8 * (s & 7))) & 0xff;
    if ((s & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;  // default mode: replicate the sign
    r |= byte << (8 * i);
  }
  return r;
}

uint64_t funnel(uint64_t a, uint64_t b, uint64_t c, bool left, bool clamp) {
  const uint64_t n = clamp ? std::min<uint64_t>(c & 0xffffffff, 32) : c & 31;
  const uint64_t both = (b & 0xffffffff) << 32 | (a & 0xffffffff);
  return left ? ((both << n) >> 32) & 0xffffffff : (both >> n) & 0xffffffff;
}

uint64_t sad(uint64_t a, uint64_t b, uint64_t c, const Word& w) {
  const __int128 x = widen(a, w), y = widen(b, w);
  return w.z(c + static_cast<uint64_t>(x < y ? y - x : x - y));
}

int64_t part(uint64_t u, uint32_t index, uint32_t width, bool is_signed) {
  const uint64_t v = (u >> (index * width)) & width_mask(width);
  return is_signed ? sign_extend(v, width) : static_cast<int64_t>(v);
}

uint64_t dot4(uint64_t a, uint64_t b, uint64_t c, uint8_t imm) {
  int64_t sum = 0;
  for (uint32_t i = 0; i < 4; ++i) sum += part(a, i, 8, imm & 1) * part(b, i, 8, (imm & 2) != 0);
  return (c + static_cast<uint64_t>(sum)) & 0xffffffff;
}

uint64_t dot2(uint64_t a, uint64_t b, uint64_t c, uint8_t imm) {
  const uint32_t first = (imm & 4) != 0 ? 2 : 0;  // .hi
  int64_t sum = 0;
  for (uint32_t i = 0; i < 2; ++i) {
    sum += part(a, i, 16, imm & 1) * part(b, first + i, 8, (imm & 2) != 0);
  }
  return (c + static_cast<uint64_t>(sum)) & 0xffffffff;
}

template <class Body>
bool unary(const Batch& x, Body body) {
  for (int l = 0; l < x.n; ++l) x.out[l] = body(x.a[l]);
  return true;
}
template <class Body>
bool binary(const Batch& x, Body body) {
  for (int l = 0; l < x.n; ++l) x.out[l] = body(x.a[l], x.b[l]);
  return true;
}
template <class Body>
bool ternary(const Batch& x, Body body) {
  for (int l = 0; l < x.n; ++l) x.out[l] = body(x.a[l], x.b[l], x.c[l]);
  return true;
}

using U = uint64_t;

bool arithmetic(Fn fn, const Word& w, const Mods& m, const Batch& x) {
  const bool sat = m.sat;
  switch (fn) {
    case Fn::IAdd:
      if (sat) {
        return binary(x, [&](U a, U b) { return clamp_to(widen(a, w) + widen(b, w), w); });
      }
      return binary(x, [&](U a, U b) { return w.z(a + b); });
    case Fn::ISub:
      if (sat) {
        return binary(x, [&](U a, U b) { return clamp_to(widen(a, w) - widen(b, w), w); });
      }
      return binary(x, [&](U a, U b) { return w.z(a - b); });
    case Fn::IMul:
      return binary(x, [&](U a, U b) { return w.z(a * b); });
    case Fn::IMulHi:
      return binary(x, [&](U a, U b) { return mul_high(a, b, w); });
    case Fn::IMulWide:
      if (w.width > 32) return false;
      return binary(x, [&](U a, U b) { return mul_wide(a, b, w); });
    case Fn::IDiv:
      return binary(x, [&](U a, U b) { return divide(a, b, w, false); });
    case Fn::IRem:
      return binary(x, [&](U a, U b) { return divide(a, b, w, true); });
    case Fn::IMin:
      return binary(x, [&](U a, U b) { return w.z(widen(a, w) < widen(b, w) ? a : b); });
    case Fn::IMax:
      return binary(x, [&](U a, U b) { return w.z(widen(a, w) > widen(b, w) ? a : b); });
    case Fn::INeg:
      return unary(x, [&](U a) { return w.z(U{0} - a); });
    case Fn::IAbs:
      return unary(x, [&](U a) { return w.z(w.s(a) < 0 ? U{0} - a : a); });
    case Fn::Sad:
      return ternary(x, [&](U a, U b, U c) { return sad(a, b, c, w); });
    default:
      return false;
  }
}

bool compare(Fn fn, const Word& w, const Batch& x) {
  const auto test = [&](auto holds) {
    return binary(x, [&](U a, U b) -> U { return holds(widen(a, w), widen(b, w)) ? 1 : 0; });
  };
  switch (fn) {
    case Fn::Eq:
    case Fn::Equ:
      return test([](auto a, auto b) { return a == b; });
    case Fn::Ne:
    case Fn::Neu:
      return test([](auto a, auto b) { return a != b; });
    case Fn::Lt:
    case Fn::Ltu:
      return test([](auto a, auto b) { return a < b; });
    case Fn::Le:
    case Fn::Leu:
      return test([](auto a, auto b) { return a <= b; });
    case Fn::Gt:
    case Fn::Gtu:
      return test([](auto a, auto b) { return a > b; });
    case Fn::Ge:
    case Fn::Geu:
      return test([](auto a, auto b) { return a >= b; });
    default:
      return false;
  }
}

bool bitwise(Fn fn, const Word& w, const Mods& m, const Batch& x) {
  switch (fn) {
    case Fn::And:
      return binary(x, [&](U a, U b) { return w.z(a & b); });
    case Fn::Or:
      return binary(x, [&](U a, U b) { return w.z(a | b); });
    case Fn::Xor:
      return binary(x, [&](U a, U b) { return w.z(a ^ b); });
    case Fn::Not:
      return unary(x, [&](U a) { return w.z(~a); });
    case Fn::Cnot:
      return unary(x, [&](U a) -> U { return w.z(a) == 0 ? 1 : 0; });
    case Fn::Shl:
      return binary(x, [&](U a, U b) { return shift(a, b, w, true); });
    case Fn::Shr:
      return binary(x, [&](U a, U b) { return shift(a, b, w, false); });
    case Fn::Lop3:
      return ternary(x, [&](U a, U b, U c) { return w.z(lop3(a, b, c, m.imm)); });
    case Fn::Bfe:
      return ternary(x, [&](U a, U b, U c) { return bit_field_extract(a, b, c, w); });
    case Fn::Bfi:
      for (int l = 0; l < x.n; ++l) {
        x.out[l] = bit_field_insert(x.a[l], x.b[l], x.c[l], x.d[l], w);
      }
      return true;
    case Fn::Bfind:
      return unary(x, [&](U a) { return bit_find(a, w, m.imm != 0); });
    case Fn::Brev:
      return unary(x, [&](U a) { return bit_reverse(a, w); });
    case Fn::Popc:
      return unary(x, [&](U a) { return static_cast<U>(std::popcount(w.z(a))); });
    case Fn::Clz:
      return unary(x,
                   [&](U a) { return static_cast<U>(std::countl_zero(w.z(a))) - (64 - w.width); });
    default:
      return false;
  }
}

bool words(Fn fn, const Mods& m, const Batch& x) {  // 32-bit only
  switch (fn) {
    case Fn::Prmt:
      return ternary(x, [&](U a, U b, U c) { return permute(a, b, c, m.imm); });
    case Fn::ShfL:
      return ternary(x, [&](U a, U b, U c) { return funnel(a, b, c, true, m.imm); });
    case Fn::ShfR:
      return ternary(x, [&](U a, U b, U c) { return funnel(a, b, c, false, m.imm); });
    case Fn::Dp4a:
      return ternary(x, [&](U a, U b, U c) { return dot4(a, b, c, m.imm); });
    case Fn::Dp2a:
      return ternary(x, [&](U a, U b, U c) { return dot2(a, b, c, m.imm); });
    default:
      return false;
  }
}

bool predicates(Fn fn, const Batch& x) {
  switch (fn) {
    case Fn::PAnd:
    case Fn::And:
    case Fn::IMul:
      return binary(x, [](U a, U b) { return a & b & 1; });
    case Fn::POr:
    case Fn::Or:
      return binary(x, [](U a, U b) { return (a | b) & 1; });
    case Fn::PXor:
    case Fn::Xor:
      return binary(x, [](U a, U b) { return (a ^ b) & 1; });
    case Fn::PNot:
    case Fn::Not:
      return unary(x, [](U a) { return ~a & 1; });
    default:
      return false;
  }
}

// The integer operation that a class R operation on an integer type stands for (tensor bodies).
Fn integer_form(Fn fn) {
  switch (fn) {
    case Fn::Add:
      return Fn::IAdd;
    case Fn::Sub:
      return Fn::ISub;
    case Fn::Mul:
      return Fn::IMul;
    case Fn::Div:
      return Fn::IDiv;
    case Fn::Fmod:
      return Fn::IRem;
    case Fn::Min:
      return Fn::IMin;
    case Fn::Max:
      return Fn::IMax;
    case Fn::Neg:
      return Fn::INeg;
    case Fn::Abs:
      return Fn::IAbs;
    default:
      return fn;
  }
}

}  // namespace

bool apply_int(Fn fn, Ty type, const Mods& mods, const Batch& x) {
  if (info(fn).cls == FnClass::L) return predicates(fn, x);
  const TyClass cls = info(type).cls;
  if (fn == Fn::Select && cls != TyClass::N) {
    return ternary(x, [](U a, U b, U c) { return a != 0 ? b : c; });
  }
  if (cls == TyClass::P) return predicates(fn, x) || compare(fn, Word{1, false}, x);
  if (!is_int(type) || bits(type) > 64) return false;
  const Word w{bits(type), is_signed(type)};
  fn = integer_form(fn);
  if (fn == Fn::Fma) {
    return ternary(x, [&](U a, U b, U c) { return w.z(a * b + c); });
  }
  return arithmetic(fn, w, mods, x) || compare(fn, w, x) || bitwise(fn, w, mods, x) ||
         (w.width == 32 && words(fn, mods, x));
}

}  // namespace assay::ieee
