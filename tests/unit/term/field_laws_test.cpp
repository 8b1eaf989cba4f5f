// One pair for each algebra law of the fingerprint, and one for each side condition: expressions
// that are equal over the reals have equal images, expressions that are not have different ones.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "base/ieee.h"
#include "term/field_domain.h"

namespace assay::term {
namespace {

using Row = FieldDomain::Row;

// Expressions over symbols x, y, z (floats) and i (an integer in [0, 8)).
class Builder {
 public:
  explicit Builder(uint64_t seed)
      : snapper_({64, 100, 4096}), domain_({static_cast<int>(seed % 12), seed, true}, snapper_) {
    domain_.set_int_range(9, 0, 8);
  }
  Row sym(int k) {
    int64_t e[kRow] = {};
    Row r;
    domain_.symbol(static_cast<uint64_t>(k), k == 9 ? Ty::S64 : Ty::F32, e, 1, r);
    return r;
  }
  Row num(double v) {
    Row r;
    domain_.set_number(Ty::F32, v, r);
    return r;
  }
  Row lit(float v) {  // a literal of device code: bits
    Row r;
    domain_.set_bits(ieee_from_double(Ty::F32, v), r);
    return r;
  }
  Row integer(int64_t v) {
    int64_t e[kRow];
    std::fill_n(e, kRow, v);
    Row r;
    domain_.set_integer(e, r);
    return r;
  }
  Row op(Fn fn, const Row& a) { return apply(fn, Ty::F32, a, a, a); }
  Row op(Fn fn, const Row& a, const Row& b) { return apply(fn, Ty::F32, a, b, b); }
  Row op(Fn fn, const Row& a, const Row& b, const Row& c) { return apply(fn, Ty::F32, a, b, c); }
  Row iop(Fn fn, const Row& a, const Row& b) { return apply(fn, Ty::S64, a, b, b); }
  Row apply(Fn fn, Ty type, const Row& a, const Row& b, const Row& c) {
    Row out;
    domain_.apply(fn, type, {}, &a, &b, &c, nullptr, out, 1);
    return out;
  }
  FieldDomain::Cell cell(const Row& r, Ty type = Ty::F32) { return domain_.cell(r, 0, type); }
  FieldDomain& domain() { return domain_; }

