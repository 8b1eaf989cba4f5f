#pragma once
// Arithmetic in F_p and Z_q on 32-lane rows (q prime, p = 2q + 1 prime, both below 2^50), so that
// an element is an integer-valued double and a product is two FMAs (the method of FLINT's n_mulmod
// with doubles). Exponents live in Z_q: exp(t) = g^t with g of order q.
#include <array>
#include <cstdint>

namespace assay::term {

inline constexpr int kRow = 32;

struct Modulus {
  double p = 0, inv = 0;
  explicit Modulus(uint64_t prime = 3)
      : p(static_cast<double>(prime)), inv(1.0 / static_cast<double>(prime)) {}
};

inline constexpr uint32_t kAllLanes = 0xffffffffu;

// All rows hold canonical elements in [0, p). In-place (out == a) is allowed. Work is done in
// groups of eight lanes: those of which `mask` has no lane are left alone, so that a row with one
// live lane costs a quarter and touches two cache lines an operand.
void row_add(const Modulus& m, const double* a, const double* b, double* out,
             uint32_t mask = kAllLanes);
void row_sub(const Modulus& m, const double* a, const double* b, double* out,
             uint32_t mask = kAllLanes);
void row_neg(const Modulus& m, const double* a, double* out, uint32_t mask = kAllLanes);
void row_mul(const Modulus& m, const double* a, const double* b, double* out,
             uint32_t mask = kAllLanes);
void row_scale(const Modulus& m, const double* a, double factor, double* out,
               uint32_t mask = kAllLanes);
void row_fma(const Modulus& m, const double* a, const double* b, const double* c, double* out,
             uint32_t mask = kAllLanes);
// out = a^(p-2): the inverse; of 0 it is 0 (the caller tests for zeros).
void row_inv(const Modulus& m, const double* a, double* out, uint32_t mask = kAllLanes);
// out[l] = mix(a ^ salt), reduced to an element; the even hash depends on {a, -a} only.
void row_hash(const double* a, uint64_t salt, double* out, uint32_t mask = kAllLanes);
void row_hash_even(const Modulus& m, const double* a, uint64_t salt, double* out,
                   uint32_t mask = kAllLanes);

// Images of the elements of a symbol: v by one salt, e by the other (null: not wanted).
void row_symbol(uint64_t symbol, uint64_t salt_v, uint64_t salt_e, const int64_t* elements,
                double* v, double* e, uint32_t mask = kAllLanes);

double f_add(const Modulus& m, double a, double b);
double f_sub(const Modulus& m, double a, double b);
double f_neg(const Modulus& m, double a);
double f_mul(const Modulus& m, double a, double b);
// a b + c by both moduli, in one call: v, e.
void f_fma2(const Modulus& mv, const Modulus& me, double av, double bv, double cv, double ae,
            double be, double ce, double* v, double* e);
double f_inv(const Modulus& m, double a);
double f_pow(const Modulus& m, double a, uint64_t e);
double f_from_int(const Modulus& m, int64_t v);
// The image of a finite double taken as a dyadic rational, exactly.
double f_from_double(const Modulus& m, double v);

// A 64-bit finalizer (splitmix64) and its reduction to an element below 2^49 <= q < p.
[[gnu::always_inline]] inline uint64_t mix64(uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}
[[gnu::always_inline]] inline double to_element(uint64_t h) {
  return static_cast<double>(static_cast<int64_t>(h >> 16));
}

// A prime pair with a generator of the order-q subgroup and its power table.
struct PrimePair {
  Modulus p, q;
  uint64_t p_int = 0, q_int = 0;
  double g = 0;
  std::array<std::array<double, 256>, 7> powers;  // powers[i][b] = g^(b << 8i)

  static constexpr int kCount = 12;
  explicit PrimePair(int index);
  double exp(double e) const;  // g^e, e in [0, q)
  void row_exp(const double* e, double* out, uint32_t mask = kAllLanes) const;
};

}  // namespace assay::term
