// Field semantics of each Fn: the dispatch, with short ways for ring operations without marks.
#include <cmath>

#include "term/field_detail.h"

namespace assay::term {
namespace {

bool is_ring(Fn fn) { return fn == Fn::Add || fn == Fn::Sub || fn == Fn::Mul || fn == Fn::Fma; }

}  // namespace

// A ring operation on values without marks, to which no law applies.
bool FieldDomain::plain(Fn fn, const Mods& mods, const Row* a, const Row* b, const Row* c,
                        uint32_t mask) {
  if (!is_ring(fn) || mods.sat || ring_facts() || mask == 0) return false;
  uint32_t marks = a->marked() | b->marked();
  if (fn == Fn::Fma) marks |= c->marked();
  return (marks & mask) == 0 && facts_.constants.find(a->v[__builtin_ctz(mask)]) == nullptr;
}

void FieldDomain::ring(Fn fn, const Row& a, const Row& b, const Row* c, Row& out, uint32_t mask) {
  const Modulus &p = primes_.p, &q = primes_.q;
  const uint32_t taint = with_exp_ ? a.taint | b.taint : 0;
  uint32_t tainted = taint;
  switch (fn) {
    case Fn::Add:
      row_add(p, a.v, b.v, out.v, mask);
      if (with_exp_) row_add(q, a.e, b.e, out.e, mask);
      break;
    case Fn::Sub:
      row_sub(p, a.v, b.v, out.v, mask);
      if (with_exp_) row_sub(q, a.e, b.e, out.e, mask);
      break;
    case Fn::Mul:
      if ((taint & mask) == 0) {
        row_mul(p, a.v, b.v, out.v, mask);
        if (with_exp_) row_mul(q, a.e, b.e, out.e, mask);
      } else {
        tainted_product(a, b, out.v, out.e, mask);
      }
      break;
    default:
      if (with_exp_) tainted |= c->taint;
      if ((taint & mask) == 0) {
        row_fma(p, a.v, b.v, c->v, out.v, mask);
        if (with_exp_) row_fma(q, a.e, b.e, c->e, out.e, mask);
      } else {
        alignas(64) double v[kRow], e[kRow];
        tainted_product(a, b, v, e, mask);
        row_add(p, v, c->v, out.v, mask);
        row_add(q, e, c->e, out.e, mask);
      }
      break;
  }
  clear_marks(out);
  out.taint = tainted;
}

// Where a factor contains exp, the product as an exponent is a hash of its image. v and e may lie
// over a and b.
void FieldDomain::tainted_product(const Row& a, const Row& b, double* v, double* e,
                                  uint32_t mask) const {
  const uint32_t taint = a.taint | b.taint;
  if ((mask & ~taint) != 0) row_mul(primes_.q, a.e, b.e, e, mask);
  row_mul(primes_.p, a.v, b.v, v, mask);
  if ((mask & ~taint) == 0)
    row_hash(v, salt_e_, e, mask);
  else
    for_lanes(taint & mask, [&](int l) { e[l] = e_hash(v[l]); });
}

bool FieldDomain::apply_lane(Fn fn, const Mods& mods, const Lane* args, Row& out, int lane) {
  if (!is_ring(fn) || mods.sat || ring_facts()) return false;
  const Row &a = *args[0].row, &b = *args[1].row;
  const int la = args[0].lane, lb = args[1].lane;
  uint32_t marks = a.marked() >> la | b.marked() >> lb;
  uint32_t taint = a.taint >> la | b.taint >> lb;
  if (fn == Fn::Fma) marks |= args[2].row->marked() >> args[2].lane;
  const double av = a.v[la], bv = b.v[lb], ae = a.e[la], be = b.e[lb];
  if ((marks & 1) != 0 || facts_.constants.find(av) != nullptr) return false;
  const Modulus &p = primes_.p, &q = primes_.q;
  double v = 0, e = 0;
  switch (fn) {
    case Fn::Add:
      v = f_add(p, av, bv);
      if (with_exp_) e = f_add(q, ae, be);
      break;
    case Fn::Sub:
      v = f_sub(p, av, bv);
      if (with_exp_) e = f_sub(q, ae, be);
      break;
    default:
      if (fn == Fn::Fma && with_exp_ && (taint & 1) == 0) {
        const Row& c = *args[2].row;
        const int lc = args[2].lane;
        f_fma2(p, q, av, bv, c.v[lc], ae, be, c.e[lc], &v, &e);
        taint |= c.taint >> lc;
        break;
      }
      v = f_mul(p, av, bv);
      if (with_exp_) e = (taint & 1) != 0 ? e_hash(v) : f_mul(q, ae, be);
      if (fn == Fn::Mul) break;
      const Row& c = *args[2].row;
      const int lc = args[2].lane;
      v = f_add(p, v, c.v[lc]);
      if (with_exp_) e = f_add(q, e, c.e[lc]);
      taint |= c.taint >> lc;
      break;
  }
  const uint32_t bit = 1u << lane;
  out.raw &= ~bit, out.lazy &= ~bit, out.pinf &= ~bit, out.ninf &= ~bit, out.undef &= ~bit;
  out.taint = with_exp_ ? (out.taint & ~bit) | (taint & 1) << lane : 0;
  out.v[lane] = v;
  out.e[lane] = e;
  return true;
}

void FieldDomain::apply(Fn fn, Ty type, const Mods& mods, const Row* pa, const Row* pb,
                        const Row* pc, const Row* pd, Row& out, uint32_t mask) {
  if (plain(fn, mods, pa, pb, pc, mask)) {
    ring(fn, *pa, *pb, pc, out, mask);
    return;
  }
  op_type_ = type;
  thread_local Row s1, s2, s3, none;
  if (fn == Fn::Bits || fn == Fn::CvtII || fn == Fn::CvtIF || fn == Fn::CvtFF || fn == Fn::CvtFI) {
    const Ty from = mods.type2 == Ty::None ? type : mods.type2;
    const Row& a = typed(*pa, fn == Fn::Bits ? type : from, s1, mask);
    if (fn == Fn::CvtFI) {
      const Fn by[] = {Fn::Rint, Fn::Trunc, Fn::Floor, Fn::Ceil, Fn::Round};
      const Row copy = a;
      opaque(by[static_cast<int>(mods.round)], &copy, nullptr, nullptr, out, mask);
      clear_marks(out);
      out.undef = copy.undef & mask;
    } else if (fn == Fn::Bits && is_float(type) != is_float(from) && (pa->raw & mask) != mask) {
      const Row copy = a;
      clear_marks(out);
      opaque(fn, &copy, nullptr, nullptr, out, mask);
      out.undef = copy.undef & mask;
    } else if (&a != &out) {
      out = a;
    }
    if (mods.sat && is_float(type)) {
      const Row copy = out;
      real(Fn::Sat, type, {}, copy, copy, copy, out, mask);
    }
    return;
  }
  if (fn == Fn::Pack || fn == Fn::UnpackLo || fn == Fn::UnpackHi) {
    // Halves of unknown type: floats of half the width.
    const Ty half = assay::bits(type) == 64 ? Ty::F32 : Ty::F16;
    const Row& a = typed(*pa, fn == Fn::Pack ? half : type, s1, mask);
    const Row& b = fn == Fn::Pack ? typed(*pb, half, s2, mask) : a;
    const Row ca = a, cb = b;
    clear_marks(out);
    for_lanes(mask, [&](int l) {
      if (fn == Fn::Pack) {
        out.v[l] = to_element(mix64(std::bit_cast<uint64_t>(ca.v[l]) * 3 ^
                                    mix64(std::bit_cast<uint64_t>(cb.v[l]) ^ salt(Fn::Pack))));
        out.e[l] = e_hash(out.v[l]);
        facts_.packs[out.v[l]] = {ca.v[l], ca.e[l], cb.v[l], cb.e[l]};
        return;
      }
      const auto* parts = facts_.packs.find(ca.v[l]);
      const size_t k = fn == Fn::UnpackHi ? 2 : 0;
      if (parts != nullptr) {
        out.v[l] = (*parts)[k];
        out.e[l] = (*parts)[k + 1];
      } else {
        out.v[l] = to_element(mix64(std::bit_cast<uint64_t>(ca.v[l]) ^ salt(fn)));
        out.e[l] = e_hash(out.v[l]);
      }
    });
    out.undef = (ca.undef | cb.undef) & mask;
    return;
  }
  const FnInfo& f = info(fn);
  none.raw = none.pinf = none.ninf = none.undef = none.taint = none.lazy = 0;
  const Ty first = fn == Fn::Select ? Ty::Pred : f.cls == FnClass::L ? Ty::Pred : type;
  const bool extremal = fn == Fn::Max || fn == Fn::Min || fn == Fn::IMax || fn == Fn::IMin;
  const Row& a = typed(*pa, first, s1, mask, extremal);
  const Row& b =
      pb != nullptr ? typed(*pb, f.cls == FnClass::L ? Ty::Pred : type, s2, mask, extremal) : none;
  const Row& c = pc != nullptr ? typed(*pc, fn == Fn::IMulWide ? type : type, s3, mask) : none;
  (void)pd;
  if (fn == Fn::Select) {
    select(type, a, b, c, out, mask);
    return;
  }
  if (f.cls == FnClass::C) {
    compare(fn, a, b, out, mask);
    return;
  }
  if (f.cls == FnClass::L) {
    logic(fn, a, b, out, mask);
    return;
  }
  const uint32_t undef =
      (a.undef | (f.arity > 1 ? b.undef : 0) | (f.arity > 2 ? c.undef : 0)) & mask;
  const uint32_t inf = (a.pinf | a.ninf | (f.arity > 1 ? b.pinf | b.ninf : 0) |
                        (f.arity > 2 ? c.pinf | c.ninf : 0)) &
                       mask;
  if (inf != 0 && fn == Fn::Fma) {
    Row t;
    const Row cc = c;
    apply(Fn::Mul, type, {}, &a, &b, nullptr, nullptr, t, mask);
    apply(Fn::Add, type, {}, &t, &cc, nullptr, nullptr, out, mask);
    return;
  }
  const bool constants = mask != 0 && facts_.constants.find(a.v[__builtin_ctz(mask)]) != nullptr;
  const bool keep = inf != 0 || constants;
  Row ca, cb, cc;
  if (keep) ca = a, cb = b, cc = c;
  const bool ints = f.cls == FnClass::I && f.arity == 2 && facts_.ints.size() != 0;
  Row ia, ib;
  if (ints) ia = a, ib = b;
  switch (fn) {
    case Fn::IAdd:
      real(Fn::Add, type, mods, a, b, c, out, mask);
      break;
    case Fn::ISub:
      real(Fn::Sub, type, mods, a, b, c, out, mask);
      break;
    case Fn::IMul:
    case Fn::IMulWide:
      real(Fn::Mul, type, mods, a, b, c, out, mask);
      break;
    case Fn::INeg:
      real(Fn::Neg, type, mods, a, b, c, out, mask);
      break;
    case Fn::IAbs:
      real(Fn::Abs, type, mods, a, b, c, out, mask);
      break;
    case Fn::IMin:
      extremum(false, a, b, out, mask);
      break;
    case Fn::IMax:
      extremum(true, a, b, out, mask);
      break;
    case Fn::Shl: {
      double k = 0;
      const int l0 = mask != 0 ? __builtin_ctz(mask) : 0;
      bool same = is_const(b.v[l0], &k) && k >= 0 && k < 63;
      for_lanes(mask, [&](int l) { same = same && b.v[l] == b.v[l0]; });
      if (same) {
        Row power;
        set_number(Ty::F64, std::ldexp(1.0, static_cast<int>(k)), power);
        mul(a, power, out, mask);
      } else {
        opaque(fn, &a, &b, nullptr, out, mask);
      }
      break;
    }
    default:
      if (f.cls == FnClass::R)
        real(fn, type, mods, a, b, c, out, mask);
      else
        opaque(fn, &a, f.arity > 1 ? &b : nullptr, f.arity > 2 ? &c : nullptr, out, mask);
      if (f.cls == FnClass::I && constants) fold_integers(fn, type, mods, ca, cb, cc, out, mask);
      break;
  }
  const bool extreme = fn == Fn::Max || fn == Fn::Min || fn == Fn::IMax || fn == Fn::IMin;
  out.raw = 0;
  if (!extreme) out.lazy = 0;
  if (!extreme) {
    out.pinf = out.ninf = 0;
    out.undef = undef;
    if (inf != 0) fix_special(fn, ca, cb, out, mask);
  } else {
    out.undef = undef;
  }
  if (ints) int_laws(fn, ia, ib, out, mask);
  if (constants) note_constants(fn, type, ca, cb, cc, out, mask & ~(undef | inf));
  if (mods.sat && is_float(type) && fn != Fn::Sat) {
    const Row copy = out;
    real(Fn::Sat, type, {}, copy, copy, copy, out, mask);
  }
}

}  // namespace assay::term