 private:
  Snapper snapper_;
  FieldDomain domain_;
};

struct Law {
  const char* name;
  bool equal;
  std::function<Row(Builder&)> left, right;
};

Row add(Builder& b, Row x, Row y) { return b.op(Fn::Add, x, y); }
Row sub(Builder& b, Row x, Row y) { return b.op(Fn::Sub, x, y); }
Row mul(Builder& b, Row x, Row y) { return b.op(Fn::Mul, x, y); }
Row div_(Builder& b, Row x, Row y) { return b.op(Fn::Div, x, y); }
Row ex(Builder& b, Row x) { return b.op(Fn::Exp, x); }
Row ln(Builder& b, Row x) { return b.op(Fn::Log, x); }
Row X(Builder& b) { return b.sym(1); }
Row Y(Builder& b) { return b.sym(2); }
Row Z(Builder& b) { return b.sym(3); }

const std::vector<Law>& laws() {
  using B = Builder;
  static const std::vector<Law> kLaws = {
      {"distributive", true, [](B& b) { return mul(b, X(b), add(b, Y(b), Z(b))); },
       [](B& b) { return add(b, mul(b, X(b), Y(b)), mul(b, X(b), Z(b))); }},
      {"fma is product and sum", true, [](B& b) { return b.op(Fn::Fma, X(b), Y(b), Z(b)); },
       [](B& b) { return add(b, mul(b, X(b), Y(b)), Z(b)); }},
      {"x + y against x - y", false, [](B& b) { return add(b, X(b), Y(b)); },
       [](B& b) { return sub(b, X(b), Y(b)); }},
      {"variance by two forms", true,
       [](B& b) {
         const Row m = mul(b, add(b, X(b), Y(b)), b.num(0.5));
         const Row d = sub(b, X(b), m), e = sub(b, Y(b), m);
         return mul(b, add(b, mul(b, d, d), mul(b, e, e)), b.num(0.5));
       },
       [](B& b) {
         const Row m = mul(b, add(b, X(b), Y(b)), b.num(0.5));
         return sub(b, mul(b, add(b, mul(b, X(b), X(b)), mul(b, Y(b), Y(b))), b.num(0.5)),
                    mul(b, m, m));
       }},
      {"half of |d| times |d|", true,
       [](B& b) {
         const Row a = b.op(Fn::Abs, sub(b, X(b), Y(b)));
         return mul(b, mul(b, b.num(0.5), a), a);
       },
       [](B& b) {
         const Row d = sub(b, Y(b), X(b));
         return mul(b, mul(b, b.num(0.5), d), d);
       }},
      {"|x| y |x| |x|, the factors apart", true,
       [](B& b) {
         const Row a = b.op(Fn::Abs, X(b));
         return mul(b, mul(b, a, Y(b)), mul(b, a, a));
       },
       [](B& b) {
         const Row a = b.op(Fn::Max, X(b), b.op(Fn::Neg, X(b)));
         return mul(b, mul(b, X(b), X(b)), mul(b, Y(b), a));
       }},
      {"|x| |y| against x y", false,
       [](B& b) { return mul(b, b.op(Fn::Abs, X(b)), b.op(Fn::Abs, Y(b))); },
       [](B& b) { return mul(b, X(b), Y(b)); }},
      {"|x| x against x x", false, [](B& b) { return mul(b, b.op(Fn::Abs, X(b)), X(b)); },
       [](B& b) { return mul(b, X(b), X(b)); }},
      {"1/3 as literal against division by 3", true,
       [](B& b) { return mul(b, X(b), b.lit(1.0f / 3.0f)); },
       [](B& b) { return div_(b, X(b), b.num(3)); }},
      {"a compiler folds tanh(1)", true, [](B& b) { return mul(b, X(b), b.lit(std::tanh(1.0f))); },
       [](B& b) { return mul(b, b.op(Fn::Tanh, b.num(1)), X(b)); }},
      {"and exp(-1/2), below an exponential", true,
       [](B& b) { return ex(b, add(b, X(b), b.lit(std::exp(-0.5f)))); },
       [](B& b) { return ex(b, add(b, b.op(Fn::Exp, b.num(-0.5)), X(b))); }},
      {"tanh of a softmax over one element", true,
       [](B& b) { return b.op(Fn::Tanh, div_(b, ex(b, X(b)), ex(b, X(b)))); },
       [](B& b) { return b.lit(std::tanh(1.0f)); }},
      {"0.7616 is not tanh(1)", false, [](B& b) { return mul(b, X(b), b.lit(0.7616f)); },
       [](B& b) { return mul(b, b.op(Fn::Tanh, b.num(1)), X(b)); }},
      {"0.3333 is not 1/3", false, [](B& b) { return mul(b, X(b), b.lit(0.3333f)); },
       [](B& b) { return div_(b, X(b), b.num(3)); }},
      {"exp of a sum", true, [](B& b) { return ex(b, add(b, X(b), Y(b))); },
       [](B& b) { return mul(b, ex(b, X(b)), ex(b, Y(b))); }},
      {"exp of a GELU, factors in another order", true,
       [](B& b) {
         const Row e = b.op(Fn::Erf, mul(b, X(b), b.lit(0.70710678f)));
         return ex(b, mul(b, mul(b, X(b), b.lit(0.5f)), add(b, e, b.lit(1))));
       },
       [](B& b) {
         const Row e = b.op(Fn::Erf, mul(b, X(b), b.lit(0.70710678f)));
         return ex(b, mul(b, add(b, b.num(1), e), mul(b, b.num(0.5), X(b))));
       }},
      {"exp of a GELU relative to a maximum", true,
       [](B& b) {
         const auto gelu = [&](Row x) {
           const Row e = b.op(Fn::Erf, mul(b, x, b.lit(0.70710678f)));
           return mul(b, mul(b, x, b.lit(0.5f)), add(b, e, b.lit(1)));
         };
         const Row u = gelu(X(b)), v = gelu(Y(b)), m = b.op(Fn::Max, u, v);
         const Row p = ex(b, sub(b, u, m)), q = ex(b, sub(b, v, m));
         return div_(b, p, add(b, p, q));
       },
       [](B& b) {
         const auto gelu = [&](Row x) {
           const Row e = b.op(Fn::Erf, mul(b, x, b.lit(0.70710678f)));
           return mul(b, add(b, b.num(1), e), mul(b, b.num(0.5), x));
         };
         const Row u = ex(b, gelu(X(b))), v = ex(b, gelu(Y(b)));
         return div_(b, u, add(b, u, v));
       }},
      {"exp of a product is no product", false, [](B& b) { return ex(b, mul(b, X(b), Y(b))); },
       [](B& b) { return mul(b, ex(b, X(b)), ex(b, Y(b))); }},
      {"exp2 with log2(e)", true,
       [](B& b) { return b.op(Fn::Exp2, mul(b, X(b), b.lit(1.4426950408889634f))); },
       [](B& b) { return ex(b, X(b)); }},
      {"exp2 with a wrong constant", false,
       [](B& b) { return b.op(Fn::Exp2, mul(b, X(b), b.lit(1.4427f))); },
       [](B& b) { return ex(b, X(b)); }},
      {"softmax shift", true,
       [](B& b) { return div_(b, ex(b, X(b)), add(b, ex(b, X(b)), ex(b, Y(b)))); },
       [](B& b) {
         const Row m = b.op(Fn::Max, X(b), Y(b));
         const Row p = ex(b, sub(b, X(b), m)), q = ex(b, sub(b, Y(b), m));
         return div_(b, p, add(b, p, q));
       }},
      {"sigmoid by tanh", true,
       [](B& b) { return div_(b, b.num(1), add(b, b.num(1), ex(b, b.op(Fn::Neg, X(b))))); },
       [](B& b) {
         return mul(b, b.num(0.5), add(b, b.num(1), b.op(Fn::Tanh, mul(b, X(b), b.num(0.5)))));
       }},
      {"sigmoid(2x) is not sigmoid(x)", false,
       [](B& b) { return div_(b, b.num(1), add(b, b.num(1), ex(b, b.op(Fn::Neg, X(b))))); },
       [](B& b) { return mul(b, b.num(0.5), add(b, b.num(1), b.op(Fn::Tanh, X(b)))); }},
      {"logsumexp shift", true, [](B& b) { return ln(b, add(b, ex(b, X(b)), ex(b, Y(b)))); },
       [](B& b) {
         const Row m = b.op(Fn::Max, X(b), Y(b));
         return add(b, m, ln(b, add(b, ex(b, sub(b, X(b), m)), ex(b, sub(b, Y(b), m)))));
       }},
      {"logsumexp without the shift added back", false,
       [](B& b) { return ln(b, add(b, ex(b, X(b)), ex(b, Y(b)))); },
       [](B& b) {
         const Row m = b.op(Fn::Max, X(b), Y(b));
         return ln(b, add(b, ex(b, sub(b, X(b), m)), ex(b, sub(b, Y(b), m))));
       }},
      {"log of a product (both arguments of logarithms)", true,
       [](B& b) { return add(b, ln(b, ex(b, X(b))), ln(b, add(b, ex(b, Y(b)), b.num(1)))); },
       [](B& b) { return ln(b, mul(b, ex(b, X(b)), add(b, ex(b, Y(b)), b.num(1)))); }},
      {"log2 against log", true,
       [](B& b) { return mul(b, b.op(Fn::Log2, ex(b, X(b))), b.lit(0.69314718055994531f)); },
       [](B& b) { return ln(b, ex(b, X(b))); }},
      {"log1p", true, [](B& b) { return b.op(Fn::Log1p, ex(b, X(b))); },
       [](B& b) { return ln(b, add(b, b.num(1), ex(b, X(b)))); }},
      {"scaled logarithms", true,
       [](B& b) {
         return mul(b, add(b, ln(b, ex(b, X(b))), ln(b, add(b, ex(b, Y(b)), b.num(1)))),
                    b.num(0.25));
       },
       [](B& b) {
         return add(b, mul(b, ln(b, ex(b, X(b))), b.num(0.25)),
                    mul(b, ln(b, add(b, ex(b, Y(b)), b.num(1))), b.num(0.25)));
       }},
      {"square of a root", true,
       [](B& b) {
         const Row r = b.op(Fn::Sqrt, X(b));
         return mul(b, r, r);
       },
       [](B& b) { return X(b); }},
      {"rsqrt is 1 / sqrt", true, [](B& b) { return b.op(Fn::Rsqrt, X(b)); },
       [](B& b) { return div_(b, b.num(1), b.op(Fn::Sqrt, X(b))); }},
      {"sqrt(x^2) is not x (side condition x >= 0)", false,
       [](B& b) { return b.op(Fn::Sqrt, mul(b, X(b), X(b))); }, [](B& b) { return X(b); }},
      {"sqrt(x) sqrt(y) is not sqrt(x y) unless both are known positive", false,
       [](B& b) { return mul(b, b.op(Fn::Sqrt, X(b)), b.op(Fn::Sqrt, Y(b))); },
       [](B& b) { return b.op(Fn::Sqrt, mul(b, X(b), Y(b))); }},
      {"pow 0.5 is sqrt", true, [](B& b) { return b.op(Fn::Pow, X(b), b.num(0.5)); },
       [](B& b) { return b.op(Fn::Sqrt, X(b)); }},
      {"pow 3", true, [](B& b) { return b.op(Fn::Pow, X(b), b.num(3)); },
       [](B& b) { return mul(b, X(b), mul(b, X(b), X(b))); }},
      {"pow 2 is not pow 3", false, [](B& b) { return b.op(Fn::Pow, X(b), b.num(2)); },
       [](B& b) { return b.op(Fn::Pow, X(b), b.num(3)); }},
      {"sqrt(1/2) against 1/sqrt(2)", true,
       [](B& b) { return mul(b, X(b), b.lit(0.70710678118f)); },
       [](B& b) { return div_(b, X(b), b.op(Fn::Sqrt, b.num(2))); }},
      {"1/sqrt(dim)", true, [](B& b) { return mul(b, X(b), b.lit(0.1f)); },
       [](B& b) { return div_(b, X(b), b.op(Fn::Sqrt, b.num(100))); }},
      {"erf is odd", true, [](B& b) { return b.op(Fn::Erf, b.op(Fn::Neg, X(b))); },
       [](B& b) { return b.op(Fn::Neg, b.op(Fn::Erf, X(b))); }},
      {"erfc", true, [](B& b) { return b.op(Fn::Erfc, X(b)); },
       [](B& b) { return sub(b, b.num(1), b.op(Fn::Erf, X(b))); }},
      {"cos is even", true, [](B& b) { return b.op(Fn::Cos, b.op(Fn::Neg, X(b))); },
       [](B& b) { return b.op(Fn::Cos, X(b)); }},
      {"sin is not even", false, [](B& b) { return b.op(Fn::Sin, b.op(Fn::Neg, X(b))); },
       [](B& b) { return b.op(Fn::Sin, X(b)); }},
      {"max is associative and commutative", true,
       [](B& b) { return b.op(Fn::Max, X(b), b.op(Fn::Max, Y(b), Z(b))); },
       [](B& b) { return b.op(Fn::Max, b.op(Fn::Max, Z(b), X(b)), Y(b)); }},
      {"max is idempotent", true,
       [](B& b) { return b.op(Fn::Max, X(b), b.op(Fn::Max, X(b), Y(b))); },
       [](B& b) { return b.op(Fn::Max, X(b), Y(b)); }},
      {"max of two of three", false, [](B& b) { return b.op(Fn::Max, X(b), Y(b)); },
       [](B& b) { return b.op(Fn::Max, b.op(Fn::Max, X(b), Y(b)), Z(b)); }},
      {"max moves with a shift", true,
       [](B& b) { return b.op(Fn::Max, add(b, X(b), Z(b)), add(b, Y(b), Z(b))); },
       [](B& b) { return add(b, Z(b), b.op(Fn::Max, X(b), Y(b))); }},
      {"max of three moves with a shift", true,
       [](B& b) { return b.op(Fn::Add, b.op(Fn::Max, b.op(Fn::Max, X(b), Y(b)), Z(b)), b.sym(7)); },
       [](B& b) {
         const Row w = b.sym(7), x = b.op(Fn::Add, X(b), w), y = b.op(Fn::Add, w, Y(b));
         return b.op(Fn::Max, x, b.op(Fn::Max, b.op(Fn::Add, Z(b), w), y));
       }},
      {"exp of a min of three moves with a shift", true,
       [](B& b) {
         const Row m = b.op(Fn::Min, b.op(Fn::Min, X(b), Y(b)), Z(b));
         return b.op(Fn::Mul, b.op(Fn::Exp, m), b.op(Fn::Exp, b.sym(7)));
       },
       [](B& b) {
         const Row w = b.sym(7), x = b.op(Fn::Add, X(b), w), y = b.op(Fn::Add, w, Y(b));
         return b.op(Fn::Exp, b.op(Fn::Min, x, b.op(Fn::Min, b.op(Fn::Add, Z(b), w), y)));
       }},
      {"max of three does not move with a shift of two", false,
       [](B& b) { return b.op(Fn::Add, b.op(Fn::Max, b.op(Fn::Max, X(b), Y(b)), Z(b)), b.sym(7)); },
       [](B& b) {
         const Row w = b.sym(7), x = b.op(Fn::Add, X(b), w), y = b.op(Fn::Add, w, Y(b));
         return b.op(Fn::Max, x, b.op(Fn::Max, Z(b), y));
       }},
      {"max of three is not min, moved", false,
       [](B& b) { return b.op(Fn::Add, b.op(Fn::Max, b.op(Fn::Max, X(b), Y(b)), Z(b)), b.sym(7)); },
       [](B& b) {
         return b.op(Fn::Add, b.op(Fn::Min, b.op(Fn::Min, X(b), Y(b)), Z(b)), b.sym(7));
       }},
      {"max of three does not scale with a factor of unknown sign", false,
       [](B& b) { return b.op(Fn::Mul, b.op(Fn::Max, b.op(Fn::Max, X(b), Y(b)), Z(b)), b.sym(7)); },
       [](B& b) {
         const Row w = b.sym(7), x = b.op(Fn::Mul, X(b), w), y = b.op(Fn::Mul, w, Y(b));
         return b.op(Fn::Max, x, b.op(Fn::Max, b.op(Fn::Mul, Z(b), w), y));
       }},
      {"max + min = sum", true,
       [](B& b) { return add(b, b.op(Fn::Max, X(b), Y(b)), b.op(Fn::Min, X(b), Y(b))); },
       [](B& b) { return add(b, X(b), Y(b)); }},
      {"max is not min", false, [](B& b) { return b.op(Fn::Max, X(b), Y(b)); },
       [](B& b) { return b.op(Fn::Min, X(b), Y(b)); }},
      {"-FLT_MAX is neutral for max", true,
       [](B& b) { return b.op(Fn::Max, b.lit(-3.402823466e38f), X(b)); },
       [](B& b) { return X(b); }},
      {"-1e10 is not neutral for max", false,
       [](B& b) { return b.op(Fn::Max, b.lit(-1e10f), X(b)); }, [](B& b) { return X(b); }},
      {"-inf is neutral for max", true, [](B& b) { return b.op(Fn::Max, b.num(-INFINITY), X(b)); },
       [](B& b) { return X(b); }},
      {"exp(-inf) = 0", true, [](B& b) { return add(b, X(b), ex(b, b.num(-INFINITY))); },
       [](B& b) { return X(b); }},
      {"|x| by max", true, [](B& b) { return b.op(Fn::Abs, X(b)); },
       [](B& b) { return b.op(Fn::Max, X(b), b.op(Fn::Neg, X(b))); }},
      {"clamp by either order", true,
       [](B& b) { return b.op(Fn::Min, b.op(Fn::Max, X(b), b.num(-1)), b.num(1)); },
       [](B& b) { return b.op(Fn::Max, b.op(Fn::Min, X(b), b.num(1)), b.num(-1)); }},
      {"clamps with other bounds", false,
       [](B& b) { return b.op(Fn::Min, b.op(Fn::Max, X(b), b.num(-1)), b.num(1)); },
       [](B& b) { return b.op(Fn::Min, b.op(Fn::Max, X(b), b.num(0)), b.num(1)); }},
      {"select is max", true,
       [](B& b) { return b.op(Fn::Select, b.op(Fn::Gt, X(b), Y(b)), X(b), Y(b)); },
       [](B& b) { return b.op(Fn::Max, X(b), Y(b)); }},
      {"leaky relu: > or >=", true,
       [](B& b) {
         return b.op(Fn::Select, b.op(Fn::Gt, X(b), b.num(0)), X(b), mul(b, X(b), b.lit(0.01f)));
       },
       [](B& b) {
         return b.op(Fn::Select, b.op(Fn::Lt, X(b), b.num(0)), mul(b, X(b), b.lit(0.01f)), X(b));
       }},
      {"leaky relu with slope 0.1", false,
       [](B& b) {
         return b.op(Fn::Select, b.op(Fn::Gt, X(b), b.num(0)), X(b), mul(b, X(b), b.lit(0.01f)));
       },
       [](B& b) {
         return b.op(Fn::Select, b.op(Fn::Gt, X(b), b.num(0)), X(b), mul(b, X(b), b.lit(0.1f)));
       }},
      {"a jump: > is not >= (side condition: both arms meet)", false,
       [](B& b) { return b.op(Fn::Select, b.op(Fn::Gt, X(b), b.num(0)), b.num(1), b.num(0)); },
       [](B& b) { return b.op(Fn::Select, b.op(Fn::Ge, X(b), b.num(0)), b.num(1), b.num(0)); }},
      {"not greater is less or equal", true,
       [](B& b) { return b.op(Fn::Select, b.op(Fn::Gt, X(b), Y(b)), Z(b), b.num(0)); },
       [](B& b) { return b.op(Fn::Select, b.op(Fn::Le, X(b), Y(b)), b.num(0), Z(b)); }},
      {"softplus with its threshold", true,
       [](B& b) {
         return b.op(Fn::Select, b.op(Fn::Gt, X(b), b.num(20)), X(b), b.op(Fn::Log1p, ex(b, X(b))));
       },
       [](B& b) { return b.op(Fn::Log1p, ex(b, X(b))); }},
      {"softplus with threshold 2 (side condition: equal up to rounding)", false,
       [](B& b) {
         return b.op(Fn::Select, b.op(Fn::Gt, X(b), b.num(2)), X(b), b.op(Fn::Log1p, ex(b, X(b))));
       },
       [](B& b) { return b.op(Fn::Log1p, ex(b, X(b))); }},
      {"a guard of mish", true,
       [](B& b) {
         const Row e = ex(b, X(b)), n = b.op(Fn::Mul, e, add(b, e, b.num(2)));
         const Row r = b.op(Fn::Mul, X(b), div_(b, n, add(b, n, b.num(2))));
         return b.op(Fn::Select, b.op(Fn::Gt, X(b), b.num(20)), X(b), r);
       },
       [](B& b) { return b.op(Fn::Mul, X(b), b.op(Fn::Tanh, b.op(Fn::Log1p, ex(b, X(b))))); }},
      {"a guard of mish that turns too early", false,
       [](B& b) {
         const Row e = ex(b, X(b)), n = b.op(Fn::Mul, e, add(b, e, b.num(2)));
         const Row r = b.op(Fn::Mul, X(b), div_(b, n, add(b, n, b.num(2))));
         return b.op(Fn::Select, b.op(Fn::Gt, X(b), b.num(8)), X(b), r);
       },
       [](B& b) { return b.op(Fn::Mul, X(b), b.op(Fn::Tanh, b.op(Fn::Log1p, ex(b, X(b))))); }},
      {"tanh between guards", true,
       [](B& b) {
         const Row high = b.op(Fn::Gt, X(b), b.num(10)), low = b.op(Fn::Lt, X(b), b.num(-10));
         const Row any = b.apply(Fn::POr, Ty::Pred, high, low, low);
         return b.op(Fn::Select, any, b.op(Fn::Select, high, b.num(1), b.num(-1)),
                     b.op(Fn::Tanh, X(b)));
       },
       [](B& b) { return b.op(Fn::Tanh, X(b)); }},
      {"tanh between guards of the wrong signs", false,
       [](B& b) {
         const Row high = b.op(Fn::Gt, X(b), b.num(10)), low = b.op(Fn::Lt, X(b), b.num(-10));
         const Row any = b.apply(Fn::POr, Ty::Pred, high, low, low);
         return b.op(Fn::Select, any, b.op(Fn::Select, high, b.num(-1), b.num(1)),
                     b.op(Fn::Tanh, X(b)));
       },
       [](B& b) { return b.op(Fn::Tanh, X(b)); }},
      {"a guard on the side that it does not hold for", false,
       [](B& b) {
         return b.op(Fn::Select, b.op(Fn::Lt, X(b), b.num(20)), b.num(1), b.op(Fn::Tanh, X(b)));
       },
       [](B& b) { return b.op(Fn::Tanh, X(b)); }},
      {"a small exponential for a logarithm", true,
       [](B& b) {
         return b.op(Fn::Select, b.op(Fn::Lt, X(b), b.num(-20)), ex(b, X(b)),
                     b.op(Fn::Log1p, ex(b, X(b))));
       },
       [](B& b) { return b.op(Fn::Log1p, ex(b, X(b))); }},
      {"sigmoid that becomes 0", false,
       [](B& b) {
         const Row s = div_(b, b.num(1), add(b, b.num(1), ex(b, sub(b, b.num(0), X(b)))));
         return b.op(Fn::Select, b.op(Fn::Lt, X(b), b.num(-30)), b.num(0), s);
       },
       [](B& b) { return div_(b, b.num(1), add(b, b.num(1), ex(b, sub(b, b.num(0), X(b))))); }},
      {"nested exponential", true,
       [](B& b) { return ex(b, div_(b, ex(b, X(b)), add(b, ex(b, X(b)), ex(b, Y(b))))); },
       [](B& b) {
         const Row m = b.op(Fn::Max, X(b), Y(b));
         const Row p = ex(b, sub(b, X(b), m)), q = ex(b, sub(b, Y(b), m));
         return ex(b, div_(b, p, add(b, p, q)));
       }},
      {"indicators sum to 1", true,
       [](B& b) {
         Row sum = b.num(0);
         for (int k = 0; k < 8; ++k)
           sum =
               add(b, sum,
                   b.op(Fn::Select, b.apply(Fn::Eq, Ty::S64, b.sym(9), b.integer(k), b.integer(k)),
                        X(b), b.num(0)));
         return sum;
       },
       [](B& b) { return X(b); }},
      {"an index beyond its range", true,
       [](B& b) {
         return b.op(Fn::Select, b.apply(Fn::Lt, Ty::S64, b.sym(9), b.integer(8), b.integer(8)),
                     X(b), Y(b));
       },
       [](B& b) { return X(b); }},
      {"an index within its range", false,
       [](B& b) {
         return b.op(Fn::Select, b.apply(Fn::Lt, Ty::S64, b.sym(9), b.integer(7), b.integer(7)),
                     X(b), Y(b));
       },
       [](B& b) { return X(b); }},
  };
  return kLaws;
}

class FieldLaws : public ::testing::TestWithParam<Law> {};

TEST_P(FieldLaws, ImagesAgreeIffTheExpressionsDo) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    Builder b(seed);
    const Row left = GetParam().left(b), right = GetParam().right(b);
    EXPECT_EQ(b.cell(left).v == b.cell(right).v, GetParam().equal)
        << GetParam().name << ", seed " << seed;
  }
}

