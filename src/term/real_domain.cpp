#include "term/real_domain.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "base/ieee.h"

namespace assay::term {
namespace {

template <class F>
void for_lanes(uint32_t mask, F&& f) {
  for (; mask != 0; mask &= mask - 1) f(__builtin_ctz(mask));
}

// |f'(a)| of a unary function.
double slope(Fn fn, const Mods& mods, double a, double f) {
  switch (fn) {
    case Fn::Neg:
    case Fn::Abs:
    case Fn::CvtFF:
    case Fn::CvtIF:
    case Fn::CvtII:
    case Fn::Bits:
    case Fn::INeg:
    case Fn::IAbs:
      return 1;
    case Fn::Sqrt:
      return f == 0 ? 0 : 0.5 / f;
    case Fn::Rsqrt:
      return std::fabs(0.5 * f / a);
    case Fn::Rcp:
      return f * f;
    case Fn::Exp:
      return f;
    case Fn::Exp2:
      return M_LN2 * f;
    case Fn::Exp10:
      return M_LN10 * f;
    case Fn::Expm1:
      return f + 1;
    case Fn::Log:
      return std::fabs(1 / a);
    case Fn::Log2:
      return std::fabs(M_LOG2E / a);
    case Fn::Log10:
      return std::fabs(M_LOG10E / a);
    case Fn::Log1p:
      return std::fabs(1 / (1 + a));
    case Fn::Sin:
    case Fn::Cos:
      return 1;
    case Fn::Tanh:
      return 1 - f * f;
    case Fn::Erf:
    case Fn::Erfc:
      return M_2_SQRTPI * std::exp(-a * a);
    case Fn::Sat:
      return a > 0 && a < 1 ? 1 : 0;
    default: {
      if (is_step(fn)) return 0;
      const double h = 1e-6 * std::fmax(std::fabs(a), 1e-3);
      const double up = real_fn(fn, mods, a + h, 0, 0), down = real_fn(fn, mods, a - h, 0, 0);
      const double d = std::fabs(up - down) / (2 * h);
      return std::isfinite(d) ? d : 0;
    }
  }
}

}  // namespace

double RealDomain::literal(Ty type, uint64_t bits) const {
  if (type == Ty::Pred) return bits != 0;
  if (is_float(type)) {
    const double v = ieee_to_double(type, bits);
    return std::isfinite(v) ? snapper_.snap(type, v).value : v;
  }
  const uint32_t width = assay::bits(type);
  if (type == Ty::U8 || type == Ty::U16 || width >= 64)
    return static_cast<double>(static_cast<int64_t>(bits));
  return static_cast<double>(static_cast<int64_t>(bits << (64 - width)) >> (64 - width));
}

const RealDomain::Row& RealDomain::typed(const Row& in, Ty type, Row& scratch,
                                         uint32_t mask) const {
  if ((in.raw & mask) == 0) return in;
  scratch = in;
  for_lanes(in.raw & mask, [&](int l) {
    scratch.v[l] = literal(type, std::bit_cast<uint64_t>(in.v[l]));
    scratch.m[l] = std::fabs(scratch.v[l]);
  });
  scratch.raw = 0;
  return scratch;
}

void RealDomain::set_bits(uint64_t bits, Row& out) const {
  out.undef = 0;
  out.raw = 0xffffffffu;
  for (double& v : out.v) v = std::bit_cast<double>(bits);
}
void RealDomain::set_bits(const uint64_t* bits, Row& out) const {
  out.undef = 0;
  out.raw = 0xffffffffu;
  for (int l = 0; l < kRow; ++l) out.v[l] = std::bit_cast<double>(bits[l]);
}
void RealDomain::set_number(Ty type, double value, Row& out) const {
  clear(out);
  const double v = std::isfinite(value) ? snapper_.snap(type, value).value : value;
  for (int l = 0; l < kRow; ++l) out.v[l] = v, out.m[l] = std::fabs(v);
}
void RealDomain::set_integer(const int64_t* values, Row& out) const {
  clear(out);
  for (int l = 0; l < kRow; ++l)
    out.v[l] = static_cast<double>(values[l]), out.m[l] = std::fabs(out.v[l]);
}
void RealDomain::set_undef(uint64_t tag, Row& out) const {
  (void)tag;
  out.raw = 0;
  out.undef = 0xffffffffu;
  for (int l = 0; l < kRow; ++l) out.v[l] = NAN, out.m[l] = 0;
}
void RealDomain::symbol(uint64_t symbol, Ty type, const int64_t* elements, uint32_t mask,
                        Row& out) const {
  clear(out);
  inputs_.values(symbol, type, elements, mask, out.v);
  for_lanes(mask, [&](int l) { out.m[l] = std::fabs(out.v[l]); });
}
void RealDomain::broadcast(const Row& from, int lane, Row& out) const {
  const double v = from.v[lane], m = from.m[lane];
  const uint32_t raw = (from.raw >> lane) & 1 ? 0xffffffffu : 0,
                 undef = (from.undef >> lane) & 1 ? 0xffffffffu : 0;
  for (int l = 0; l < kRow; ++l) out.v[l] = v, out.m[l] = m;
  out.raw = raw, out.undef = undef;
}
void RealDomain::fix_type(Ty type, Row& row, uint32_t mask) const {
  Row scratch;
  const Row& t = typed(row, type, scratch, mask);
  if (&t != &row) row = t;
}
RealDomain::Cell RealDomain::cell(const Row& row, int lane, Ty type) const {
  if ((row.raw >> lane) & 1) {
    const double v = literal(type, std::bit_cast<uint64_t>(row.v[lane]));
    return {v, std::fabs(v), false};
  }
  return {row.v[lane], row.m[lane], ((row.undef >> lane) & 1) != 0};
}
void RealDomain::set_lane(Row& row, int lane, const Cell& cell) const {
  const uint32_t bit = 1u << lane;
  row.raw &= ~bit;
  row.undef = cell.undef ? row.undef | bit : row.undef & ~bit;
  row.v[lane] = cell.v;
  row.m[lane] = cell.m;
}
void RealDomain::copy_lane(const Row& from, int from_lane, Row& to, int lane) {
  const uint32_t bit = 1u << lane;
  to.v[lane] = from.v[from_lane];
  to.m[lane] = from.m[from_lane];
  to.raw = (from.raw >> from_lane) & 1 ? to.raw | bit : to.raw & ~bit;
  to.undef = (from.undef >> from_lane) & 1 ? to.undef | bit : to.undef & ~bit;
}
RealDomain::Cell RealDomain::combine(Fn fn, Ty type, const Cell& a, const Cell& b) {
  Row ra{}, rb{}, out;
  set_lane(ra, 0, a);
  set_lane(rb, 0, b);
  apply(fn, type, {}, &ra, &rb, nullptr, nullptr, out, 1);
  return cell(out, 0, type);
}

void RealDomain::lookup(Store<RealDomain>& store, int buffer, Ty type, const Row& index,
                        const int64_t* base, int64_t lo, int64_t hi, uint32_t mask, Row& out) {
  (void)type;
  Row scratch;
  const Row i = typed(index, Ty::S64, scratch, mask);
  clear(out);
  for_lanes(mask, [&](int l) {
    const double e = static_cast<double>(base[l]) + i.v[l];
    if (!(std::fabs(e) < 9e15) || ((i.undef >> l) & 1) || e < static_cast<double>(lo) ||
        e >= static_cast<double>(hi)) {
      set_lane(out, l, {NAN, 0, true});
      return;
    }
    set_lane(out, l, store.load1(buffer, static_cast<int64_t>(e)));
  });
}

void RealDomain::scatter(Store<RealDomain>& store, const machine::IndexedOut& x, const Row& index,
                         const Row& value, const Row* pred) {
  Row s1;
  const Row i = typed(index, Ty::S64, s1, x.mask);
  for_lanes(x.mask, [&](int l) {
    if (pred != nullptr && cell(*pred, l, Ty::Pred).v == 0) return;
    const int64_t e = x.base[static_cast<size_t>(l)] + static_cast<int64_t>(i.v[l]);
    Cell v = cell(value, l, x.type);
    if (x.atomic)
      v = combine(is_float(x.type) ? Fn::Add : Fn::IAdd, x.type, store.load1(x.buffer, e), v);
    store.store(x.buffer, e, v);
  });
}

namespace {

// Where fn is infinite over the reals; elsewhere an infinity is an overflow.
bool pole(Fn fn, double x) {
  switch (fn) {
    case Fn::Div:
    case Fn::Rcp:
    case Fn::Rsqrt:
      return true;
    case Fn::Log:
    case Fn::Log2:
    case Fn::Log10:
      return x == 0;
    case Fn::Log1p:
      return x == -1;
    default:
      return false;
  }
}

bool exponential(Fn fn) { return fn == Fn::Exp || fn == Fn::Exp2 || fn == Fn::Exp10; }

// fn of an argument other than 0 (of any argument: exponentials).
bool vanishes_only_by_underflow(Fn fn) {
  return exponential(fn) || fn == Fn::Div || fn == Fn::Rcp || fn == Fn::Pow || fn == Fn::Erfc ||
         fn == Fn::Normcdf;
}

}  // namespace

void RealDomain::apply(Fn fn, Ty type, const Mods& mods, const Row* pa, const Row* pb,
                       const Row* pc_, const Row* pd, Row& out, uint32_t mask) {
  (void)pd;
  thread_local Row s1, s2, s3;
  const FnInfo& f = info(fn);
  if (fn == Fn::Pack || fn == Fn::UnpackLo || fn == Fn::UnpackHi) {  // both halves in v and m
    const Ty half = bits(type) == 64 ? Ty::F32 : Ty::F16;
    const Row a = typed(*pa, fn == Fn::Pack ? half : type, s1, mask);
    const Row b = fn == Fn::Pack ? typed(*pb, half, s2, mask) : a;
    clear(out);
    out.undef = a.undef | b.undef;
    for_lanes(mask, [&](int l) {
      out.v[l] = fn == Fn::UnpackHi ? a.m[l] : a.v[l];
      out.m[l] = fn == Fn::Pack ? b.v[l] : std::fabs(out.v[l]);
    });
    return;
  }
  const bool cvt = f.cls == FnClass::V;
  const Ty from = cvt && mods.type2 != Ty::None && fn != Fn::Bits ? mods.type2 : type;
  const Ty ta = fn == Fn::Select || f.cls == FnClass::L ? Ty::Pred : from;
  const Row& a = typed(*pa, ta, s1, mask);
  const Row& b = pb != nullptr ? typed(*pb, f.cls == FnClass::L ? Ty::Pred : type, s2, mask) : a;
  const Row& c = pc_ != nullptr ? typed(*pc_, type, s3, mask) : a;
  const uint32_t ua = a.undef, ub = f.arity > 1 ? b.undef : 0, uc = f.arity > 2 ? c.undef : 0;
  const uint32_t raw_clear = 0;
  if (fn == Fn::Select) {
    uint32_t undef = 0;
    for_lanes(mask, [&](int l) {
      const bool yes = a.v[l] != 0;
      const double v = yes ? b.v[l] : c.v[l], m = yes ? b.m[l] : c.m[l];
      undef |= (ua | (yes ? ub : uc)) & (1u << l);
      out.v[l] = v, out.m[l] = m;
    });
    out.raw = raw_clear;
    out.undef = undef;
    return;
  }
  uint32_t undef = (ua | ub | uc) & mask;
  uint32_t lost = 0;  // products that underflow to 0
  switch (fn) {
    case Fn::Add:
    case Fn::IAdd:
      for (int l = 0; l < kRow; ++l) {
        const double m = a.m[l] + b.m[l];
        out.v[l] = a.v[l] + b.v[l];
        out.m[l] = m;
      }
      break;
    case Fn::Sub:
    case Fn::ISub:
      for (int l = 0; l < kRow; ++l) {
        const double m = a.m[l] + b.m[l];
        out.v[l] = a.v[l] - b.v[l];
        out.m[l] = m;
      }
      break;
    case Fn::Mul:
    case Fn::IMul:
    case Fn::IMulWide:
      for (int l = 0; l < kRow; ++l) {
        const double v = a.v[l] * b.v[l];
        const double m = std::fabs(a.v[l]) * b.m[l] + std::fabs(b.v[l]) * a.m[l];
        lost += static_cast<uint32_t>(v == 0) & static_cast<uint32_t>(a.v[l] != 0) &
                static_cast<uint32_t>(b.v[l] != 0) & (mask >> l);
        out.v[l] = v, out.m[l] = m;
      }
      overflowed += lost;
      break;
    case Fn::Fma:
      for (int l = 0; l < kRow; ++l) {
        const double v = a.v[l] * b.v[l] + c.v[l];
        const double m = std::fabs(a.v[l]) * b.m[l] + std::fabs(b.v[l]) * a.m[l] + c.m[l];
        out.v[l] = v, out.m[l] = m;
      }
      break;
    default:
      for_lanes(mask, [&](int l) {
        const double x = a.v[l], y = f.arity > 1 ? b.v[l] : 0, z = f.arity > 2 ? c.v[l] : 0;
        const double v = real_fn(fn, mods, x, y, z);
        double m = 0;
        if (f.cls == FnClass::C || f.cls == FnClass::L) {
          if (on_compare && f.cls == FnClass::C)
            on_compare(pc, fn, x, y, a.m[l] + (f.arity > 1 ? b.m[l] : 0));
        } else if (fn == Fn::Min || fn == Fn::Max || fn == Fn::IMin || fn == Fn::IMax) {
          m = v == x ? a.m[l] : b.m[l];
        } else if (fn == Fn::Div) {
          m = (a.m[l] + std::fabs(v) * b.m[l]) / std::fabs(y);
        } else if (f.arity == 1) {
          const double s = slope(fn, mods, x, v);
          m = s == 1 || s == 0 ? s * a.m[l] : s * a.m[l] + std::fabs(v);
        } else {
          m = a.m[l] + b.m[l] + std::fabs(v);
        }
        if (f.cls == FnClass::R && !(undef & (1u << l))) {
          const bool finite = std::isfinite(x) && std::isfinite(y) && std::isfinite(z);
          if (finite && std::isnan(v)) ++undefined;
          if (finite && std::isinf(v) && !pole(fn, x)) ++overflowed;
          if (finite && v == 0 && (x != 0 || exponential(fn)) && vanishes_only_by_underflow(fn))
            ++overflowed;
        }
        out.v[l] = v;
        out.m[l] = std::isfinite(m) ? m : std::fabs(v);
      });
      break;
  }
  if (mods.sat && is_float(type) && fn != Fn::Sat)
    for_lanes(mask, [&](int l) {
      out.v[l] = std::isnan(out.v[l]) ? 0 : std::fmin(std::fmax(out.v[l], 0.0), 1.0);
    });
  out.raw = raw_clear;
  out.undef = undef;
}

}  // namespace assay::term
