#pragma once
// Machine instructions, by NVIDIA's nvdisasm where there is one: text, class, bytes of an access.
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace assay::region {

enum class Class : uint8_t {
#define CLASS(id, name) id,
#include "region/classes.def"
  Count
};
inline constexpr size_t kClasses = static_cast<size_t>(Class::Count);
const char* class_name(Class c);
Class sass_class(std::string_view opcode);  // Other: unknown

// Bytes that a lane moves in a memory access of this opcode ("LDG.E.128": 16); 0: no access.
uint32_t access_bytes(std::string_view opcode);

inline constexpr uint64_t kSassBytes = 16;  // of an instruction, since sm_70

struct Sass {
  std::string predicate, opcode, operands;  // "@!P0", "LDG.E", "R3,desc[UR4][R2.64]"
  // Padding behind the last instruction, and the branch to itself that guards it.
  bool padding = false;
  int64_t target = -1;  // of a branch: byte offset in the function; -1: none, or not known
};

struct SassFunction {
  std::string name;
  uint64_t offset = 0;  // bytes into its section
  std::vector<Sass> code;
};

struct Disassembly {
  std::string producer;  // "nvdisasm V13.5.37 ..."
  std::vector<SassFunction> functions;
};

// `tool`: path of nvdisasm. Errors: Io (cannot run), Unsupported (it refuses the cubin: its words),
// Invalid (its answer has another form).
Result<Disassembly> disassemble(const std::string& tool, std::string_view cubin);

// A loop of the machine code: the address range that backward branches to its first instruction
// close; instruction numbers.
struct CodeLoop {
  size_t first = 0, last = 0;
  int32_t parent = -1;
};
std::vector<CodeLoop> code_loops(const std::vector<Sass>& code);  // outer before inner

// How many loops each instruction lies in.
std::vector<uint32_t> loop_depths(const std::vector<Sass>& code);

}  // namespace assay::region
