#pragma once
// The line tables of a cubin, all of them DWARF 2 or 3 line programs:
//   .debug_line          instruction -> source line, with where inlined code was called
//   .nv_debug_line_sass  instruction -> line of the PTX (elf/cubin.h, embedded_ptx)
// Beyond DWARF, extended opcode 0x90 gives the rows that follow a call site: operands are the
// number of an earlier row of the sequence (1 is the first, 0 none) and the name's offset in
// .debug_str.
#include <cstdint>
#include <string>
#include <vector>

#include "elf/cubin.h"

namespace assay::elf {

struct LineRow {
  uint64_t offset = 0;  // bytes into the section; it holds up to the next row's
  uint32_t file = 0;    // index into LineTable::files
  uint32_t line = 0;    // 1-based; 0: none
  uint32_t column = 0;
  int32_t called_at = -1;  // an earlier row of the same sequence, index into Sequence::rows
  std::string function;    // the inlined function, as mangled; "" where called_at is -1
};

// The rows of one run of code, by offset.
struct Sequence {
  uint32_t section = 0;  // of the code
  uint64_t end = 0;      // offset behind its last instruction
  std::vector<LineRow> rows;
};

struct LineTable {
  std::vector<std::string> files;  // paths
  std::vector<Sequence> sequences;
  uint32_t damaged = 0;  // rows and call sites that were passed over, being impossible

  struct Found {
    const Sequence* sequence = nullptr;
    const LineRow* row = nullptr;  // nullptr: no line
  };
  Found find(uint32_t section, uint64_t offset) const;
};

// `section`: ".debug_line" or ".nv_debug_line_sass"; an empty table where there is none.
// Errors: Invalid (damaged), Unsupported (another DWARF version).
Result<LineTable> read_lines(const Cubin& cubin, std::string_view section, const std::string& file);

}  // namespace assay::elf
