#include "term/interval_domain.h"

#include <algorithm>
#include <bit>

#include "base/ieee.h"
#include "term/real_domain.h"

namespace assay::term {
namespace {

using Cell = IntervalDomain::Cell;

template <class F>
void for_lanes(uint32_t mask, F&& f) {
  for (; mask != 0; mask &= mask - 1) f(__builtin_ctz(mask));
}

double literal(Ty type, uint64_t bits) {
  if (type == Ty::Pred) return bits != 0;
  if (is_float(type)) return ieee_to_double(type, bits);
  const uint32_t width = assay::bits(type);
  if (type == Ty::U8 || type == Ty::U16 || width >= 64)
    return static_cast<double>(static_cast<int64_t>(bits));
  return static_cast<double>(static_cast<int64_t>(bits << (64 - width)) >> (64 - width));
}

bool unbounded(Cell a) { return a.lo == -INFINITY && a.hi == INFINITY; }
bool only_zero(Cell a) { return a.lo == 0 && a.hi == 0; }

Cell product(Cell a, Cell b) {
  if (unbounded(a) && !only_zero(b)) return a;
  if (unbounded(b) && !only_zero(a)) return b;
  double lo = INFINITY, hi = -INFINITY;
  for (double x : {a.lo, a.hi})
    for (double y : {b.lo, b.hi}) {
      const double p = x == 0 || y == 0 ? 0 : x * y;
      lo = std::min(lo, p);
      hi = std::max(hi, p);
    }
  return {lo, hi};
}

Cell reciprocal(Cell a) {
  if (a.lo > 0 || a.hi < 0) return {1 / a.hi, 1 / a.lo};
  if (a.lo == 0) return {a.hi == INFINITY ? 0 : 1 / a.hi, INFINITY};
  return {};
}

bool increasing(Fn fn) {
  switch (fn) {
    case Fn::Exp:
    case Fn::Exp2:
    case Fn::Exp10:
    case Fn::Expm1:
    case Fn::Log:
    case Fn::Log2:
    case Fn::Log10:
    case Fn::Log1p:
    case Fn::Tanh:
    case Fn::Erf:
    case Fn::Sqrt:
    case Fn::Cbrt:
    case Fn::Atan:
    case Fn::Sinh:
    case Fn::Asinh:
    case Fn::Floor:
    case Fn::Ceil:
    case Fn::Trunc:
    case Fn::Rint:
    case Fn::Round:
    case Fn::Sat:
    case Fn::Normcdf:
      return true;
    default:
      return false;
  }
}

Cell unary(Fn fn, Cell a) {
  static const Mods kNone;
  if (increasing(fn)) {
    double lo = real_fn(fn, kNone, a.lo, 0, 0), hi = real_fn(fn, kNone, a.hi, 0, 0);
    if (std::isnan(lo)) lo = fn == Fn::Sqrt ? 0 : -INFINITY;
    if (std::isnan(hi)) hi = INFINITY;
    // e^x is positive: the bound is open.
    if (fn == Fn::Exp || fn == Fn::Exp2 || fn == Fn::Exp10) lo = std::max(lo, 5e-324);
    return {lo, hi};
  }
  switch (fn) {
    case Fn::Neg:
    case Fn::INeg:
      return {-a.hi, -a.lo};
    case Fn::Abs:
    case Fn::IAbs:
      return {a.lo > 0 ? a.lo : a.hi < 0 ? -a.hi : 0, std::max(std::fabs(a.lo), std::fabs(a.hi))};
    case Fn::Rcp:
      return reciprocal(a);
    case Fn::Rsqrt:
      return reciprocal(unary(Fn::Sqrt, a));
    case Fn::Cosh:
      return {1, INFINITY};
    case Fn::Erfc:
      return {0, 2};
    case Fn::Sin:
    case Fn::Cos:
      return {-1, 1};
    case Fn::CvtFF:
    case Fn::CvtIF:
    case Fn::CvtII:
      return a;
    case Fn::CvtFI:
      return {std::floor(a.lo), std::ceil(a.hi)};
    default:
      return {};
  }
}

}  // namespace

const IntervalDomain::Row& IntervalDomain::typed(const Row& in, Ty type, Row& scratch,
                                                 uint32_t mask) const {
  if ((in.raw & mask) == 0) return in;
  scratch = in;
  for_lanes(in.raw & mask, [&](int l) {
    scratch.lo[l] = scratch.hi[l] = literal(type, std::bit_cast<uint64_t>(in.lo[l]));
    if (std::isnan(scratch.lo[l])) scratch.lo[l] = -INFINITY, scratch.hi[l] = INFINITY;
  });
  scratch.raw = 0;
  return scratch;
}

void IntervalDomain::apply(Fn fn, Ty type, const Mods& mods, const Row* pa, const Row* pb,
                           const Row* pc_, const Row* pd, Row& out, uint32_t mask) {
  (void)pd;
  thread_local Row s1, s2, s3;
  const FnInfo& f = info(fn);
  const Ty from =
      f.cls == FnClass::V && mods.type2 != Ty::None && fn != Fn::Bits ? mods.type2 : type;
  const Row& a = typed(*pa, fn == Fn::Select || f.cls == FnClass::L ? Ty::Pred : from, s1, mask);
  const Row& b = pb != nullptr ? typed(*pb, f.cls == FnClass::L ? Ty::Pred : type, s2, mask) : a;
  const Row& c = pc_ != nullptr ? typed(*pc_, type, s3, mask) : a;
  const bool square = pa == pb;  // one value times itself
  Row result;
  result.raw = result.undef = 0;
  for_lanes(mask, [&](int l) {
    const Cell x{a.lo[l], a.hi[l]}, y{b.lo[l], b.hi[l]}, z{c.lo[l], c.hi[l]};
    auto times = [&](Cell p, Cell q, bool same) {
      Cell r = product(p, q);
      if (same) r.lo = std::max(r.lo, 0.0);
      return r;
    };
    Cell r;
    bool fails = false;
    switch (fn) {
      case Fn::Add:
      case Fn::IAdd:
        r = {x.lo + y.lo, x.hi + y.hi};
        break;
      case Fn::Sub:
      case Fn::ISub:
        r = {x.lo - y.hi, x.hi - y.lo};
        break;
      case Fn::Mul:
      case Fn::IMul:
      case Fn::IMulWide:
        r = times(x, y, square);
        break;
      case Fn::Fma: {
        const Cell p = times(x, y, square);
        r = {p.lo + z.lo, p.hi + z.hi};
        break;
      }
      case Fn::Div:
        fails = y.lo <= 0 && y.hi >= 0;
        r = product(x, reciprocal(y));
        break;
      case Fn::Rcp:
        fails = x.lo <= 0 && x.hi >= 0, r = unary(fn, x);
        break;
      case Fn::Rsqrt:
      case Fn::Log:
      case Fn::Log2:
      case Fn::Log10:
        fails = x.lo <= 0, r = unary(fn, x);
        break;
      case Fn::Log1p:
        fails = x.lo <= -1, r = unary(fn, x);
        break;
      case Fn::Sqrt:
        fails = x.lo < 0, r = unary(fn, x);
        break;
      case Fn::Max:
      case Fn::IMax:
        r = {std::max(x.lo, y.lo), std::max(x.hi, y.hi)};
        break;
      case Fn::Min:
      case Fn::IMin:
        r = {std::min(x.lo, y.lo), std::min(x.hi, y.hi)};
        break;
      case Fn::Select:
        r = {std::min(y.lo, z.lo), std::max(y.hi, z.hi)};
        break;
      default:
        if (f.cls == FnClass::C || f.cls == FnClass::L)
          r = {0, 1};
        else if (f.arity == 1)
          r = unary(fn, x);
        break;
    }
    if (std::isnan(r.lo)) r.lo = -INFINITY;
    if (std::isnan(r.hi)) r.hi = INFINITY;
    if (fails) may_fail[pc] = true;
    result.lo[l] = r.lo, result.hi[l] = r.hi;
  });
  for_lanes(mask, [&](int l) { out.lo[l] = result.lo[l], out.hi[l] = result.hi[l]; });
  out.raw = out.undef = 0;
}

void IntervalDomain::set_bits(uint64_t bits, Row& out) const {
  out.undef = 0;
  out.raw = 0xffffffffu;
  for (double& v : out.lo) v = std::bit_cast<double>(bits);
}
void IntervalDomain::set_bits(const uint64_t* bits, Row& out) const {
  out.undef = 0;
  out.raw = 0xffffffffu;
  for (int l = 0; l < kRow; ++l) out.lo[l] = std::bit_cast<double>(bits[l]);
}
void IntervalDomain::set_number(Ty, double value, Row& out) const {
  clear(out);
  for (int l = 0; l < kRow; ++l) out.lo[l] = out.hi[l] = value;
}
void IntervalDomain::set_integer(const int64_t* values, Row& out) const {
  clear(out);
  for (int l = 0; l < kRow; ++l) out.lo[l] = out.hi[l] = static_cast<double>(values[l]);
}
void IntervalDomain::set_undef(uint64_t, Row& out) const {
  clear(out);
  for (int l = 0; l < kRow; ++l) out.lo[l] = -INFINITY, out.hi[l] = INFINITY;
}
void IntervalDomain::symbol(uint64_t symbol, Ty, const int64_t*, uint32_t, Row& out) const {
  auto it = ranges_.find(symbol);
  clear(out);
  for (int l = 0; l < kRow; ++l) {
    out.lo[l] = it == ranges_.end() ? -INFINITY : it->second.first;
    out.hi[l] = it == ranges_.end() ? INFINITY : it->second.second;
  }
}
void IntervalDomain::broadcast(const Row& from, int lane, Row& out) const {
  const double lo = from.lo[lane], hi = from.hi[lane];
  const uint32_t raw = (from.raw >> lane) & 1 ? 0xffffffffu : 0;
  for (int l = 0; l < kRow; ++l) out.lo[l] = lo, out.hi[l] = hi;
  out.raw = raw, out.undef = 0;
}
void IntervalDomain::fix_type(Ty type, Row& row, uint32_t mask) const {
  Row scratch;
  const Row& t = typed(row, type, scratch, mask);
  if (&t != &row) row = t;
}
IntervalDomain::Cell IntervalDomain::cell(const Row& row, int lane, Ty type) const {
  if ((row.raw >> lane) & 1) {
    const double v = literal(type, std::bit_cast<uint64_t>(row.lo[lane]));
    return std::isnan(v) ? Cell{} : Cell{v, v};
  }
  return {row.lo[lane], row.hi[lane]};
}
void IntervalDomain::set_lane(Row& row, int lane, const Cell& cell) const {
  row.raw &= ~(1u << lane);
  row.lo[lane] = cell.lo;
  row.hi[lane] = cell.hi;
}
void IntervalDomain::copy_lane(const Row& from, int from_lane, Row& to, int lane) {
  const uint32_t bit = 1u << lane;
  to.lo[lane] = from.lo[from_lane];
  to.hi[lane] = from.hi[from_lane];
  to.raw = (from.raw >> from_lane) & 1 ? to.raw | bit : to.raw & ~bit;
}
IntervalDomain::Cell IntervalDomain::combine(Fn fn, Ty type, const Cell& a, const Cell& b) {
  Row ra{}, rb{}, out;
  set_lane(ra, 0, a);
  set_lane(rb, 0, b);
  apply(fn, type, {}, &ra, &rb, nullptr, nullptr, out, 1);
  return cell(out, 0, type);
}

}  // namespace assay::term
