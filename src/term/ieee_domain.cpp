#include "term/ieee_domain.h"

#include <cmath>

#include "base/ieee.h"

namespace assay::term {
namespace {

template <class F>
void for_lanes(uint32_t mask, F&& f) {
  for (; mask != 0; mask &= mask - 1) f(__builtin_ctz(mask));
}

int64_t as_signed(Ty type, uint64_t v) {
  const uint32_t width = bits(type);
  return width >= 64 ? static_cast<int64_t>(v)
                     : static_cast<int64_t>(v << (64 - width)) >> (64 - width);
}

}  // namespace

void IeeeDomain::apply(Fn fn, Ty type, const Mods& mods, const Row* a, const Row* b, const Row* c,
                       const Row* d, Row& out, uint32_t mask) const {
  if (mask == 0) return clear(out);
  const int arity = info(fn).arity;
  uint32_t undef = a->undef;
  if (fn == Fn::Select) {
    for_lanes(b->undef & mask, [&](int l) { undef |= a->v[l] != 0 ? 1u << l : 0; });
    for_lanes(c->undef & mask, [&](int l) { undef |= a->v[l] == 0 ? 1u << l : 0; });
  } else {
    if (arity > 1) undef |= b->undef;
    if (arity > 2) undef |= c->undef;
  }
  // Groups of eight lanes that hold wanted ones: the cone of one location is one lane wide.
  const int lo = __builtin_ctz(mask) & ~7, hi = (39 - __builtin_clz(mask)) & ~7;
  alignas(64) uint64_t r[kRow];
  ieee_apply(fn, type, mods, a->v + lo, b != nullptr ? b->v + lo : nullptr,
             c != nullptr ? c->v + lo : nullptr, d != nullptr ? d->v + lo : nullptr, r + lo,
             hi - lo);
  for (int l = lo; l < hi; ++l) out.v[l] = r[l];
  out.undef = undef;
}

void IeeeDomain::set_bits(uint64_t bits, Row& out) const {
  out.undef = 0;
  for (uint64_t& v : out.v) v = bits;
}
void IeeeDomain::set_bits(const uint64_t* bits, Row& out) const {
  out.undef = 0;
  for (int l = 0; l < kRow; ++l) out.v[l] = bits[l];
}
void IeeeDomain::set_number(Ty type, double value, Row& out) const {
  set_bits(ieee_from_double(type, value), out);
}
void IeeeDomain::set_integer(const int64_t* values, Row& out) const {
  out.undef = 0;
  for (int l = 0; l < kRow; ++l) out.v[l] = static_cast<uint64_t>(values[l]);
}
void IeeeDomain::set_undef(uint64_t tag, Row& out) const {
  out.undef = 0xffffffffu;
  for (int l = 0; l < kRow; ++l) out.v[l] = mix64(tag + static_cast<uint64_t>(l)) & 0x7fffffff;
}
void IeeeDomain::symbol(uint64_t symbol, Ty type, const int64_t* elements, uint32_t mask,
                        Row& out) const {
  out.undef = 0;
  double v[kRow];
  inputs_.values(symbol, type, elements, mask, v);
  for_lanes(mask, [&](int l) {
    const uint32_t width = bits(type);
    if (is_float(type))
      out.v[l] = ieee_from_double(type, v[l]);
    else
      out.v[l] = static_cast<uint64_t>(static_cast<int64_t>(v[l])) &
                 (width >= 64 ? ~0ULL : (1ULL << width) - 1);
  });
}
void IeeeDomain::broadcast(const Row& from, int lane, Row& out) const {
  const uint64_t v = from.v[lane];
  const uint32_t undef = (from.undef >> lane) & 1 ? 0xffffffffu : 0;
  for (uint64_t& x : out.v) x = v;
  out.undef = undef;
}
void IeeeDomain::set_lane(Row& row, int lane, const Cell& cell) const {
  const uint32_t bit = 1u << lane;
  row.v[lane] = cell.v;
  row.undef = cell.undef ? row.undef | bit : row.undef & ~bit;
}
void IeeeDomain::copy_lane(const Row& from, int from_lane, Row& to, int lane) {
  const uint32_t bit = 1u << lane;
  to.v[lane] = from.v[from_lane];
  to.undef = (from.undef >> from_lane) & 1 ? to.undef | bit : to.undef & ~bit;
}
IeeeDomain::Cell IeeeDomain::combine(Fn fn, Ty type, const Cell& a, const Cell& b) const {
  return {ieee_apply1(fn, type, {}, a.v, b.v), a.undef || b.undef};
}
void IeeeDomain::lookup(Store<IeeeDomain>& store, int buffer, Ty type, const Row& index,
                        const int64_t* base, int64_t lo, int64_t hi, uint32_t mask,
                        Row& out) const {
  (void)type;
  out.undef = 0;
  for_lanes(mask, [&](int l) {
    const int64_t e = base[l] + static_cast<int64_t>(index.v[l]);
    if (((index.undef >> l) & 1) || e < lo || e >= hi)
      set_lane(out, l, {0, true});
    else
      set_lane(out, l, store.load1(buffer, e));
  });
}
void IeeeDomain::scatter(Store<IeeeDomain>& store, const machine::IndexedOut& x, const Row& index,
                         const Row& value, const Row* pred) const {
  for_lanes(x.mask, [&](int l) {
    if (pred != nullptr && pred->v[l] == 0) return;
    const int64_t e = x.base[static_cast<size_t>(l)] + as_signed(Ty::S64, index.v[l]);
    Cell v = cell(value, l, x.type);
    if (x.atomic)
      v = combine(is_float(x.type) ? Fn::Add : Fn::IAdd, x.type, store.load1(x.buffer, e), v);
    store.store(x.buffer, e, v);
  });
}

}  // namespace assay::term
