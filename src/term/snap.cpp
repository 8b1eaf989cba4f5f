#include "term/snap.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "base/ieee.h"

namespace assay::term {

const std::vector<IrrationalConstant>& irrationals() {
  static const std::vector<IrrationalConstant> kTable = {
      // text, value, num, den, ln2, ln10, pi, sqrt_num, sqrt_den, sqrt_pi
      {"log2(e)", 1.442695040888963407359924681001892137L, 1, 1, -1, 0, 0, 1, 1, 0},
      {"ln(2)", 0.693147180559945309417232121458176568L, 1, 1, 1, 0, 0, 1, 1, 0},
      {"2*log2(e)", 2.885390081777926814719849362003784275L, 2, 1, -1, 0, 0, 1, 1, 0},
      {"log10(e)", 0.434294481903251827651128918916605082L, 1, 1, 0, -1, 0, 1, 1, 0},
      {"ln(10)", 2.302585092994045684017991454684364208L, 1, 1, 0, 1, 0, 1, 1, 0},
      {"log10(2)", 0.301029995663981195213738894724493027L, 1, 1, 1, -1, 0, 1, 1, 0},
      {"log2(10)", 3.321928094887362347870319429489390176L, 1, 1, -1, 1, 0, 1, 1, 0},
      {"sqrt(1/2)", 0.707106781186547524400844362104849039L, 1, 1, 0, 0, 0, 1, 2, 0},
      {"sqrt(2)", 1.414213562373095048801688724209698079L, 1, 1, 0, 0, 0, 2, 1, 0},
      {"sqrt(3)", 1.732050807568877293527446341505872367L, 1, 1, 0, 0, 0, 3, 1, 0},
      {"pi", 3.141592653589793238462643383279502884L, 1, 1, 0, 0, 1, 1, 1, 0},
      {"2*pi", 6.283185307179586476925286766559005768L, 2, 1, 0, 0, 1, 1, 1, 0},
      {"pi/2", 1.570796326794896619231321691639751442L, 1, 2, 0, 0, 1, 1, 1, 0},
      {"1/pi", 0.318309886183790671537767526745028724L, 1, 1, 0, 0, -1, 1, 1, 0},
      {"2/pi", 0.636619772367581343075535053490057448L, 2, 1, 0, 0, -1, 1, 1, 0},
      {"sqrt(pi)", 1.772453850905516027298167483341145183L, 1, 1, 0, 0, 0, 1, 1, 1},
      {"1/sqrt(pi)", 0.564189583547756286948079451560772586L, 1, 1, 0, 0, 0, 1, 1, -1},
      {"2/sqrt(pi)", 1.128379167095512573896158903121545172L, 2, 1, 0, 0, 0, 1, 1, -1},
      {"sqrt(2/pi)", 0.797884560802865355879892119868763737L, 1, 1, 0, 0, 0, 2, 1, -1},
      {"2*sqrt(2/pi)", 1.595769121605730711759784239737527474L, 2, 1, 0, 0, 0, 2, 1, -1},
      {"1/sqrt(2*pi)", 0.398942280401432677939946059934381868L, 1, 1, 0, 0, 0, 1, 2, -1},
      {"0.044715*sqrt(2/pi)", 0.035677408136300125L, 8943, 200000, 0, 0, 0, 2, 1, -1},
      {"ln(2*pi)/2", 0.918938533204672741780329736405617640L, 0, 0, 0, 0, 0, 0, 0, 0},
  };
  return kTable;
}

const std::vector<Folding>& foldings() {
  static const std::vector<Folding> kTable = [] {
    // exp before its relatives, which are rational in it.
    constexpr std::pair<Fn, long double (*)(long double)> kFunctions[] = {
        {Fn::Exp, expl}, {Fn::Log, logl}, {Fn::Tanh, tanhl},
        {Fn::Erf, erfl}, {Fn::Sin, sinl}, {Fn::Cos, cosl}};
    std::vector<Folding> table;
    for (const auto& [fn, function] : kFunctions)
      for (const double argument : {1.0, 2.0, 3.0, 5.0, 6.0, 7.0, 10.0, 0.5, 0.25, 1.5})
        for (const double x : {argument, -argument})
          if ((x > 0 || fn == Fn::Exp) && !(fn == Fn::Log && (x == 1.0 || x == 2.0)))
            table.push_back({fn, x, function(static_cast<long double>(x))});
    return table;
  }();
  return kTable;
}

namespace {

constexpr int kMostShift = 20;
constexpr size_t kScaled = 2;  // log2(e) and ln(2) also stand divided by the root of a dimension

// Correct rounding to a float type, in double. (bf16, f16 and f32 through the exact double.)
double round_to(Ty type, long double x) {
  if (type == Ty::F64) return static_cast<double>(x);
  if (type == Ty::F32) return static_cast<double>(static_cast<float>(x));
  const auto d = static_cast<double>(x);
  return ieee_to_double(type, ieee_from_double(type, d));
}

// The shortest decimal that reads back as the value: digits and exponent.
std::pair<std::string, int> shortest(Ty type, double value) {
  const int limit = type == Ty::F64 ? 17 : type == Ty::F32 ? 9 : 5;
  for (int digits = 1; digits <= limit; ++digits) {
    std::string text = fmt::format("{:.{}e}", value, digits - 1);
    if (round_to(type, std::strtold(text.c_str(), nullptr)) != value) continue;
    const size_t e = text.find('e');
    std::string mantissa = text.substr(0, e);
    mantissa.erase(std::remove(mantissa.begin(), mantissa.end(), '.'), mantissa.end());
    return {mantissa, std::atoi(text.c_str() + e + 1) - (digits - 1)};
  }
  return {"", 0};
}

}  // namespace

Snapper::Snapper(std::vector<int64_t> dims) : dims_(std::move(dims)) {
  std::sort(dims_.begin(), dims_.end());
  dims_.erase(std::unique(dims_.begin(), dims_.end()), dims_.end());
}

bool Snapper::divides_dims(int64_t n) const {
  if (n <= 0) return false;
  // n divides a product of dimensions iff all its primes occur in them, as many times as wanted.
  for (int64_t d : dims_) {
    if (d < 2) continue;
    for (int64_t g = std::gcd(n, d); g > 1; g = std::gcd(n, d)) n /= g;
  }
  return n == 1;
}

// Times a power of two, in which a GPU's exp2 and log2 and the scale of an attention are folded:
// the rounding does not see it.
bool Snapper::irrational(Ty type, double value, Ideal* ideal) const {
  const double magnitude = std::fabs(value);
  int most =
      0;  // of the power of two: a literal that is a constant or a root itself is taken as that
  const auto is = [&](long double exact, double rounded, int constant, int64_t root) {
    int have = 0, want = 0;
    if (std::frexp(rounded, &want) != std::frexp(magnitude, &have)) return false;
    const int shift = have - want;
    if (std::abs(shift) > most) return false;
    const int64_t power = int64_t{1} << std::abs(shift);
    ideal->kind = Ideal::Kind::Irrational;
    ideal->num = (value < 0 ? -1 : 1) * (shift > 0 ? power : 1);
    ideal->den = shift < 0 ? power : 1;
    ideal->constant = constant;
    ideal->root = root;
    ideal->value = static_cast<double>(std::ldexp(value < 0 ? -exact : exact, shift));
    ideal->text = value < 0 ? "-" : "";
    if (shift > 0) ideal->text += fmt::format("{}*", power);
    if (constant >= 0) ideal->text += irrationals()[static_cast<size_t>(constant)].text;
    if (root < 0) ideal->text += fmt::format("sqrt({})", -root);
    if (root > 1) ideal->text += fmt::format("{}/sqrt({})", constant < 0 ? "1" : "", root);
    if (shift < 0) ideal->text += fmt::format("/{}", power);
    ideal->snapped = true;
    return true;
  };
  const auto& table = irrationals();
  for (most = 0; most <= kMostShift; most += kMostShift) {
    for (size_t k = 0; k < table.size(); ++k)
      if (table[k].den != 0 &&
          is(table[k].value, round_to(type, table[k].value), static_cast<int>(k), 1))
        return true;
    // Before the rationals: a convergent of a root can round to the same float. Hosts also write
    // 1 / sqrtf(d), and c * (1 / sqrtf(d)): rounded twice or thrice.
    for (int64_t d : dims_) {
      if (d < 2) continue;
      const long double root = sqrtl(static_cast<long double>(d)), inverse = 1.0L / root;
      const auto rounded_root = static_cast<long double>(round_to(type, root));
      const double once = round_to(type, inverse), twice = round_to(type, 1.0L / rounded_root);
      if (is(inverse, once, -1, d) || is(inverse, twice, -1, d) ||
          is(root, round_to(type, root), -1, -d))
        return true;
      for (size_t k = 0; k < kScaled; ++k) {
        const long double c = table[k].value, r = static_cast<long double>(round_to(type, c));
        for (const long double literal :
             {c * inverse, r * inverse, r * static_cast<long double>(once),
              r * static_cast<long double>(twice), c / rounded_root})
          if (is(c * inverse, round_to(type, literal), static_cast<int>(k), d)) return true;
      }
    }
  }
  return false;
}

bool Snapper::folding(Ty type, double value, Ideal* ideal) {
  const double magnitude = std::fabs(value);
  const auto& table = foldings();
  for (size_t k = 0; k < table.size(); ++k) {
    int want = 0, have = 0;  // times a power of two, as above
    const double rounded = std::fabs(round_to(type, table[k].value));
    if (std::frexp(rounded, &want) != std::frexp(magnitude, &have)) continue;
    const int shift = have - want;
    if (std::abs(shift) > kMostShift) continue;
    const bool negative = (value < 0) != (table[k].value < 0);
    ideal->kind = Ideal::Kind::Function;
    ideal->num = (negative ? -1 : 1) * (shift > 0 ? int64_t{1} << shift : 1);
    ideal->den = shift < 0 ? int64_t{1} << -shift : 1;
    ideal->constant = static_cast<int>(k);
    ideal->value =
        static_cast<double>(std::ldexp(negative ? -table[k].value : table[k].value, shift));
    ideal->text = negative ? "-" : "";
    if (shift > 0) ideal->text += fmt::format("{}*", int64_t{1} << shift);
    ideal->text += fmt::format("{}({})", info(table[k].fn).name, table[k].argument);
    if (shift < 0) ideal->text += fmt::format("/{}", int64_t{1} << -shift);
    ideal->snapped = true;
    return true;
  }
  return false;
}

Ideal Snapper::compute(Ty type, double value) const {
  Ideal ideal;
  ideal.value = value;
  const double magnitude = std::fabs(value);
  if (value == std::rint(value) && magnitude < 9e15) {
    ideal.kind = Ideal::Kind::Rational;
    ideal.num = static_cast<int64_t>(value);
    return ideal;
  }
  const auto [digits, exp10] = shortest(type, value);
  const size_t need = type == Ty::F64 ? 15 : type == Ty::F32 ? 8 : 4;
  const size_t have = digits.size() - (value < 0 ? 1 : 0);
  if (have + 1 >= need && irrational(type, value, &ideal)) return ideal;
  // Before the rationals, as roots are. Types of few digits say too little.
  const bool wide = type == Ty::F32 || type == Ty::F64;
  if (wide && have + 1 >= need && folding(type, value, &ideal)) return ideal;
  if (have >= need) {
    auto rational = [&](int64_t n, int64_t d) {
      if (round_to(type, static_cast<long double>(n) / static_cast<long double>(d)) != magnitude)
        return false;
      ideal.kind = Ideal::Kind::Rational;
      ideal.num = value < 0 ? -n : n;
      ideal.den = d;
      ideal.value =
          static_cast<double>(static_cast<long double>(ideal.num) / static_cast<long double>(d));
      ideal.text = fmt::format("{}/{}", ideal.num, d);
      ideal.snapped = true;
      return true;
    };
    for (int64_t d = 3; d <= 4096 && magnitude < 1e6; ++d) {
      const auto n = static_cast<int64_t>(std::llround(magnitude * static_cast<double>(d)));
      if (n > 0 && std::gcd(n, d) == 1 && rational(n, d)) return ideal;
    }
    if (magnitude < 1 && magnitude > 1e-15) {
      const auto n = static_cast<int64_t>(std::llround(1.0 / magnitude));
      for (int64_t k : {n, n - 1, n + 1})
        if (k > 4096 && divides_dims(k) && rational(1, k)) return ideal;
    }
  }
  int exponent = 0;
  const double mantissa = std::frexp(magnitude, &exponent) * 4096;  // at most 12 bits: dyadic
  if (mantissa == std::rint(mantissa)) return ideal;
  if (!digits.empty() && digits.size() <= 18 && std::abs(exp10) <= 60) {
    ideal.kind = Ideal::Kind::Decimal;
    ideal.num = std::atoll(digits.c_str());
    ideal.exp10 = exp10;
    ideal.text =
        fmt::format("{}", std::strtod(fmt::format("{}e{}", digits, exp10).c_str(), nullptr));
    ideal.value = std::strtod(fmt::format("{}e{}", digits, exp10).c_str(), nullptr);
    ideal.snapped = ideal.value != value;
  }
  return ideal;
}

const Ideal& Snapper::snap(Ty type, double value) const {
  // Semantics of operators write some constants in double; they are of the type that computes.
  if (is_float(type)) value = round_to(type, value);
  const uint64_t key = std::bit_cast<uint64_t>(value) * 31 + static_cast<uint64_t>(type);
  auto [it, fresh] = cache_.try_emplace(key);
  if (fresh) {
    it->second = compute(type, value);
    if (it->second.snapped && it->second.kind != Ideal::Kind::Decimal)
      moved_.emplace_back(fmt::format("{:.{}g}", value, type == Ty::F64 ? 17 : 9), it->second.text);
  }
  return it->second;
}

}  // namespace assay::term