std::string test_name(const ::testing::TestParamInfo<Law>& info) {
  std::string out;
  for (char c : std::string(info.param.name))
    out += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return out;
}

INSTANTIATE_TEST_SUITE_P(All, FieldLaws, ::testing::ValuesIn(laws()), test_name);

// argmax by folds in several orders: the first best index, whatever the tree; a fold that keeps the
// later of two equal values is told apart.
TEST(ValueIndexLemma, OrderDoesNotMatterTiesDo) {
  Builder b(3);
  std::vector<Row> x, index;
  for (int k = 0; k < 5; ++k) {
    x.push_back(b.sym(20 + k));
    index.push_back(b.integer(k));
  }
  auto fold = [&](const std::vector<size_t>& order, bool tie_rule) {
    Row best = x[order[0]], at = index[order[0]];
    for (size_t k = 1; k < order.size(); ++k) {
      const Row &v = x[order[k]], &i = index[order[k]];
      Row better = b.op(Fn::Gt, v, best);
      if (tie_rule) {
        const Row tie = b.apply(Fn::PAnd, Ty::Pred, b.op(Fn::Eq, v, best),
                                b.apply(Fn::Lt, Ty::S64, i, at, at), at);
        better = b.apply(Fn::POr, Ty::Pred, better, tie, tie);
      }
      const Row old = best;
      best = b.op(Fn::Select, better, v, old);
      at = b.apply(Fn::Select, Ty::S64, better, i, at);
    }
    return b.cell(at, Ty::S64).v;
  };
  const double serial = fold({0, 1, 2, 3, 4}, false);
  EXPECT_EQ(serial, fold({0, 1, 2, 3, 4}, true));
  EXPECT_EQ(serial, fold({4, 2, 0, 3, 1}, true));
  EXPECT_NE(serial, fold({4, 2, 0, 3, 1}, false));
}

