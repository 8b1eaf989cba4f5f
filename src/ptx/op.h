#pragma once
// Opcode forms (ops.def), their modifiers (mods.def) and special registers (specials.def).
#include <array>
#include <cstdint>
#include <string_view>

#include "base/types.h"

namespace assay::ptx {

// One enumerator a row of ops.def, i.e. an opcode form. A decoder switches on it.
enum class Op : uint16_t {
#define OP(id, section, spelling, syntax, operands, ptx, sm, family, status) id,
#include "ptx/ops.def"
  Count
};

enum class Family : uint8_t { Int, Fp, Half, Cvt, Mov, Mem, Atom, Sync, Warp, Ctl, Misc, Tensor };
// Parsed: known by name, nothing runs it (reported as Unsupported). Executed: src/machine runs it.
enum class OpStatus : uint8_t { Parsed, Executed };

// Slots of modifiers, one byte each in Modifiers.
enum class Slot : uint8_t {
#define SLOT(Enum, accessor) Enum,
#define MOD(Enum, id, spelling)
#define FLAG(accessor, spelling) flag_##accessor,
#include "ptx/mods.def"
  Count
};
inline constexpr int kSlots = static_cast<int>(Slot::Count);

// enum class Rounding : uint8_t { None, Rn, Rz, ... }; and so on, one a slot: each SLOT closes the
// enum before it.
// clang-format off
enum class ModsBegin : uint8_t {
#define SLOT(Enum, accessor) }; enum class Enum : uint8_t { None,
#define MOD(Enum, id, spelling) id,
#define FLAG(accessor, spelling)
#include "ptx/mods.def"
};
// clang-format on

// The modifiers an instruction has. Typed accessors for readers (`mods.round() == Rounding::Rz`,
// `mods.ftz()`); raw slots for the table-driven parser, validator and printer.
struct Modifiers {
  std::array<uint8_t, kSlots> raw{};

  uint8_t get(Slot s) const { return raw[static_cast<int>(s)]; }
  void set(Slot s, uint8_t value) { raw[static_cast<int>(s)] = value; }
#define SLOT(Enum, accessor) \
  Enum accessor() const { return static_cast<Enum>(get(Slot::Enum)); }
#define MOD(Enum, id, spelling)
#define FLAG(accessor, spelling) \
  bool accessor() const { return get(Slot::flag_##accessor) != 0; }
#include "ptx/mods.def"
  bool sat() const { return saturate() == Saturate::Sat; }
  bool approx() const { return precision() == Precision::Approx; }
  int vector_width() const { return vec() == Vec::None ? 1 : 1 << static_cast<int>(vec()); }
  bool operator==(const Modifiers&) const = default;
};

enum class Special : uint8_t {
#define SREG(id, spelling, type, shape, count) id,
#include "ptx/specials.def"
  Count
};
struct SpecialInfo {
  std::string_view spelling;  // '#' stands for the number of a numbered family
  Ty type;
  char shape;  // 'V' .x .y .z .w, 'S' scalar, 'I' numbered
  uint8_t count;
};
const SpecialInfo& info(Special s);

// A row of ops.def as written. `syntax`, `operands`: see ops.def.
struct OpRow {
  Op id;
  std::string_view name;      // "AddF"
  std::string_view section;   // of the PTX ISA manual, e.g. "9.7.3.3"
  std::string_view spelling;  // "add"; fixed words may follow: "shfl.sync"
  std::string_view syntax;    // modifiers and types in order
  std::string_view operands;
  uint16_t min_ptx;  // 10 * major + minor
  uint16_t min_sm;
  Family family;
  OpStatus status;
};
const OpRow& row(Op op);

}  // namespace assay::ptx
