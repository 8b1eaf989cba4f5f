#pragma once
// Scalar operations and their modifiers: see fn.def.
#include <cstdint>
#include <string_view>

#include "base/types.h"

namespace assay {

enum class Fn : uint8_t {
#define FN(id, name, arity, cls) id,
#include "base/fn.def"
#undef FN
  Count
};

enum class FnClass : uint8_t { R, C, L, I, V, S };

struct FnInfo {
  std::string_view name;
  uint8_t arity;
  FnClass cls;
};

inline constexpr FnInfo kFnInfo[] = {
#define FN(id, name, arity, cls) {name, arity, FnClass::cls},
#include "base/fn.def"
#undef FN
};

constexpr const FnInfo& info(Fn f) { return kFnInfo[static_cast<int>(f)]; }

enum class Round : uint8_t { Rn, Rz, Rm, Rp, Rna };

// Modifiers that change the IEEE result; over the reals only `sat` matters.
struct Mods {
  Round round = Round::Rn;
  bool ftz = false;     // subnormal operands and results are flushed to signed zero
  bool sat = false;     // floats: clamp to [0,1], NaN to 0; integers: clamp to the type
  bool nan = false;     // min/max propagate NaN
  bool approx = false;  // .approx: a function with a stated error, not correctly rounded
  // lop3: truth table. prmt: 0 default, 1 f4e, 2 b4e, 3 rc8, 4 ecl, 5 ecr, 6 rc16. shf: 1 clamp,
  // 0 wrap. bfind: 1 .shiftamt. dp4a, dp2a: bit 0 a is signed, bit 1 b is signed, bit 2 .hi (dp2a).
  // div with approx: 0 div.approx, 1 div.full.
  uint8_t imm = 0;
  Ty type2 = Ty::None;  // conversions: source type
  bool operator==(const Mods&) const = default;
};

}  // namespace assay
