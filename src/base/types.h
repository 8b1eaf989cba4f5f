#pragma once
// Scalar types (PTX ISA section 5.2), shared by the PTX front end, traces, Programs and tensors.
#include <cstdint>
#include <string_view>

namespace assay {

enum class Ty : uint8_t {
  None,
#define TY(id, text, bits, cls) id,
#include "base/types.def"
#undef TY
};

enum class TyClass : uint8_t { N, P, B, U, S, F, X, Y, T };

struct TyInfo {
  std::string_view text;
  uint16_t bits;
  TyClass cls;
};

inline constexpr TyInfo kTyInfo[] = {
    {"", 0, TyClass::N},
#define TY(id, text, bits, cls) {text, bits, TyClass::cls},
#include "base/types.def"
#undef TY
};

constexpr const TyInfo& info(Ty t) { return kTyInfo[static_cast<int>(t)]; }
constexpr uint32_t bits(Ty t) { return info(t).bits; }
constexpr uint32_t bytes(Ty t) { return (info(t).bits + 7) / 8; }
constexpr bool is_float(Ty t) { return info(t).cls == TyClass::F; }
constexpr bool is_signed(Ty t) { return info(t).cls == TyClass::S; }
constexpr bool is_int(Ty t) {
  return info(t).cls == TyClass::S || info(t).cls == TyClass::U || info(t).cls == TyClass::B;
}

}  // namespace assay
