#include "term/field.h"

#include <bit>
#include <cmath>

#pragma GCC optimize("O3", "no-math-errno", "no-trapping-math")

// The row loops are compiled for several instruction sets and chosen at load time; FMA contraction
// is explicit (std::fma), so every clone computes the same integers.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define ROW_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define ROW_CLONES
#endif

namespace assay::term {
namespace {

#define INLINED __attribute__((always_inline))

INLINED inline double reduce_once(double p, double x) {  // x in (-p, 2p)
  x = x < 0 ? x + p : x;
  return x >= p ? x - p : x;
}

INLINED inline double mul1(double p, double inv, double a, double b) {
  const double h = a * b;
  const double l = __builtin_fma(a, b, -h);
  const double c = __builtin_floor(h * inv);
  const double d = __builtin_fma(-c, p, h);
  return reduce_once(p, d + l);
}

INLINED inline uint64_t mix_double(double a, uint64_t salt) {
  return mix64(__builtin_bit_cast(uint64_t, a) ^ salt);  // std::bit_cast is not inlined in clones
}

// f(l) for the lanes of every group of eight that the mask touches.
template <class F>
INLINED inline void each_lane(uint32_t mask, F f) {
  if (mask == kAllLanes) {
#pragma GCC ivdep
    for (int l = 0; l < kRow; ++l) f(l);
    return;
  }
  for (int group = 0; group < kRow; group += 8) {
    if (((mask >> group) & 255) == 0) continue;
#pragma GCC ivdep
    for (int l = group; l < group + 8; ++l) f(l);
  }
}

}  // namespace

ROW_CLONES void row_add(const Modulus& m, const double* a, const double* b, double* out,
                        uint32_t mask) {
  const double p = m.p;
  each_lane(mask, [=](int l) INLINED {
    const double s = a[l] + b[l];
    out[l] = s >= p ? s - p : s;
  });
}

ROW_CLONES void row_sub(const Modulus& m, const double* a, const double* b, double* out,
                        uint32_t mask) {
  const double p = m.p;
  each_lane(mask, [=](int l) INLINED {
    const double s = a[l] - b[l];
    out[l] = s < 0 ? s + p : s;
  });
}

ROW_CLONES void row_neg(const Modulus& m, const double* a, double* out, uint32_t mask) {
  const double p = m.p;
  each_lane(mask, [=](int l) INLINED { out[l] = a[l] == 0 ? 0.0 : p - a[l]; });
}

ROW_CLONES void row_mul(const Modulus& m, const double* a, const double* b, double* out,
                        uint32_t mask) {
  const double p = m.p, inv = m.inv;
  each_lane(mask, [=](int l) INLINED { out[l] = mul1(p, inv, a[l], b[l]); });
}

ROW_CLONES void row_scale(const Modulus& m, const double* a, double factor, double* out,
                          uint32_t mask) {
  const double p = m.p, inv = m.inv;
  each_lane(mask, [=](int l) INLINED { out[l] = mul1(p, inv, a[l], factor); });
}

ROW_CLONES void row_fma(const Modulus& m, const double* a, const double* b, const double* c,
                        double* out, uint32_t mask) {
  const double p = m.p, inv = m.inv;
  each_lane(mask, [=](int l) INLINED {
    const double s = mul1(p, inv, a[l], b[l]) + c[l];
    out[l] = s >= p ? s - p : s;
  });
}

ROW_CLONES void row_inv(const Modulus& m, const double* a, double* out, uint32_t mask) {
  const double p = m.p, inv = m.inv;
  const uint64_t e = static_cast<uint64_t>(p) - 2;
  for (int group = 0; group < kRow; group += 8) {
    if (((mask >> group) & 255) == 0) continue;
    double base[8], acc[8];
#pragma GCC ivdep
    for (int l = 0; l < 8; ++l) {
      base[l] = a[group + l];
      acc[l] = 1.0;
    }
    for (uint64_t k = e; k != 0; k >>= 1) {
      if (k & 1)
#pragma GCC ivdep
        for (int l = 0; l < 8; ++l) acc[l] = mul1(p, inv, acc[l], base[l]);
#pragma GCC ivdep
      for (int l = 0; l < 8; ++l) base[l] = mul1(p, inv, base[l], base[l]);
    }
#pragma GCC ivdep
    for (int l = 0; l < 8; ++l) out[group + l] = acc[l];
  }
}

ROW_CLONES void row_hash(const double* a, uint64_t salt, double* out, uint32_t mask) {
  each_lane(mask, [=](int l) INLINED { out[l] = to_element(mix_double(a[l], salt)); });
}

ROW_CLONES void row_hash_even(const Modulus& m, const double* a, uint64_t salt, double* out,
                              uint32_t mask) {
  const double p = m.p;
  each_lane(mask, [=](int l) INLINED {
    const double n = p - a[l];
    out[l] = to_element(mix_double(n < a[l] ? n : a[l], salt));
  });
}

ROW_CLONES void row_symbol(uint64_t symbol, uint64_t salt_v, uint64_t salt_e,
                           const int64_t* elements, double* v, double* e, uint32_t mask) {
  if (e == nullptr) {
    each_lane(mask, [=](int l) INLINED {
      v[l] = to_element(mix64(mix64(static_cast<uint64_t>(elements[l]) + symbol) ^ salt_v));
    });
    return;
  }
  each_lane(mask, [=](int l) INLINED {
    const uint64_t h = mix64(static_cast<uint64_t>(elements[l]) + symbol);
    v[l] = to_element(mix64(h ^ salt_v));
    e[l] = to_element(mix64(h ^ salt_e));
  });
}

double f_add(const Modulus& m, double a, double b) {
  const double s = a + b;
  return s >= m.p ? s - m.p : s;
}
ROW_CLONES void f_fma2(const Modulus& mv, const Modulus& me, double av, double bv, double cv,
                       double ae, double be, double ce, double* v, double* e) {
  const double x = mul1(mv.p, mv.inv, av, bv) + cv, y = mul1(me.p, me.inv, ae, be) + ce;
  *v = x >= mv.p ? x - mv.p : x;
  *e = y >= me.p ? y - me.p : y;
}

double f_sub(const Modulus& m, double a, double b) {
  const double s = a - b;
  return s < 0 ? s + m.p : s;
}
double f_neg(const Modulus& m, double a) { return a == 0 ? 0.0 : m.p - a; }
ROW_CLONES double f_mul(const Modulus& m, double a, double b) { return mul1(m.p, m.inv, a, b); }

ROW_CLONES double f_pow(const Modulus& m, double a, uint64_t e) {
  double acc = 1.0;
  for (; e != 0; e >>= 1) {
    if (e & 1) acc = mul1(m.p, m.inv, acc, a);
    a = mul1(m.p, m.inv, a, a);
  }
  return acc;
}

double f_inv(const Modulus& m, double a) { return f_pow(m, a, static_cast<uint64_t>(m.p) - 2); }

double f_from_int(const Modulus& m, int64_t v) {
  const auto p = static_cast<int64_t>(m.p);
  const int64_t r = v % p;
  return static_cast<double>(r < 0 ? r + p : r);
}

double f_from_double(const Modulus& m, double v) {
  if (v == 0) return 0.0;
  int exponent = 0;
  const double mantissa = std::frexp(v, &exponent);
  const auto i = static_cast<int64_t>(std::ldexp(mantissa, 53));
  exponent -= 53;
  const double power = f_pow(m, 2.0, static_cast<uint64_t>(std::abs(exponent)));
  return f_mul(m, f_from_int(m, i), exponent < 0 ? f_inv(m, power) : power);
}

namespace {

// Safe primes p = 2q + 1, p = 7 mod 8 (2 is a square), q in [2^48, 2^49): found by a seeded search
// with Miller-Rabin on the first twelve prime bases (deterministic below 3.3e24).
constexpr std::array<std::pair<uint64_t, uint64_t>, PrimePair::kCount> kPrimes = {{
    {1082957569749983ULL, 541478784874991ULL},
    {887088993967223ULL, 443544496983611ULL},
    {910821357234743ULL, 455410678617371ULL},
    {1011043547568359ULL, 505521773784179ULL},
    {1002843128698703ULL, 501421564349351ULL},
    {911613408733487ULL, 455806704366743ULL},
    {884515564395719ULL, 442257782197859ULL},
    {948152190123143ULL, 474076095061571ULL},
    {897505695404663ULL, 448752847702331ULL},
    {872591750183663ULL, 436295875091831ULL},
    {1046658619131647ULL, 523329309565823ULL},
    {859364076667703ULL, 429682038333851ULL},
}};

}  // namespace

PrimePair::PrimePair(int index) {
  const auto& [prime, order] = kPrimes[static_cast<size_t>(index % kCount)];
  p_int = prime;
  q_int = order;
  p = Modulus(prime);
  q = Modulus(order);
  g = 9.0;  // a square other than 1 has order q in the group of order 2q
  double step = g;
  for (auto& table : powers) {
    table[0] = 1.0;
    for (int b = 1; b < 256; ++b)
      table[static_cast<size_t>(b)] = f_mul(p, table[static_cast<size_t>(b - 1)], step);
    step = f_mul(p, table[255], step);
  }
}

double PrimePair::exp(double e) const {
  auto k = static_cast<uint64_t>(e);
  double acc = powers[0][k & 255];
  for (size_t i = 1; i < powers.size(); ++i) acc = f_mul(p, acc, powers[i][(k >> (8 * i)) & 255]);
  return acc;
}

void PrimePair::row_exp(const double* e, double* out, uint32_t mask) const {
  alignas(64) double factor[kRow];
  alignas(64) int64_t k[kRow];
  each_lane(mask, [&](int l) INLINED {
    k[l] = static_cast<int64_t>(e[l]);
    out[l] = powers[0][static_cast<size_t>(k[l] & 255)];
  });
  for (size_t i = 1; i < powers.size(); ++i) {
    each_lane(mask, [&](int l) INLINED {
      factor[l] = powers[i][static_cast<size_t>((k[l] >> (8 * i)) & 255)];
    });
    row_mul(p, out, factor, out, mask);
  }
}

}  // namespace assay::term
