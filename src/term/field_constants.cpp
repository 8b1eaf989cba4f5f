// Field semantics of infinities and of constants: values that are known beside their images.
#include <cmath>

#include "base/ieee.h"
#include "term/field_detail.h"

namespace assay::term {

void FieldDomain::fix_special(Fn fn, const Row& a, const Row& b, Row& out, uint32_t mask) {
  const uint32_t pa = a.pinf, na = a.ninf, pb = b.pinf, nb = b.ninf;
  uint32_t p = 0, n = 0, bad = 0, zero = 0;
  auto sign = [&](const Row& r, int l) {  // of a constant lane; 0: unknown
    if ((r.pinf >> l) & 1) return 1;
    if ((r.ninf >> l) & 1) return -1;
    double value = 0;
    if (!is_const(r.v[l], &value)) return 0;
    return value > 0 ? 1 : value < 0 ? -1 : 0;
  };
  auto by_sign = [&](uint32_t lanes) {
    for_lanes(lanes & mask, [&](int l) {
      const int s = sign(a, l) * sign(b, l);
      (s > 0 ? p : s < 0 ? n : bad) |= 1u << l;
    });
  };
  switch (fn) {
    case Fn::Add:
    case Fn::IAdd:
      p = (pa | pb) & ~(na | nb), n = (na | nb) & ~(pa | pb), bad = (pa | pb) & (na | nb);
      break;
    case Fn::Sub:
    case Fn::ISub:
      p = (pa | nb) & ~(na | pb), n = (na | pb) & ~(pa | nb), bad = (pa | nb) & (na | pb);
      break;
    case Fn::Neg:
    case Fn::INeg:
      p = na, n = pa;
      break;
    case Fn::Mul:
    case Fn::IMul:
      by_sign(pa | na | pb | nb);
      break;
    case Fn::Div:
      zero = (pb | nb) & ~(pa | na), bad = (pa | na) & (pb | nb);
      by_sign((pa | na) & ~(pb | nb));
      break;
    case Fn::Rcp:
    case Fn::Rsqrt:
      zero = pa | na;
      break;
    case Fn::Exp:
    case Fn::Exp2:
    case Fn::Exp10:
      p = pa, zero = na;
      break;
    case Fn::Log:
    case Fn::Log2:
    case Fn::Log10:
    case Fn::Log1p:
    case Fn::Sqrt:
      p = pa, bad = na;
      break;
    case Fn::Abs:
      p = pa | na;
      break;
    case Fn::CvtFF:
    case Fn::Floor:
    case Fn::Ceil:
    case Fn::Trunc:
    case Fn::Rint:
    case Fn::Round:
      p = pa, n = na;
      break;
    default:
      bad = pa | na | pb | nb;
      break;
  }
  out.pinf = p & mask;
  out.ninf = n & mask;
  out.undef |= bad & mask;
  for_lanes(zero & mask, [&](int l) { out.v[l] = out.e[l] = 0; });
  for_lanes((p | n) & mask, [&](int l) { out.v[l] = out.e[l] = 0; });
}

// Values of operations on constants, so that comparisons and extrema of constants are decided.
void FieldDomain::note_constants(Fn fn, Ty type, const Row& a, const Row& b, const Row& c, Row& out,
                                 uint32_t mask) {
  if (mask == 0) return;
  const int arity = info(fn).arity;
  const int first = __builtin_ctz(mask);
  double va = 0, vb = 0, vc = 0;
  if (!is_const(a.v[first], &va)) return;
  (void)type;
  for_lanes(mask, [&](int l) {
    if (!is_const(a.v[l], &va) || (arity > 1 && !is_const(b.v[l], &vb)) ||
        (arity > 2 && !is_const(c.v[l], &vc)))
      return;
    double r = 0;
    switch (fn) {
      case Fn::Add:
      case Fn::IAdd:
        r = va + vb;
        break;
      case Fn::Sub:
      case Fn::ISub:
        r = va - vb;
        break;
      case Fn::Mul:
      case Fn::IMul:
      case Fn::IMulWide:
        r = va * vb;
        break;
      case Fn::Div:
        r = va / vb;
        break;
      case Fn::Fma:
        r = va * vb + vc;
        break;
      case Fn::Neg:
      case Fn::INeg:
        r = -va;
        break;
      case Fn::Rcp:
        r = 1 / va;
        break;
      case Fn::Sqrt:
        r = std::sqrt(va);
        break;
      case Fn::Rsqrt:
        r = 1 / std::sqrt(va);
        break;
      case Fn::Exp:
        r = std::exp(va);
        break;
      case Fn::Exp2:
        r = std::exp2(va);
        break;
      case Fn::Log:
        r = std::log(va);
        break;
      case Fn::Log2:
        r = std::log2(va);
        break;
      case Fn::Tanh:
        r = std::tanh(va);
        break;
      case Fn::Abs:
        r = std::fabs(va);
        break;
      default:
        return;
    }
    if (std::isfinite(r)) facts_.constants[out.v[l]] = r;
  });
}

// Integer operations that are no ring operations, on constants: indices that a reference computes.
void FieldDomain::fold_integers(Fn fn, Ty type, const Mods& mods, const Row& a, const Row& b,
                                const Row& c, Row& out, uint32_t mask) {
  const int arity = info(fn).arity;
  if (arity > 3 || !ieee_defined(fn, type, mods)) return;
  const uint32_t width = assay::bits(type);
  const uint64_t keep = width >= 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
  for_lanes(mask, [&](int l) {
    uint64_t bits[3] = {};
    const Row* rows[] = {&a, &b, &c};
    for (int k = 0; k < arity; ++k) {
      double value = 0;
      if (!is_const(rows[k]->v[l], &value) || value != std::rint(value) ||
          std::fabs(value) > 0x1p53)
        return;
      bits[k] = static_cast<uint64_t>(static_cast<int64_t>(value)) & keep;
    }
    const bool by_zero = (fn == Fn::IDiv || fn == Fn::IRem) && bits[1] == 0;
    if (by_zero) return;
    const Pair r = bits_pair(type, ieee_apply1(fn, type, mods, bits[0], bits[1], bits[2]));
    out.v[l] = r.v;
    out.e[l] = r.e;
  });
}

}  // namespace assay::term
