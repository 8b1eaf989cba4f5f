#pragma once
// Literals to ideals (check_engine.md D1): a float literal stands for the real number whose
// rounding it is, chosen by a function of its bits and type alone, so that both sides agree without
// looking at each other.
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/fn.h"
#include "base/types.h"

namespace assay::term {

struct Ideal {
  enum class Kind : uint8_t {
    Rational,    // num / den
    Decimal,     // num * 10^exp10
    Dyadic,      // the double itself
    Irrational,  // num / den * constant * root
    Function     // num / den * a function at a number: foldings()[constant]
  } kind = Kind::Dyadic;
  int64_t num = 0, den = 1;
  int exp10 = 0;
  double value = 0;      // nearest double
  int constant = -1;     // Irrational: index in irrationals(), or -1: none; Function: in foldings()
  int64_t root = 1;      // Irrational: d > 1: 1 / sqrt(d), d < 0: sqrt(-d), 1: none
  std::string text;      // "sqrt(1/2)", "1/49"
  bool snapped = false;  // differs from the literal's own value
};

// Irrational constants are products of powers of these bases. A literal may also be one of them
// times a power of two, and divided by the root of a dimension.
struct IrrationalConstant {
  const char* text;
  long double value;
  int num, den;            // rational factor
  int ln2, ln10, pi;       // exponents of ln 2, ln 10, pi
  int sqrt_num, sqrt_den;  // times sqrt(sqrt_num / sqrt_den)
  int sqrt_pi;             // times pi^(sqrt_pi / 2)
};
const std::vector<IrrationalConstant>& irrationals();

// Compilers fold functions of constants, tanhf(1.0f), to literals.
struct Folding {
  Fn fn;
  double argument;  // a small dyadic number
  long double value;
};
const std::vector<Folding>& foldings();

class Snapper {
 public:
  // dims: every dimension that occurs in either program; 1/n is an ideal if n divides a product of
  // them, 1/sqrt(d) if d is one of them.
  explicit Snapper(std::vector<int64_t> dims);
  const Ideal& snap(Ty type, double value) const;
  // The literals that were moved, as (literal, ideal), in order of first use.
  const std::vector<std::pair<std::string, std::string>>& moved() const { return moved_; }

 private:
  Ideal compute(Ty type, double value) const;
  bool irrational(Ty type, double value, Ideal* ideal) const;
  static bool folding(Ty type, double value, Ideal* ideal);
  bool divides_dims(int64_t n) const;
  std::vector<int64_t> dims_;
  mutable std::unordered_map<uint64_t, Ideal> cache_;
  mutable std::vector<std::pair<std::string, std::string>> moved_;
};

}  // namespace assay::term