TEST(FieldDomain, RowArithmeticMatchesWideIntegers) {
  const PrimePair pair(2);
  double a[kRow], b[kRow], c[kRow], out[kRow], inv[kRow];
  for (int l = 0; l < kRow; ++l) {
    a[l] = to_element(mix64(static_cast<uint64_t>(l)));
    b[l] = to_element(mix64(static_cast<uint64_t>(l) + 77));
    c[l] = l % 3 == 0 ? 0 : pair.p.p - 1 - l;
  }
  row_fma(pair.p, a, b, c, out);
  row_inv(pair.p, a, inv);
  for (int l = 0; l < kRow; ++l) {
    const auto p = static_cast<unsigned __int128>(pair.p_int);
    const auto want = (static_cast<unsigned __int128>(a[l]) * static_cast<unsigned __int128>(b[l]) +
                       static_cast<unsigned __int128>(c[l])) %
                      p;
    EXPECT_EQ(static_cast<uint64_t>(out[l]), static_cast<uint64_t>(want));
    EXPECT_EQ(f_mul(pair.p, a[l], inv[l]), 1.0);
  }
  EXPECT_EQ(f_mul(pair.p, pair.exp(123456789.0), pair.exp(987654321.0)),
            pair.exp(123456789.0 + 987654321.0));
}

