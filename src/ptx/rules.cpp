// What a row's word lists cannot say: which modifiers go together, and with which types. Each rule
// was compared with what ptxas 13.0 accepts.
#include "ptx/form.h"

namespace assay::ptx {
namespace {

bool float_rounding(Rounding r) { return r >= Rounding::Rn && r <= Rounding::Rp; }
bool integer_rounding(Rounding r) { return r >= Rounding::Rni; }
bool is_half(Ty t) { return t == Ty::F16 || t == Ty::BF16 || t == Ty::F16x2 || t == Ty::BF16x2; }
// Types that .ftz and .sat apply to.
bool flushes(Ty t) { return t == Ty::F32 || t == Ty::F32x2 || t == Ty::F16 || t == Ty::F16x2; }

// 9.7.9.21
std::string_view cvt_rule(const Form& f) {
  const Ty to = f.types[0], from = f.types[1];
  const Rounding r = f.mods.round();
  const bool to_float = is_float(to), from_float = is_float(from);
  if (f.mods.ftz() && to != Ty::F32 && from != Ty::F32) return ".ftz needs .f32";
  if (f.mods.relu() || f.mods.saturate() == Saturate::Satfinite) {
    if (!is_half(to) || from != Ty::F32) return ".relu and .satfinite convert .f32 to halves";
  }
  if (!to_float && !from_float) return r == Rounding::None ? "" : "no rounding between integers";
  if (!to_float)
    return integer_rounding(r) ? "" : "a float to an integer needs .rni .rzi .rmi .rpi";
  if (!from_float) return float_rounding(r) ? "" : "an integer to a float needs .rn .rz .rm .rp";
  if (to == from) return float_rounding(r) ? "only integer rounding within one type" : "";
  if (bits(from) > bits(to)) {
    return float_rounding(r) ? "" : "to a narrower float needs .rn .rz .rm .rp";
  }
  if (bits(from) == bits(to) || from == Ty::BF16) {
    return integer_rounding(r) ? "no integer rounding between floats" : "";
  }
  return r == Rounding::None ? "" : "to a wider float takes no rounding";
}

// 9.7.6.1, 9.7.6.2
std::string_view compare_rule(const Form& f, Ty type) {
  const Cmp c = f.mods.cmp();
  if (c == Cmp::Eq || c == Cmp::Ne) return "";
  if (info(type).cls == TyClass::B) return "untyped bits compare by .eq and .ne only";
  const bool unsigned_word = c >= Cmp::Lo && c <= Cmp::Hs;
  return unsigned_word && is_signed(type) ? "compares unsigned numbers" : "";
}

// 9.7.9.8, 9.7.9.11
std::string_view memory_rule(const Form& f) {
  const Modifiers& m = f.mods;
  const bool ordered =
      m.sem() == Sem::Relaxed || m.sem() == Sem::Acquire || m.sem() == Sem::Release;
  if (ordered != (m.scope() != Scope::None)) {
    return ordered ? "a memory order needs a scope" : "a scope needs a memory order";
  }
  if (m.mmio() && m.sem() != Sem::Relaxed) return ".mmio needs .relaxed";
  const uint32_t width = bits(f.types[0]) * static_cast<uint32_t>(m.vector_width());
  const bool wide = width == 256 && f.types[0] != Ty::B128 && f.op != Op::Ldu;
  if (width > 128 && !wide) return "vector of more than 128 bits";
  if (m.l2_evict() != L2Evict::None && !wide) return "this L2 priority needs 256 bits";
  if (f.op == Op::St && (m.space() == Space::Const || m.space() == Space::ParamEntry)) {
    return "a space that cannot be written";
  }
  return "";
}

std::string_view atom_vector_rule(const Form& f) {
  const bool half = is_half(f.types[0]);
  if (half != f.mods.noftz()) return half ? ".noftz is missing" : ".noftz is for halves";
  if (!half && f.mods.atom() != AtomOp::Add) return "only .add for vectors of .f32";
  if (bits(f.types[0]) * static_cast<uint32_t>(f.mods.vector_width()) > 128) {
    return "vector of more than 128 bits";
  }
  const Space s = f.mods.space();
  return s == Space::None || s == Space::Global ? "" : "vectors are for global memory";
}

std::string_view set_half_rule(const Form& f) {
  const Ty to = f.types[0], from = f.types[1];
  if (bits(to) == 16 && !is_float(to) && bits(from) != 16) return "a 16-bit result needs halves";
  if (is_half(to) && is_half(from) && bits(to) == 32 && to != from) return "types do not match";
  return "";
}

std::string_view float_rule(const Form& f, Ty type) {
  if (f.op == Op::Ex2H) {
    const bool bf16 = type == Ty::BF16 || type == Ty::BF16x2;
    if (bf16 != f.mods.ftz()) return bf16 ? ".ftz is missing" : ".ftz is not allowed";
    return "";
  }
  if (f.mods.ftz() && !flushes(type) && f.op != Op::RcpApproxD && f.op != Op::Rsqrt) {
    return ".ftz is not for this type";
  }
  if (f.mods.sat() && is_float(type) && !flushes(type)) return ".sat is not for this type";
  if (f.mods.sat() && type == Ty::BF16x2) return ".sat is not for this type";
  if (f.mods.nan() && type == Ty::F64) return ".NaN is not for .f64";
  return "";
}

}  // namespace

std::string_view broken_rule(const Form& f) {
  switch (f.op) {
    case Op::Cvt:
      return cvt_rule(f);
    case Op::SetI:
      return compare_rule(f, f.types[1]);
    case Op::SetpI:
      return compare_rule(f, f.types[0]);
    case Op::Ld:
    case Op::LdNc:
    case Op::Ldu:
    case Op::St:
      return memory_rule(f);
    case Op::AtomVec:
    case Op::RedVec:
      return atom_vector_rule(f);
    case Op::MinX2:
    case Op::MaxX2:
      return f.mods.relu() && f.types[0] == Ty::U16x2 ? ".relu is for signed numbers" : "";
    case Op::SetH:
    case Op::SetHX2:
      if (const auto broken = set_half_rule(f); !broken.empty()) return broken;
      return float_rule(f, f.types[1]);
    case Op::SetF:
      return float_rule(f, f.types[1]);
    case Op::SlctF:
      return "";  // .ftz is about the selector, always .f32
    case Op::AddMix:
    case Op::SubMix:
    case Op::FmaMix:
      return "";
    default:
      break;
  }
  const Family family = row(f.op).family;
  return family == Family::Fp || family == Family::Half ? float_rule(f, f.types[0])
                                                        : std::string_view{};
}

}  // namespace assay::ptx
