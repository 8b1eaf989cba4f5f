// Conversions, reinterpretation, packing (PTX ISA 9.7.9.21 cvt).
#include <algorithm>

#include "base/ieee_impl.h"

namespace assay::ieee {
namespace {

template <class Body>
bool float_format(Ty type, Body body) {  // body(Fmt{}) for the format of `type`
  switch (type) {
    case Ty::F16:
      return body(F16{}), true;
    case Ty::BF16:
      return body(BF16{}), true;
    case Ty::F32:
      return body(F32{}), true;
    case Ty::F64:
      return body(F64{}), true;
    default:
      return false;
  }
}

struct IntType {
  uint32_t width = 0;
  bool is_signed = false;
};

bool int_type(Ty type, IntType* out) {  // predicates are one unsigned bit
  if (info(type).cls != TyClass::P && !is_int(type)) return false;
  if (bits(type) > 64) return false;
  *out = IntType{bits(type), is_signed(type)};
  return true;
}

// .ftz concerns f32 operands and results only.
template <class Fmt>
uint64_t flush32(uint64_t u, bool ftz) {
  return Fmt::kWidth == 32 && ftz ? Fmt::flush(u) : u;
}

bool float_to_float(Ty type, const Mods& m, const Batch& x) {
  return float_format(m.type2, [&]<class Src>(Src) {
    float_format(type, [&]<class Dst>(Dst) {
      for (int l = 0; l < x.n; ++l) {
        const double v = to_double<Src>(flush32<Src>(x.a[l], m.ftz));
        const uint64_t r = flush32<Dst>(from_double<Dst>(v, m.round), m.ftz);
        x.out[l] = m.sat ? saturate<Dst>(r) : r;
      }
    });
  });
}

template <class Fmt>
uint64_t from_int(uint64_t u, const IntType& t, Round round) {
  const bool negative = t.is_signed && sign_extend(u, t.width) < 0;
  uint64_t mag = u & width_mask(t.width);
  if (negative) mag = (uint64_t{0} - mag) & width_mask(t.width);
  if (mag == 0) return 0;
  const int top = 63 - std::countl_zero(mag);
  return round_pack<Fmt>(negative, top, mag << (63 - top), false, round);
}

bool int_to_float(Ty type, const Mods& m, const Batch& x) {
  IntType src;
  if (!int_type(m.type2, &src)) return false;
  return float_format(type, [&]<class Dst>(Dst) {
    for (int l = 0; l < x.n; ++l) {
      const uint64_t r = from_int<Dst>(x.a[l], src, m.round);
      x.out[l] = m.sat ? saturate<Dst>(r) : r;
    }
  });
}

double round_to_integer(double v, Round round) {
  switch (round) {
    case Round::Rn:
      return std::nearbyint(v);
    case Round::Rz:
      return std::trunc(v);
    case Round::Rm:
      return std::floor(v);
    case Round::Rp:
      return std::ceil(v);
    case Round::Rna:
      return std::round(v);
  }
  return v;
}

// Out of range clamps (with and without .sat). NaN gives 0, but 2^(width-1) if the source is f64 or
// the result has 64 bits (PTX ISA, cvt: "Floating Point Notes").
uint64_t to_int(double v, const IntType& t, Round round, bool wide_nan) {
  if (v != v) return wide_nan ? uint64_t{1} << (t.width - 1) : 0;
  v = round_to_integer(v, round);
  const double limit = std::ldexp(1.0, static_cast<int>(t.is_signed ? t.width - 1 : t.width));
  const uint64_t max = width_mask(t.is_signed ? t.width - 1 : t.width);
  if (v >= limit) return max;
  if (!t.is_signed) return v <= 0 ? 0 : static_cast<uint64_t>(v);
  if (v < -limit) return uint64_t{1} << (t.width - 1);
  return static_cast<uint64_t>(static_cast<int64_t>(v)) & width_mask(t.width);
}

bool float_to_int(Ty type, const Mods& m, const Batch& x) {
  IntType dst;
  if (!int_type(type, &dst)) return false;
  return float_format(m.type2, [&]<class Src>(Src) {
    const bool wide_nan = Src::kWidth == 64 || dst.width == 64;
    for (int l = 0; l < x.n; ++l) {
      x.out[l] = to_int(to_double<Src>(flush32<Src>(x.a[l], m.ftz)), dst, m.round, wide_nan);
    }
  });
}

// .sat clamps to the destination's range; otherwise the value is cut or extended.
uint64_t int_to_int(uint64_t u, const IntType& src, const IntType& dst, bool sat) {
  const bool negative = src.is_signed && sign_extend(u, src.width) < 0;
  const uint64_t mag = u & width_mask(src.width);
  const uint64_t value = negative ? static_cast<uint64_t>(sign_extend(u, src.width)) : mag;
  if (!sat) return value & width_mask(dst.width);
  const uint64_t max = width_mask(dst.is_signed ? dst.width - 1 : dst.width);
  if (!negative) return value > max ? max : value;
  if (!dst.is_signed) return 0;
  const int64_t min = -static_cast<int64_t>(max) - 1;
  return static_cast<uint64_t>(std::max(static_cast<int64_t>(value), min)) & width_mask(dst.width);
}

bool int_to_int_batch(Ty type, const Mods& m, const Batch& x) {
  IntType src, dst;
  if (!int_type(m.type2, &src) || !int_type(type, &dst)) return false;
  const bool to_pred = info(type).cls == TyClass::P;  // truth value, not the lowest bit
  for (int l = 0; l < x.n; ++l) {
    x.out[l] =
        to_pred ? (x.a[l] & width_mask(src.width)) != 0 : int_to_int(x.a[l], src, dst, m.sat);
  }
  return true;
}

}  // namespace

bool apply_cvt(Fn fn, Ty type, const Mods& m, const Batch& x) {
  const uint32_t width = bits(type);
  switch (fn) {
    case Fn::CvtFF:
      return float_to_float(type, m, x);
    case Fn::CvtIF:
      return int_to_float(type, m, x);
    case Fn::CvtFI:
      return float_to_int(type, m, x);
    case Fn::CvtII:
      return int_to_int_batch(type, m, x);
    case Fn::Bits:
      if (width == 0 || width > 64) return false;
      for (int l = 0; l < x.n; ++l) x.out[l] = x.a[l] & width_mask(width);
      return true;
    case Fn::Pack: {
      if (width < 16 || width > 64) return false;
      const uint32_t half = width / 2;
      for (int l = 0; l < x.n; ++l) {
        x.out[l] = (x.a[l] & width_mask(half)) | (x.b[l] & width_mask(half)) << half;
      }
      return true;
    }
    case Fn::UnpackLo:
    case Fn::UnpackHi: {
      if (width == 0 || width > 32) return false;
      const uint32_t shift = fn == Fn::UnpackHi ? width : 0;
      for (int l = 0; l < x.n; ++l) x.out[l] = (x.a[l] >> shift) & width_mask(width);
      return true;
    }
    default:
      return false;
  }
}

}  // namespace assay::ieee
