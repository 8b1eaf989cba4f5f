// Field semantics of integers that are affine in one symbol: their indicators, reads and writes at
// such an index.
#include <cmath>

#include "term/field_detail.h"

namespace assay::term {

// [symbol = k]: a free value for every k but the largest, whose indicator is 1 minus the others.
FieldDomain::Pair FieldDomain::indicator1(const IntForm& f, int64_t k) {
  if (k < f.lo || k >= f.hi) return {0, 0};
  auto free = [&](int64_t j) {
    Pair r;
    r.v = to_element(mix64(std::bit_cast<uint64_t>(f.symbol.v) ^
                           mix64(static_cast<uint64_t>(j) ^ salt(Fn::Eq))));
    r.e = e_hash(r.v);
    return r;
  };
  if (k != f.hi - 1) return free(k);
  if (const Pair* known = facts_.last_indicator.find(f.symbol.v)) return *known;
  Pair last{1, 1};
  for (int64_t j = f.lo; j < f.hi - 1; ++j) last = sub1(last, free(j));
  facts_.last_indicator[f.symbol.v] = last;
  return last;
}

void FieldDomain::int_laws(Fn fn, const Row& a, const Row& b, const Row& out, uint32_t mask) {
  for_lanes(mask, [&](int l) {
    const IntForm* fa = facts_.ints.find(a.v[l]);
    const IntForm* fb = facts_.ints.find(b.v[l]);
    double k = 0;
    if ((fa == nullptr) == (fb == nullptr)) return;
    const Row& other = fa != nullptr ? b : a;
    IntForm f = fa != nullptr ? *fa : *fb;
    if (!is_const(other.v[l], &k) || k != std::rint(k) || std::fabs(k) > 9e15) return;
    const auto n = static_cast<int64_t>(k);
    switch (fn) {
      case Fn::IAdd:
        f.shift += n;
        break;
      case Fn::ISub:
        if (fa == nullptr)
          f.scale = -f.scale, f.shift = n - f.shift;
        else
          f.shift -= n;
        break;
      case Fn::Shl:
        if (fa == nullptr || n < 0 || n > 40) return;
        f.scale <<= n, f.shift <<= n;
        break;
      default:
        f.scale *= n, f.shift *= n;
        break;
    }
    if (out.v[l] != f.symbol.v) facts_.ints[out.v[l]] = f;
  });
}

void FieldDomain::lookup(Store<FieldDomain>& store, int buffer, Ty type, const Row& index,
                         const int64_t* base, int64_t lo, int64_t hi, uint32_t mask, Row& out) {
  (void)type;
  Row scratch;
  const Row i = typed(index, Ty::S64, scratch, mask);
  clear(out);
  out.undef = i.undef & mask;
  const Source& source = store.source(buffer);
  for_lanes(mask & ~i.undef, [&](int l) {
    const IntForm* known = facts_.ints.find(i.v[l]);
    double k = 0;
    if (is_const(i.v[l], &k)) {
      const int64_t e = base[l] + static_cast<int64_t>(k);
      if (e >= lo && e < hi) return set_lane(out, l, store.load1(buffer, e));
      out.undef |= 1u << l;
    }
    if (known != nullptr && known->hi - known->lo <= 4096) {
      const IntForm f = *known;
      Pair sum{0, 0}, plain{0, 0};
      LogForm common;  // of every candidate, if all are c ln(core) plus something
      bool undef = false, taint = false, logs = have_logs_;
      for (int64_t s = f.lo; s < f.hi; ++s) {
        const int64_t e = base[l] + f.scale * s + f.shift;
        if (e < lo || e >= hi) {
          undef = true;
          break;
        }
        Row one;
        clear(one);
        set_lane(one, 0, store.load1(buffer, e));
        if (one.special()) undef = true;
        taint = taint || one.taint != 0;
        const Pair c = indicator1(f, s);
        LogForm alone;
        const LogForm* log = logs ? find_log(one.v[0], alone) : nullptr;
        if (log == nullptr ||
            (common.set && (common.c_p != log->c_p || common.core != log->core))) {
          logs = false;
        } else {
          if (!common.set) common = *log;
          plain = add1(plain,
                       {f_mul(primes_.p, c.v, log->plain.v), f_mul(primes_.q, c.e, log->plain.e)});
        }
        sum = add1(sum, {f_mul(primes_.p, c.v, one.v[0]), f_mul(primes_.q, c.e, one.e[0])});
      }
      if (logs &&
          common.set) {  // sum_k [k] (plain_k + c ln core) = (sum_k [k] plain_k) + c ln core
        const Modulus &p = primes_.p, &q = primes_.q;
        common.plain = plain;
        common.arg = f_mul(p, common.core, primes_.exp(f_mul(q, plain.e, f_inv(q, common.c_q))));
        sum = log_image(common);
        facts_.logs[sum.v] = common;
      }
      out.v[l] = sum.v;
      out.e[l] = sum.e;
      if (undef) out.undef |= 1u << l;
      if (taint) out.taint |= 1u << l;
      return;
    }
    // Congruence: the same element expression of the same tensor, as it was before the first step.
    const double element = f_add(primes_.p, f_from_int(primes_.p, base[l]), i.v[l]);
    out.v[l] = to_element(
        mix64(std::bit_cast<uint64_t>(element) ^ mix64(source.symbol ^ salt_v_ ^ 0x100c)));
    out.e[l] = e_hash(out.v[l]);
    if (source.kind != Source::Kind::Symbol || store.written(buffer)) out.undef |= 1u << l;
  });
}

void FieldDomain::scatter(Store<FieldDomain>& store, const machine::IndexedOut& x, const Row& index,
                          const Row& value, const Row* pred) {
  Row s1, s2, s3;
  const Row i = typed(index, Ty::S64, s1, x.mask);
  const Row v = typed(value, x.type, s2, x.mask);
  Row p;
  if (pred != nullptr) p = typed(*pred, Ty::Pred, s3, x.mask);
  for_lanes(x.mask, [&](int l) {
    const IntForm* known = facts_.ints.find(i.v[l]);
    double k = 0;
    IntForm f;
    if (known != nullptr) {
      f = *known;
    } else if (is_const(i.v[l], &k)) {
      f = {{0, 0}, 0, static_cast<int64_t>(k), 0, 1};
    } else {
      ++unknown_scatters;
      return;
    }
    for (int64_t s = f.lo; s < f.hi; ++s) {
      const int64_t e = x.base[static_cast<size_t>(l)] + f.scale * s + f.shift;
      Row c, a, b, r;
      const Pair hit = f.scale == 0 ? Pair{1, 1} : indicator1(f, s);
      clear(c), clear(a), clear(b);
      c.v[0] = hit.v, c.e[0] = hit.e;
      if (pred != nullptr) {
        c.v[0] = f_mul(primes_.p, c.v[0], p.v[l]);
        c.e[0] = f_mul(primes_.q, c.e[0], p.e[l]);
      }
      set_lane(b, 0, store.load1(x.buffer, e));
      copy_lane(v, l, a, 0);
      if (x.atomic) {
        Row sum;
        apply(is_float(x.type) ? Fn::Add : Fn::IAdd, x.type, {}, &a, &b, nullptr, nullptr, sum, 1);
        a = sum;
      }
      select(x.type, c, a, b, r, 1);
      store.store(x.buffer, e, cell(r, 0, x.type));
    }
  });
}

}  // namespace assay::term
