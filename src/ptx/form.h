#pragma once
// ops.def made ready for use: rows by opcode text, words of each row, shapes of its operands.
#include <string>
#include <string_view>
#include <vector>

#include "ptx/module.h"

namespace assay::ptx {

// A word position of a row's syntax.
struct Word {
  enum class Kind : uint8_t { Slot, Type, Fixed, Any } kind = Kind::Slot;
  Slot slot{};
  uint8_t type_index = 0;  // Type: which of Instr::types
  bool optional = false;
  uint64_t allowed = 0;    // Slot: bit v is value v; Type: bit t is Ty t
  std::string_view fixed;  // Fixed
};

// An operand position; see ops.def for the letters.
struct Shape {
  char letter = 'a';  // d a p v V s i m L C B *
  bool def = false;
  enum class Second : uint8_t { No, Optional, Required } pair = Second::No;
  enum class Rule : uint8_t { Exact, Wide, AtLeast, Any } rule = Rule::Exact;
  int8_t type_index = 0;  // of Instr::types; -1: `type`
  Ty type = Ty::None;
  bool optional = false;
  int8_t when_slot = -1;  // present exactly when this slot is written
};

struct Row {
  const OpRow* op = nullptr;
  std::vector<std::string_view> name;  // words of the spelling
  std::vector<Word> words;
  std::vector<Shape> shapes;
  bool free_words = false, free_operands = false;
};

const Row& compiled(Op op);
// Errors of the table itself (must be empty; a test looks).
const std::vector<std::string>& table_errors();

// A reading of an opcode's text by one row.
struct Form {
  Op op{};
  Modifiers mods;
  std::array<Ty, 3> types{};
  std::string_view suffix;  // rows with free words: everything after the spelling, with its dot
};

// All rows that can read `text` ("ld.global.v4.f32"), in table order, longest spelling first. If
// none, *why says so and *unknown_word tells whether some word is in no vocabulary (then the form
// may be newer than the table).
std::vector<Form> match_opcode(std::string_view text, std::string* why, bool* unknown_word);

// Why the modifiers of a form do not go together (rules.cpp); empty: they do.
std::string_view broken_rule(const Form& form);

// The type that operand position `shape` of an instruction wants; None: no check.
Ty wanted_type(const Shape& shape, const std::array<Ty, 3>& types);

// Pairs each of n operands with a position of the row: positions[k] of operand k. Optional ones are
// left out from the right. False: the number does not fit.
bool assign_positions(const Row& row, const Modifiers& mods, uint32_t n,
                      std::vector<const Shape*>* positions);

// The opcode as printed: "ld.global.v4.f32".
std::string opcode_text(const Module& m, const Instr& i);

std::string_view slot_word(Slot slot, uint8_t value);
Ty type_by_text(std::string_view text);  // None: no such type

}  // namespace assay::ptx