// Rows without marks are permuted at once, others not at all.
TEST(FieldDomain, PermutedRowsAreCopiesLaneByLane) {
  FieldDomain::Row from{}, to{}, expected{};
  uint8_t lanes[kRow];
  for (int l = 0; l < kRow; ++l) {
    from.v[l] = 3 * l + 1;
    from.e[l] = 7 * l + 2;
    lanes[l] = static_cast<uint8_t>((11 * l + 4) % 8);
  }
  for (const uint32_t taint : {0u, ~0u, 0x0000ffffu}) {
    for (const uint32_t undef : {0u, 4u}) {
      SCOPED_TRACE(taint);
      from.taint = taint;
      from.undef = undef;
      to.raw = to.lazy = to.undef = to.pinf = to.ninf = ~0u;  // of an earlier value
      const bool done = FieldDomain::permute(from, lanes, to);
      EXPECT_EQ(done, undef == 0 && taint != 0x0000ffffu);
      if (!done) {
        EXPECT_EQ(to.raw, ~0u);
        continue;
      }
      expected = {};
      for (int l = 0; l < kRow; ++l) FieldDomain::copy_lane(from, lanes[l], expected, l);
      EXPECT_EQ(to.marked(), expected.marked());
      EXPECT_EQ(to.taint, expected.taint);
      for (int l = 0; l < kRow; ++l) {
        EXPECT_EQ(to.v[l], expected.v[l]);
        EXPECT_EQ(to.e[l], expected.e[l]);
      }
    }
  }
}

