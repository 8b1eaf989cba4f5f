// Absolute values: |x| is 2 relu(x) - x, a polynomial in which relu(x) relu(x) is not reduced, so
// products of |x| with itself are told by facts about images.
#include "term/field_domain.h"

namespace assay::term {

FieldDomain::Pair FieldDomain::abs1(Pair x) {
  const Pair r = relu1(x), out = sub1(add1(r, r), x);
  const Pair n = sub1({0, 0}, x);
  facts_.absolutes[out.v] = {n.v < x.v ? n : x, {1, 1}};
  have_abs_ = true;
  return out;
}

// out = a b already. One factor c |x|: so is the product, with c b. Both, of one x: c d x x.
void FieldDomain::abs_laws(const Row& a, const Row& b, Row& out, uint32_t mask) {
  const Modulus &p = primes_.p, &q = primes_.q;
  const auto times = [&](Pair s, Pair t) { return Pair{f_mul(p, s.v, t.v), f_mul(q, s.e, t.e)}; };
  for (; mask != 0; mask &= mask - 1) {
    const int l = __builtin_ctz(mask);
    const AbsForm *fa = facts_.absolutes.find(a.v[l]), *fb = facts_.absolutes.find(b.v[l]);
    if (fa == nullptr && fb == nullptr) continue;
    if (fa != nullptr && fb != nullptr && fa->x.v == fb->x.v) {
      const Pair r = times(times(fa->c, fb->c), times(fa->x, fa->x));
      out.v[l] = r.v;
      out.e[l] = (out.taint >> l & 1) != 0 ? e_hash(r.v) : r.e;
      continue;
    }
    if (out.v[l] == 0) continue;
    const AbsForm of = fa != nullptr ? AbsForm{fa->x, times(fa->c, {b.v[l], b.e[l]})}
                                     : AbsForm{fb->x, times(fb->c, {a.v[l], a.e[l]})};
    facts_.absolutes[out.v[l]] = of;
  }
}

}  // namespace assay::term
