#include "term/field_domain.h"

#include <bit>
#include <cfloat>
#include <cmath>

#include "base/ieee.h"
#include "term/field_detail.h"

namespace assay::term {

FieldDomain::FieldDomain(const Settings& settings, const Snapper& snapper)
    : primes_(settings.prime),
      snapper_(snapper),
      seed_(mix64(settings.seed * 0x51ed2701 + static_cast<uint64_t>(settings.prime))),
      salt_v_(mix64(seed_ ^ 0x1111)),
      salt_e_(mix64(seed_ ^ 0x2222)),
      with_exp_(settings.with_exp),
      log_laws_(settings.log_laws),
      facts_(mix64(seed_ ^ 0x3333), mix64(seed_ ^ 0x4444), primes_.p) {
  auto draw = [&](uint64_t k) { return to_element(mix64(seed_ ^ (0x9000 + k))); };
  ln2_p_ = draw(1), ln2_q_ = draw(2), ln10_p_ = draw(3), ln10_q_ = draw(4);
  sqrt_pi_p_ = draw(5), sqrt_pi_q_ = draw(6);
  neg_max_f32_ = literal(Ty::F32, -FLT_MAX).v;
  neg_max_f64_ = literal(Ty::F64, -DBL_MAX).v;
  neg_max_f16_ = literal(Ty::F16, -65504.0).v;
}

FieldDomain::Facts::Sizes FieldDomain::Facts::sizes() {
  Sizes out;
  size_t k = 0;
  for_each_map([&](auto& map) { out.total += out.maps[k++] = map.size(); });
  out.sets = {maxes.size(), mins.size(), args.size()};
  for (const MaxSets::Size& s : out.sets) out.total += s.sets;
  return out;
}

void FieldDomain::Facts::truncate(const Sizes& sizes) {
  size_t k = 0;
  for_each_map([&](auto& map) { map.truncate(sizes.maps[k++]); });
  maxes.truncate(sizes.sets[0]), mins.truncate(sizes.sets[1]), args.truncate(sizes.sets[2]);
  extrema.clear();
}

void FieldDomain::keep_facts() { kept_ = facts_.sizes(); }

bool FieldDomain::many_facts() {
  constexpr size_t kMany = 1 << 12;  // maps that stay in the second-level cache
  return kept_ && facts_.sizes().total > kept_->total + kMany;
}

// Rows may hold numbers of lazy nodes, also of an earlier CTA: these stay.
bool FieldDomain::forget_facts(const std::vector<double>& live) {
  if (!many_facts()) return false;
  if (live.empty()) {
    facts_.truncate(*kept_);
  } else {
    Facts of_live(mix64(seed_ ^ 0x3333), mix64(seed_ ^ 0x4444), primes_.p);
    for (const double image : live) copy_facts(facts_, image, of_live);
    facts_.truncate(*kept_);
    for (const double image : live) copy_facts(of_live, image, facts_);
    keep_facts();
  }
  recent_.fill({});
  return true;
}

void FieldDomain::copy_facts(Facts& from, double image, Facts& to) {
  auto copy = [&](auto& a, auto& b) {
    const auto* known = a.find(image);
    if (known != nullptr && b.find(image) == nullptr) b[image] = *known;
  };
  copy(from.exponents, to.exponents);
  copy(from.constants, to.constants);
  copy(from.logs, to.logs);
  copy(from.plain_logs, to.plain_logs);
  copy(from.squares, to.squares);
  copy(from.absolutes, to.absolutes);
  copy(from.preds, to.preds);
  copy(from.unions, to.unions);
  copy(from.selects, to.selects);
  copy(from.arg_forms, to.arg_forms);
  copy(from.packs, to.packs);
  copy(from.ints, to.ints);
  copy(from.last_indicator, to.last_indicator);
  for (auto [a, b] : {std::pair{&from.maxes, &to.maxes}, std::pair{&from.mins, &to.mins},
                      std::pair{&from.args, &to.args}}) {
    if (!a->is_set(image)) continue;
    b->copy_set(*a, image);
    for (const double leaf : a->leaves(image))
      if (const double* e = from.exponents.find(leaf)) to.exponents[leaf] = *e;
  }
}

const FieldDomain::LogForm* FieldDomain::find_log(double image, LogForm& scratch) {
  if (image == 0) return nullptr;  // ln 1 is no form of every sum; ln 0 is none at all
  if (const LogForm* known = facts_.logs.find(image)) return known;
  const double* arg = facts_.plain_logs.find(image);
  if (arg == nullptr) return nullptr;
  scratch = {1, 1, *arg, true, *arg, {}};
  return &scratch;
}

// --- values -------------------------------------------------------------------------------------

FieldDomain::Pair FieldDomain::add1(Pair a, Pair b) const {
  return {f_add(primes_.p, a.v, b.v), f_add(primes_.q, a.e, b.e)};
}
FieldDomain::Pair FieldDomain::sub1(Pair a, Pair b) const {
  return {f_sub(primes_.p, a.v, b.v), f_sub(primes_.q, a.e, b.e)};
}

// The largest s <= 1024 whose square divides an integer; 1 for other numbers.
static int64_t square_factor(double value) {
  if (value != std::rint(value) || value > 1e15) return 1;
  auto n = static_cast<int64_t>(value);
  int64_t out = 1;
  for (int64_t s = 2; s <= 1024 && s * s <= n; ++s)
    for (; n % (s * s) == 0; n /= s * s) out *= s;
  return out;
}

// sqrt of a constant: exact for squares of rationals; sqrt(s^2 n) = s sqrt(n); sqrt(1/n) = 1 /
// sqrt(n).
FieldDomain::Pair FieldDomain::root1(Pair a) {
  if (a.v == 0) return {0, 0};
  double value = 0;
  if (is_const(a.v, &value) && value > 0) {
    const double root = std::sqrt(value);
    if (root == std::rint(root) && root < 1e6) return literal(Ty::F64, root);
    // sqrt(8) is 2 sqrt(2), whichever way it is written.
    if (const int64_t square = square_factor(value);
        square > 1 && a.v == literal(Ty::F64, value).v) {
      const Pair rest = literal(Ty::F64, value / static_cast<double>(square * square));
      const Pair n = literal(Ty::F64, static_cast<double>(square)), r = root1(rest);
      const Pair out{f_mul(primes_.p, n.v, r.v), f_mul(primes_.q, n.e, r.e)};
      facts_.squares[out.v] = a;
      return out;
    }
    const double inverse = 1.0 / root;
    if (value < 1) {
      Pair big{f_inv(primes_.p, a.v), f_inv(primes_.q, a.e)};
      if (std::fabs(inverse - std::rint(inverse)) < 1e-9 * inverse && inverse < 1e6) {
        const Pair n = literal(Ty::F64, std::rint(inverse));
        if (f_mul(primes_.p, f_mul(primes_.p, n.v, n.v), a.v) == 1)
          return {f_inv(primes_.p, n.v), f_inv(primes_.q, n.e)};
      }
      facts_.constants[big.v] = 1.0 / value;
      const Pair r = root1(big);
      const Pair out{f_inv(primes_.p, r.v), f_inv(primes_.q, r.e)};
      facts_.squares[out.v] = a;
      return out;
    }
  }
  Pair out;
  out.v = to_element(mix64(std::bit_cast<uint64_t>(a.v) ^ salt(Fn::Sqrt)));
  out.e = e_hash(out.v);
  facts_.squares[out.v] = a;
  have_roots_ = true;
  return out;
}

FieldDomain::Pair FieldDomain::ideal_pair(const Ideal& ideal) {
  const Modulus &p = primes_.p, &q = primes_.q;
  auto rational_pair = [&](int64_t num, int64_t den) {
    return Pair{f_mul(p, f_from_int(p, num), f_inv(p, f_from_int(p, den))),
                f_mul(q, f_from_int(q, num), f_inv(q, f_from_int(q, den)))};
  };
  auto power = [&](const Modulus& m, double base, int k) {
    const double r = f_pow(m, base, static_cast<uint64_t>(std::abs(k)));
    return k < 0 ? f_inv(m, r) : r;
  };
  switch (ideal.kind) {
    case Ideal::Kind::Rational:
      return rational_pair(ideal.num, ideal.den);
    case Ideal::Kind::Decimal: {
      const Pair n = rational_pair(ideal.num, 1);
      return {f_mul(p, n.v, power(p, 10.0, ideal.exp10)),
              f_mul(q, n.e, power(q, 10.0, ideal.exp10))};
    }
    case Ideal::Kind::Dyadic:
      return {f_from_double(p, ideal.value), f_from_double(q, ideal.value)};
    case Ideal::Kind::Function: {
      // The exponent's image counts as that of an indeterminate, as for any irrational number.
      const Folding& folded = foldings()[static_cast<size_t>(ideal.constant)];
      Row argument, value;
      set_number(Ty::F64, folded.argument, argument);
      const Ty type = op_type_;
      apply(folded.fn, Ty::F64, {}, &argument, &argument, &argument, nullptr, value, 1);
      op_type_ = type;
      const Pair factor = rational_pair(ideal.num, ideal.den);
      return {f_mul(p, factor.v, value.v[0]), f_mul(q, factor.e, value.e[0])};
    }
    case Ideal::Kind::Irrational:
      break;
  }
  Pair out = rational_pair(ideal.num, ideal.den);
  auto times = [&](Pair x) { out = {f_mul(p, out.v, x.v), f_mul(q, out.e, x.e)}; };
  auto root_of = [&](int64_t num, int64_t den) {
    Pair r = rational_pair(num, den);
    facts_.constants[r.v] = static_cast<double>(num) / static_cast<double>(den);
    return root1(r);
  };
  if (ideal.root != 1) times(ideal.root > 0 ? root_of(1, ideal.root) : root_of(-ideal.root, 1));
  if (ideal.constant < 0) return out;
  const IrrationalConstant& c = irrationals()[static_cast<size_t>(ideal.constant)];
  times(rational_pair(c.num, c.den));
  times({power(p, ln2_p_, c.ln2), power(q, ln2_q_, c.ln2)});
  times({power(p, ln10_p_, c.ln10), power(q, ln10_q_, c.ln10)});
  times({power(p, sqrt_pi_p_, 2 * c.pi + c.sqrt_pi), power(q, sqrt_pi_q_, 2 * c.pi + c.sqrt_pi)});
  if (c.sqrt_num != c.sqrt_den) times(root_of(c.sqrt_num, c.sqrt_den));
  return out;
}

FieldDomain::Pair FieldDomain::literal(Ty type, double value) {
  const Ideal& ideal = snapper_.snap(type, value);
  const Pair out = ideal_pair(ideal);
  facts_.constants[out.v] = ideal.value;
  return out;
}

FieldDomain::Pair FieldDomain::bits_pair(Ty type, uint64_t bits) {
  const double key =
      std::bit_cast<double>(mix64(bits + 0x1234567 * static_cast<uint64_t>(type)) >> 1);
  if (const Pair* known = facts_.literals.find(key)) return *known;
  Pair out;
  if (is_float(type)) {
    out = literal(type, ieee_to_double(type, bits));
  } else if (type == Ty::Pred) {
    out = {bits != 0 ? 1.0 : 0.0, bits != 0 ? 1.0 : 0.0};
  } else {
    // Untyped and unsigned operands count as signed: sums and products agree modulo 2^w either way.
    const uint32_t width = assay::bits(type);
    int64_t v = static_cast<int64_t>(bits);
    if (width < 64) v = static_cast<int64_t>(bits << (64 - width)) >> (64 - width);
    if (type == Ty::U8 || type == Ty::U16) v = static_cast<int64_t>(bits);
    out = {f_from_int(primes_.p, v), f_from_int(primes_.q, v)};
    facts_.constants[out.v] = static_cast<double>(v);
  }
  facts_.literals[key] = out;
  return out;
}

bool FieldDomain::is_const(double image, double* value) {
  const double* known = facts_.constants.find(image);
  if (known == nullptr) return false;
  *value = *known;
  return true;
}

void FieldDomain::set_bits(uint64_t bits, Row& out) const {
  clear_marks(out);
  out.raw = kAllLanes;
  for (double& v : out.v) v = std::bit_cast<double>(bits);
}

void FieldDomain::set_bits(const uint64_t* bits, Row& out) const {
  clear_marks(out);
  out.raw = kAllLanes;
  for (int l = 0; l < kRow; ++l) out.v[l] = std::bit_cast<double>(bits[l]);
}

void FieldDomain::set_number(Ty type, double value, Row& out) {
  clear_marks(out);
  if (std::isinf(value)) {
    (value > 0 ? out.pinf : out.ninf) = kAllLanes;
    value = 0;
  }
  const Pair c = literal(type, value);
  for (int l = 0; l < kRow; ++l) {
    out.v[l] = c.v;
    out.e[l] = c.e;
  }
}

void FieldDomain::set_integer(const int64_t* values, Row& out) {
  clear_marks(out);
  for (int l = 0; l < kRow; ++l) {
    out.v[l] = f_from_int(primes_.p, values[l]);
    out.e[l] = f_from_int(primes_.q, values[l]);
    if (l == 0 || values[l] != values[l - 1])
      facts_.constants[out.v[l]] = static_cast<double>(values[l]);
  }
}

void FieldDomain::set_undef(uint64_t tag, Row& out) const {
  clear_marks(out);
  out.undef = kAllLanes;
  for (int l = 0; l < kRow; ++l) {
    out.v[l] = to_element(mix64(mix64(tag * 64 + static_cast<uint64_t>(l)) ^ salt_v_ ^ 0xdead));
    out.e[l] = e_hash(out.v[l]);
  }
}

void FieldDomain::symbol(uint64_t symbol, Ty type, const int64_t* elements, uint32_t mask,
                         Row& out) {
  clear_marks(out);
  const uint64_t number = symbol * 0x9e3779b97f4a7c15ULL;
  if ((mask & (mask - 1)) == 0 && mask != 0) {
    const int l = __builtin_ctz(mask);
    const uint64_t h = mix64(static_cast<uint64_t>(elements[l]) + number);
    out.v[l] = to_element(mix64(h ^ salt_v_));
    if (with_exp_) out.e[l] = to_element(mix64(h ^ salt_e_));
  } else {
    row_symbol(number, salt_v_, salt_e_, elements, out.v, with_exp_ ? out.e : nullptr, mask);
  }
  if (is_float(type)) return;
  auto range = int_ranges_.find(symbol);
  if (range == int_ranges_.end()) return;
  for_lanes(mask, [&](int l) {
    IntForm& f = facts_.ints[out.v[l]];
    f = {{out.v[l], out.e[l]}, 1, 0, range->second.first, range->second.second};
  });
}

FieldDomain::Cell FieldDomain::bits_cell(Ty type, uint64_t bits) {
  if (is_float(type)) {
    const double d = ieee_to_double(type, bits);
    if (std::isinf(d)) return {d > 0 ? -1.0 : -2.0, 0};
    if (std::isnan(d)) return {-3.0 - to_element(mix64(0x7ff8)), 0};
  }
  const Pair c = bits_pair(type, bits);
  return {c.v, c.e};
}

FieldDomain::Cell FieldDomain::cell(const Row& row, int lane, Ty type) {
  const uint32_t bit = 1u << lane;
  if (row.lazy & bit) {
    const Pair p = force(static_cast<uint32_t>(row.v[lane]));
    return {p.v, (row.taint & bit) != 0 ? -1.0 - p.e : p.e};
  }
  if (row.raw & bit) return bits_cell(type, std::bit_cast<uint64_t>(row.v[lane]));
  if (row.undef & bit) return {-3.0 - row.v[lane], 0};
  if (row.pinf & bit) return {-1.0, 0};
  if (row.ninf & bit) return {-2.0, 0};
  return {row.v[lane], (row.taint & bit) != 0 ? -1.0 - row.e[lane] : row.e[lane]};
}

void FieldDomain::set_lane(Row& row, int lane, const Cell& cell) const {
  const uint32_t bit = 1u << lane;
  row.raw &= ~bit, row.pinf &= ~bit, row.ninf &= ~bit, row.undef &= ~bit, row.taint &= ~bit,
      row.lazy &= ~bit;
  row.v[lane] = cell.v;
  row.e[lane] = cell.e;
  if (cell.v >= 0) {
    if (cell.e < 0) {
      row.taint |= bit;
      row.e[lane] = -1.0 - cell.e;
    }
    return;
  }
  if (cell.v == -1.0) {
    row.pinf |= bit;
    row.v[lane] = 0;
  } else if (cell.v == -2.0) {
    row.ninf |= bit;
    row.v[lane] = 0;
  } else {
    row.undef |= bit;
    row.v[lane] = -3.0 - cell.v;
    row.e[lane] = e_hash(row.v[lane]);
  }
}

void FieldDomain::copy_marks(const Row& from, int from_lane, Row& to, int lane) {
  const uint32_t bit = 1u << lane;
  auto move = [&](uint32_t& t, uint32_t f) {
    t = ((f >> from_lane) & 1) != 0 ? t | bit : t & ~bit;
  };
  move(to.raw, from.raw);
  move(to.pinf, from.pinf);
  move(to.ninf, from.ninf);
  move(to.undef, from.undef);
  move(to.taint, from.taint);
  move(to.lazy, from.lazy);
}

// Computes the images of lazy lanes; lanes outside the mask are dropped.
void FieldDomain::force_lanes(Row& row, uint32_t mask) {
  for_lanes(row.lazy, [&](int l) {
    const Pair p = ((mask >> l) & 1) != 0 ? force(static_cast<uint32_t>(row.v[l])) : Pair{};
    row.v[l] = p.v;
    row.e[l] = p.e;
  });
  row.lazy = 0;
}

const FieldDomain::Row& FieldDomain::typed(const Row& in, Ty type, Row& scratch, uint32_t mask,
                                           bool keep_lazy) {
  if (!keep_lazy && (in.lazy & mask) != 0) {
    scratch = in;
    force_lanes(scratch, mask);
    if ((scratch.raw & mask) == 0) return scratch;
    const Row forced = scratch;
    type_lanes(forced, type, scratch, mask);
    return scratch;
  }
  if ((in.raw & mask) == 0) return in;
  type_lanes(in, type, scratch, mask);
  return scratch;
}

// Raw lanes take the type that their consumer knows.
void FieldDomain::type_lanes(const Row& in, Ty type, Row& scratch, uint32_t mask) {
  scratch = in;
  const uint64_t first = std::bit_cast<uint64_t>(in.v[__builtin_ctz(in.raw & mask)]);
  Cell last = bits_cell(type, first);
  uint64_t last_bits = first;
  for_lanes(in.raw & mask, [&](int l) {
    const uint64_t b = std::bit_cast<uint64_t>(in.v[l]);
    if (b != last_bits) {
      last = bits_cell(type, b);
      last_bits = b;
    }
    set_lane(scratch, l, last);
  });
  scratch.raw &= ~mask;
  for_lanes(scratch.raw, [&](int l) { scratch.v[l] = 0; });
  scratch.raw = 0;
}

uint32_t FieldDomain::agree(Ty type, const Row& pa, const Row& pb, uint32_t mask) {
  Row s1, s2;
  const Row &a = typed(pa, type, s1, mask), &b = typed(pb, type, s2, mask);
  uint32_t same = 0;
  for_lanes(mask, [&](int l) { same |= a.v[l] == b.v[l] ? 1u << l : 0; });
  same &= ~(a.marked() | b.marked());
  agreements += static_cast<uint64_t>(std::popcount(same));
  return same;
}

FieldDomain::Cell FieldDomain::combine(Fn fn, Ty type, const Cell& a, const Cell& b) {
  Row ra, rb, out;
  set_number(Ty::F64, 0, ra);
  rb = ra;
  set_lane(ra, 0, a);
  set_lane(rb, 0, b);
  apply(fn, type, {}, &ra, &rb, nullptr, nullptr, out, 1);
  return cell(out, 0, type);
}

void FieldDomain::broadcast(const Row& from, int lane, Row& out) const {
  auto spread = [&](uint32_t marks) { return ((marks >> lane) & 1) != 0 ? kAllLanes : 0u; };
  const double v = from.v[lane], e = from.e[lane];
  const Row marks_of = {{},
                        {},
                        spread(from.raw),
                        spread(from.pinf),
                        spread(from.ninf),
                        spread(from.undef),
                        spread(from.taint),
                        spread(from.lazy)};
  for (int l = 0; l < kRow; ++l) out.v[l] = v, out.e[l] = e;
  out.raw = marks_of.raw, out.pinf = marks_of.pinf, out.ninf = marks_of.ninf;
  out.undef = marks_of.undef, out.taint = marks_of.taint, out.lazy = marks_of.lazy;
}

void FieldDomain::fix_type(Ty type, Row& row, uint32_t mask) {
  Row scratch;
  const Row& t = typed(row, type, scratch, mask);
  if (&t != &row) row = t;
}

void FieldDomain::oblige(Obligation::Kind kind, const Row& a, uint32_t mask) {
  if (!record_obligations) return;
  double last = -1;
  for_lanes(mask, [&](int l) {
    if (a.v[l] == last) return;
    last = a.v[l];
    double value = 0;
    if (is_const(a.v[l], &value) && (value > 0 || (kind == Obligation::Kind::NonZero && value < 0)))
      return;
    double image = a.v[l];
    if (kind == Obligation::Kind::NonZero)  // a root is 0 where its square is
      for (const Pair* s = facts_.squares.find(image); s != nullptr; s = facts_.squares.find(image))
        image = s->v;
    obligations.push_back({kind, image, pc});
  });
}

void FieldDomain::assume(const std::vector<Obligation>& needs) {
  constexpr size_t kMost = 1'000'000;
  for (const Obligation& o : needs) {
    if (nonzero_.size() > kMost) return;
    if (o.kind == Obligation::Kind::Positive) positive_.insert(o.image);
    if (o.kind != Obligation::Kind::NonNegative)
      nonzero_.insert(std::min(o.image, primes_.p.p - o.image));
  }
}

int FieldDomain::assumed_sign(double x, double y) const {
  if (nonzero_.empty()) return 0;
  if (y == 0 && positive_.count(x) != 0) return 1;
  if (x == 0 && positive_.count(y) != 0) return -1;
  const double d = f_sub(primes_.p, x, y);
  return nonzero_.count(std::min(d, primes_.p.p - d)) != 0 ? 2 : 0;
}

bool FieldDomain::rational(double image, int bits, int64_t* num, int64_t* den) const {
  // Wang's rational reconstruction.
  const int64_t limit = int64_t{1} << bits;
  const auto p = static_cast<int64_t>(primes_.p.p);
  int64_t r0 = p, r1 = static_cast<int64_t>(image), s0 = 0, s1 = 1;
  while (r1 >= limit) {
    const int64_t quotient = r0 / r1;
    const int64_t r2 = r0 - quotient * r1, s2 = s0 - quotient * s1;
    r0 = r1, r1 = r2, s0 = s1, s1 = s2;
    if (std::abs(s1) >= limit) return false;
  }
  if (s1 == 0) return false;
  *num = s1 < 0 ? -r1 : r1;
  *den = std::abs(s1);
  return true;
}

}  // namespace assay::term