TEST(FieldDomain, IntegerOperationsOnConstantsAreExact) {
  Builder b(5);
  const auto fold = [&](Fn fn, Ty type, int64_t x, int64_t y) {
    return b.cell(b.apply(fn, type, b.integer(x), b.integer(y), b.integer(y)), Ty::S64).v;
  };
  const auto value = [&](int64_t x) { return b.cell(b.integer(x), Ty::S64).v; };
  EXPECT_EQ(fold(Fn::IRem, Ty::S64, 10, 8), value(2));
  EXPECT_EQ(fold(Fn::IRem, Ty::S64, -3, 8), value(-3));
  EXPECT_EQ(fold(Fn::IDiv, Ty::S32, -9, 4), value(-2));
  EXPECT_EQ(fold(Fn::And, Ty::S32, -1, 0xff), value(0xff));
  EXPECT_EQ(fold(Fn::Shr, Ty::S64, -8, 1), value(-4));
  EXPECT_NE(fold(Fn::IRem, Ty::S64, 10, 0), value(0));
}

// A value noted as a sum of squares, and small positive multiples of it, are their maximum with 0.
TEST(FieldDomain, SumsOfSquaresAreNotClampedAtZero) {
  Builder b(3);
  const Row x = b.sym(1), y = b.sym(2), zero = b.num(0);
  const Row squares = b.op(Fn::Add, b.op(Fn::Mul, x, x), b.op(Fn::Mul, y, y));
  const auto clamped = [&](const Row& r) { return b.cell(b.op(Fn::Max, r, zero)).v; };
  EXPECT_NE(clamped(squares), b.cell(squares).v);
  b.domain().note_nonnegative(squares, 1);
  EXPECT_EQ(clamped(squares), b.cell(squares).v);
  EXPECT_EQ(b.cell(b.op(Fn::Min, squares, zero)).v, 0);
  const Row quarter = b.op(Fn::Mul, squares, b.num(0.25));
  EXPECT_EQ(clamped(quarter), b.cell(quarter).v);
  const Row negative = b.op(Fn::Mul, squares, b.num(-0.25));
  EXPECT_NE(clamped(negative), b.cell(negative).v);
  EXPECT_NE(clamped(x), b.cell(x).v);
  EXPECT_NE(b.cell(b.op(Fn::Max, squares, b.num(1))).v, b.cell(squares).v);
}

// A row that was made before facts are forgotten may be a lazy extremum: it keeps its image.
TEST(FieldFacts, ExtremaOutliveWhatIsForgotten) {
  Builder b(3);
  const Row early = b.op(Fn::Max, b.op(Fn::Max, b.sym(1), b.sym(2)), b.sym(3));
  b.domain().keep_facts();
  const Row late = b.op(Fn::Max, b.op(Fn::Max, b.sym(3), b.sym(1)), b.sym(2));
  for (int64_t k = 0; k < 20000; ++k) b.integer(1000 + k);
  b.domain().forget_facts();
  double value = 0;
  EXPECT_FALSE(b.domain().is_const(1500, &value));  // it has forgotten
  const Row other = b.op(Fn::Max, b.op(Fn::Max, b.sym(2), b.sym(3)), b.sym(4));
  EXPECT_EQ(b.cell(early).v, b.cell(late).v);
  EXPECT_NE(b.cell(late).v, b.cell(other).v);
}

}  // namespace
}  // namespace assay::term
