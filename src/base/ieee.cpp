#include "base/ieee.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/ieee_impl.h"

namespace assay {
namespace ieee {
namespace {

constexpr size_t kFns = static_cast<size_t>(Fn::Count);
constexpr size_t kTypes = std::size(kTyInfo);

// Vectorised loops by (ftz, type, function), and of conversions by (function, type, source).
struct FastTable {
  std::array<FastFn, 2 * kTypes * kFns> fn{};
  std::array<FastFn, 4 * kTypes * kTypes> cvt{};
  FastTable() {
    const bool avx2 = has_avx2();
    for (size_t i = 0; i < fn.size(); ++i) {
      const Fn f = static_cast<Fn>(i % kFns);
      const Ty t = static_cast<Ty>(i / kFns % kTypes);
      const bool ftz = i >= kTypes * kFns;
      fn[i] = avx2 ? fast_avx2(f, t, ftz) : fast_baseline(f, t, ftz);
    }
    for (size_t i = 0; i < cvt.size(); ++i) {
      const Fn f = static_cast<Fn>(static_cast<size_t>(Fn::CvtFF) + i / (kTypes * kTypes));
      const Ty to = static_cast<Ty>(i / kTypes % kTypes), from = static_cast<Ty>(i % kTypes);
      cvt[i] = avx2 ? fast_cvt_avx2(f, to, from) : fast_cvt_baseline(f, to, from);
    }
  }
};
static_assert(static_cast<int>(Fn::CvtII) == static_cast<int>(Fn::CvtFF) + 3);

FastFn fast(Fn fn, Ty type, const Mods& m) {
  static const FastTable table;
  if (m.sat || m.nan) return nullptr;
  if (fn >= Fn::CvtFF && fn <= Fn::CvtII) {
    const bool widens = fn == Fn::CvtII || (fn == Fn::CvtFF && bits(type) > bits(m.type2));
    const Round needed = fn == Fn::CvtFI ? Round::Rz : Round::Rn;
    if (m.ftz || (m.round != needed && !widens)) return nullptr;
    const size_t f = static_cast<size_t>(fn) - static_cast<size_t>(Fn::CvtFF);
    return table
        .cvt[(f * kTypes + static_cast<size_t>(type)) * kTypes + static_cast<size_t>(m.type2)];
  }
  if (m.round != Round::Rn) return nullptr;
  // Approximate forms whose value is not the correctly rounded one: f64 seeds, div.approx.
  if (m.approx && (type == Ty::F64 || (fn == Fn::Div && m.imm == 0))) return nullptr;
  return table
      .fn[((m.ftz ? kTypes : 0) + static_cast<size_t>(type)) * kFns + static_cast<size_t>(fn)];
}

bool apply_scalar(Fn fn, Ty type, const Mods& m, const Batch& x) {
  if (info(fn).cls == FnClass::V || fn == Fn::Pack || fn == Fn::UnpackLo || fn == Fn::UnpackHi) {
    return apply_cvt(fn, type, m, x);
  }
  if (!is_float(type)) return apply_int(fn, type, m, x);
  // Functions first: the f64 seeds share their ids with arithmetic.
  return apply_math(fn, type, m, x) || apply_float(fn, type, m, x);
}

// Both halves of f16x2 or bf16x2, each as a scalar operation; a comparison's results are bits 0
// (low half) and 1 (high half).
bool apply_packed(Fn fn, Ty half, const Mods& m, const Batch& x) {
  const int arity = info(fn).arity;
  const size_t n = static_cast<size_t>(std::max(x.n, 0));
  std::array<std::vector<uint64_t>, 3> in;
  std::array<std::vector<uint64_t>, 2> result;
  const uint64_t* operands[3] = {x.a, x.b, x.c};
  for (int part = 0; part < 2; ++part) {
    for (int k = 0; k < arity; ++k) {
      std::vector<uint64_t>& v = in[static_cast<size_t>(k)];
      v.resize(n);
      for (size_t l = 0; l < n; ++l) v[l] = (operands[k][l] >> (16 * part)) & 0xffff;
    }
    std::vector<uint64_t>& r = result[static_cast<size_t>(part)];
    r.resize(n);
    const Batch b{in[0].data(), in[1].data(), in[2].data(), nullptr, r.data(), x.n};
    if (const FastFn f = n != 0 ? fast(fn, half, m) : nullptr) {
      f(b);
    } else if (!apply_scalar(fn, half, m, b)) {
      return false;
    }
  }
  const int shift = info(fn).cls == FnClass::C ? 1 : 16;
  for (size_t l = 0; l < n; ++l) x.out[l] = result[0][l] | result[1][l] << shift;
  return true;
}

bool apply(Fn fn, Ty type, const Mods& m, const Batch& x) {
  const FnClass cls = info(fn).cls;
  if ((type == Ty::F16x2 || type == Ty::BF16x2) && (cls == FnClass::R || cls == FnClass::C)) {
    return apply_packed(fn, type == Ty::F16x2 ? Ty::F16 : Ty::BF16, m, x);
  }
  return apply_scalar(fn, type, m, x);
}

}  // namespace
}  // namespace ieee

bool ieee_defined(Fn fn, Ty type, const Mods& mods) {
  if (fn >= Fn::Count) return false;
  return ieee::apply(fn, type, mods, ieee::Batch{nullptr, nullptr, nullptr, nullptr, nullptr, 0});
}

void ieee_apply(Fn fn, Ty type, const Mods& mods, const uint64_t* a, const uint64_t* b,
                const uint64_t* c, const uint64_t* d, uint64_t* out, int n) {
  const ieee::Batch x{a, b, c, d, out, n};
  if (const ieee::FastFn f = ieee::fast(fn, type, mods)) return f(x);
  if (!ieee::apply(fn, type, mods, x)) std::fill_n(out, n, uint64_t{0});
}

double ieee_to_double(Ty type, uint64_t u) {
  switch (type) {
    case Ty::F16:
      return ieee::to_double<ieee::F16>(u);
    case Ty::BF16:
      return ieee::to_double<ieee::BF16>(u);
    case Ty::F32:
      return ieee::to_double<ieee::F32>(u);
    case Ty::F64:
      return ieee::to_double<ieee::F64>(u);
    default:
      return is_signed(type) ? static_cast<double>(ieee::sign_extend(u, bits(type)))
                             : static_cast<double>(u);
  }
}

uint64_t ieee_from_double(Ty type, double value, Round round) {
  switch (type) {
    case Ty::F16:
      return ieee::from_double<ieee::F16>(value, round);
    case Ty::BF16:
      return ieee::from_double<ieee::BF16>(value, round);
    case Ty::F32:
      return ieee::from_double<ieee::F32>(value, round);
    case Ty::F64:
      return ieee::from_double<ieee::F64>(value, round);
    default: {
      Mods m;
      m.type2 = Ty::F64;
      m.round = round == Round::Rn ? Round::Rz : round;  // integers: toward zero, as C++ casts
      return ieee_apply1(Fn::CvtFI, type, m, ieee::from_double<ieee::F64>(value, Round::Rn));
    }
  }
}

}  // namespace assay
