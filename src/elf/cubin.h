#pragma once
// A cubin: the ELF file that ptxas makes of one module. Sections, symbols, relocations, kernels
// with their resources. Nothing in the file is believed: offsets, sizes and indices are checked.
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace assay::elf {

struct Section {
  std::string name;
  uint32_t type = 0;  // SHT_*
  uint64_t flags = 0;
  uint32_t link = 0, info = 0;
  uint64_t size = 0;      // bytes, also of sections without contents (SHT_NOBITS)
  std::string_view data;  // into Cubin::bytes
};

struct Symbol {
  std::string name;
  uint64_t value = 0, size = 0;  // bytes into its section
  uint16_t section = 0;          // index; 0: undefined
  uint8_t type = 0;              // STT_*: 2 is a function
};

struct Relocation {
  uint32_t symbol = 0;
  int64_t addend = 0;
};

// A function with code of its own: a kernel, or a device function that is called.
struct CubinFunction {
  std::string name;
  uint32_t section = 0, symbol = 0;
  uint64_t offset = 0, size = 0;  // bytes of code in its section
  bool is_kernel = false;
  uint32_t registers = 0;        // a thread; 0: not told
  uint32_t barriers = 0;         // named barriers of a CTA
  uint32_t frame_bytes = 0;      // local memory of a thread: arrays and spills
  uint64_t shared_bytes = 0;     // static, a CTA
  uint64_t parameter_bytes = 0;  // 0: none, or not told
  std::array<uint32_t, 3> max_threads{}, required_threads{};  // zeros: no bound
};

// Symbol section indices that stand for no section (SHN_LORESERVE and above).
inline constexpr uint16_t kReservedSection = 0xff00;

struct Cubin {
  std::string bytes;  // owned; `data` of sections points into it
  uint32_t sm = 0;    // 90; 0: not told
  std::vector<Section> sections;
  std::vector<Symbol> symbols;
  std::vector<CubinFunction> functions;  // by name
  std::string assembler;                 // "ptxas", version and options, as noted in it; may be ""
  // By section index, then by offset.
  std::map<uint32_t, std::map<uint64_t, Relocation>> relocations;

  const Section* find(std::string_view name) const;  // the first of that name, else nullptr
};

// `file` names it in diagnostics. Errors: Invalid (no ELF file, no cubin, damaged: what and at
// which byte), Unsupported (32 bits, big-endian).
Result<std::unique_ptr<Cubin>> read_cubin(std::string bytes, const std::string& file);

// The module's PTX as ptxas kept it with -lineinfo (lines keep their numbers, comments and `.loc`
// are blank); "": none.
std::string embedded_ptx(const Cubin& cubin);

}  // namespace assay::elf
