#pragma once
// A small cubin made by hand: one kernel of four instructions, its resources and its line table.
#include <cstdint>
#include <string>
#include <vector>

namespace assay::elf {

struct MadeCubin {
  uint8_t dwarf = 2;
  uint8_t call_row = 2;  // of the inlined row
};

namespace made {

template <class T>
void put(std::string* out, T value) {
  out->append(reinterpret_cast<const char*>(&value), sizeof value);
}

struct Part {
  std::string name;
  uint32_t type;
  uint64_t flags;
  uint32_t link, info;
  std::string data;
};

inline std::string line_program(const MadeCubin& m, size_t* address_at) {
  std::string names = std::string("/src\0\0", 6) + std::string("a.cu\0\1\0\0\0", 9);
  std::string head;
  put<uint8_t>(&head, 1);   // minimum length
  put<uint8_t>(&head, 1);   // is_stmt
  put<int8_t>(&head, -5);   // line base
  put<uint8_t>(&head, 14);  // line range
  put<uint8_t>(&head, 10);  // opcode base
  for (const char n : {0, 1, 1, 1, 1, 0, 0, 0, 1}) head += n;
  head += names + std::string(4, '\0');  // four bytes of unknown meaning, as ptxas writes
  std::string program("\0\x09\x02", 3);
  *address_at = 4 + 2 + 4 + head.size() + 3;
  put<uint64_t>(&program, 0);
  const auto advance = [&] { program += std::string("\x02\x10", 2); };
  program += std::string("\x03\x09\x01", 3);  // line 10, row
  advance();
  program += std::string("\x03\x02\x01", 3);  // line 12, row
  advance();
  program += std::string("\0\x03\x90", 3) + static_cast<char>(m.call_row) + '\0';
  program += std::string("\x03\x77\x01", 3);  // line 3, row
  program += std::string("\x02\x20", 2);
  program += std::string("\0\x01\x01", 3);
  std::string unit;
  put<uint16_t>(&unit, m.dwarf);
  put<uint32_t>(&unit, static_cast<uint32_t>(head.size()));
  unit += head + program;
  std::string out;
  put<uint32_t>(&out, static_cast<uint32_t>(unit.size()));
  return out + unit;
}

inline std::string symbol(uint32_t name, uint8_t type, uint8_t other, uint16_t section,
                          uint64_t size) {
  std::string out;
  put(&out, name);
  put(&out, type);
  put(&out, other);
  put(&out, section);
  put<uint64_t>(&out, 0);
  put(&out, size);
  return out;
}

inline std::string words(uint8_t code, std::vector<uint32_t> values) {
  std::string out = {4, static_cast<char>(code)};
  put<uint16_t>(&out, static_cast<uint16_t>(4 * values.size()));
  for (uint32_t v : values) put(&out, v);
  return out;
}

}  // namespace made

inline std::string made_cubin(const MadeCubin& m = {}) {
  using namespace made;
  size_t address_at = 0;
  const std::string lines = line_program(m, &address_at);
  std::string relocation;
  put<uint64_t>(&relocation, address_at);
  put<uint32_t>(&relocation, 2);
  put<uint32_t>(&relocation, 1);
  put<uint64_t>(&relocation, 0);
  const std::string own = words(0x10, {128, 2, 1}) + std::string("\x03\x19\x1c\x00", 4) +
                          std::string("\x02\x4c\x01\x00", 4);
  std::vector<Part> parts = {
      {"", 0, 0, 0, 0, ""},
      {".shstrtab", 3, 0, 0, 0, ""},
      {".strtab", 3, 0, 0, 0, std::string("\0kernel\0", 8)},
      {".symtab", 2, 0, 2, 1, symbol(0, 0, 0, 0, 0) + symbol(1, 0x12, 0x10, 4, 64)},
      {".text.kernel", 1, 6, 3, 1, std::string(64, '\0')},
      {".nv.info", 0x70000000, 0, 3, 0, words(0x2f, {1, 32}) + words(0x11, {1, 8})},
      {".nv.info.kernel", 0x70000000, 0, 3, 4, own},
      {".debug_line", 1, 0, 0, 0, lines},
      {".debug_str", 1, 0, 0, 0, std::string("inner\0", 6)},
      {".rela.debug_line", 4, 0, 3, 7, relocation},
      // The same rows as lines of the PTX.
      {".nv_debug_line_sass", 1, 0, 0, 0, lines},
      {".rela.nv_debug_line_sass", 4, 0, 3, 10, relocation},
  };
  std::string names, body;
  std::vector<uint32_t> name_at;
  for (const Part& p : parts) {
    name_at.push_back(static_cast<uint32_t>(names.size()));
    names += p.name + '\0';
  }
  parts[1].data = names;
  std::string table;
  for (size_t k = 0; k < parts.size(); ++k) {
    put(&table, name_at[k]);
    put(&table, parts[k].type);
    put(&table, parts[k].flags);
    put<uint64_t>(&table, 0);
    put<uint64_t>(&table, 64 + body.size());
    put<uint64_t>(&table, parts[k].data.size());
    put(&table, parts[k].link);
    put(&table, parts[k].info);
    put<uint64_t>(&table, 1);
    put<uint64_t>(&table, 0);
    body += parts[k].data;
  }
  std::string out(
      "\x7f"
      "ELF\x02\x01\x01\x41\x08",
      9);
  out.resize(16, '\0');
  put<uint16_t>(&out, 2);
  put<uint16_t>(&out, 190);
  put<uint32_t>(&out, 1);
  put<uint64_t>(&out, 0);
  put<uint64_t>(&out, 0);
  put<uint64_t>(&out, 64 + body.size());  // the section headers come last: a prefix lacks them
  put<uint32_t>(&out, 0x0a005a04);
  put<uint16_t>(&out, 64);
  put<uint16_t>(&out, 0);
  put<uint16_t>(&out, 0);
  put<uint16_t>(&out, 64);
  put<uint16_t>(&out, static_cast<uint16_t>(parts.size()));
  put<uint16_t>(&out, 1);
  return out + body + table;
}

}  // namespace assay::elf
