#include "elf/lines.h"

#include <fmt/format.h>

#include <algorithm>

#include "elf/bytes.h"

namespace assay::elf {

namespace {

// Standard opcodes (DWARF 2, 6.2.5.2) and extended ones (6.2.5.3).
enum Standard : uint8_t {
  kExtended = 0,
  kCopy = 1,
  kAdvancePc = 2,
  kAdvanceLine = 3,
  kSetFile = 4,
  kSetColumn = 5,
  kConstAddPc = 8,
  kFixedAdvancePc = 9
};
enum Extended : uint8_t { kEndSequence = 1, kSetAddress = 2, kInlinedCall = 0x90 };

struct Header {
  uint8_t min_length = 1;
  int8_t line_base = 0;
  uint8_t line_range = 1, opcode_base = 10;
  std::vector<uint8_t> operands;  // of each standard opcode
  std::vector<uint32_t> files;    // index into LineTable::files
};

// The registers of the line machine, and where call sites stand.
struct State {
  uint64_t address = 0;
  uint64_t file = 1, line = 1, column = 0;
  uint64_t context = 0, name = 0;
  bool known_section = false;
};

class LineReader {
 public:
  LineReader(const Cubin& cubin, const Section& section, const std::string& file)
      : cubin_(cubin), section_(section), file_(file), strings_(cubin.find(".debug_str")) {
    const auto index = static_cast<uint32_t>(&section - cubin.sections.data());
    if (auto at = cubin.relocations.find(index); at != cubin.relocations.end())
      relocations_ = &at->second;
  }

  Result<LineTable> run() {
    size_t at = 0;
    while (at + 4 < section_.data.size()) {
      const uint64_t length = Bytes(section_.data, at).u32();
      if (length == 0 || length > section_.data.size() - at - 4)
        return damaged("a unit is longer than the table", at);
      ASSAY_CHECK(unit(at + 4, at + 4 + length));
      at += 4 + length;
    }
    for (Sequence& s : out_.sequences) check_calls(&s);
    return std::move(out_);
  }

 private:
  tl::unexpected<Diag> damaged(const std::string& what, uint64_t at) const {
    return fail(DiagKind::Invalid,
                fmt::format("damaged line table {}: {} (byte {})", section_.name, what, at),
                {file_, 0, 0});
  }

  Status unit(size_t begin, size_t end) {
    Bytes in(section_.data.substr(0, end), begin);
    const uint16_t version = in.u16();
    if (version != 2 && version != 3)
      return fail(DiagKind::Unsupported,
                  fmt::format("line table {} of DWARF version {}", section_.name, version),
                  {file_, 0, 0});
    const uint64_t program = uint64_t{in.u32()} + in.at();
    if (program > end) return damaged("the header is longer than its unit", begin);
    Header h;
    h.min_length = in.u8();
    in.skip(1);
    h.line_base = static_cast<int8_t>(in.u8());
    h.line_range = in.u8();
    h.opcode_base = in.u8();
    if (h.line_range == 0 || h.opcode_base == 0) return damaged("an impossible header", begin);
    h.operands.push_back(0);
    for (int k = 1; k < h.opcode_base; ++k) h.operands.push_back(in.u8());
    ASSAY_CHECK(names(&in, &h));
    if (in.at() > program) return damaged("the names are longer than the header", begin);
    in.skip(program - in.at());  // ptxas appends bytes of unknown meaning
    return rows(in, h);
  }

  Status names(Bytes* in, Header* h) {
    std::vector<std::string_view> folders = {""};
    for (std::string_view f = in->text(); !f.empty(); f = in->text()) folders.push_back(f);
    for (std::string_view f = in->text(); !f.empty(); f = in->text()) {
      const uint64_t folder = in->uleb();
      in->uleb();  // time
      in->uleb();  // bytes
      std::string path(f);
      if (folder < folders.size() && !folders[folder].empty() && f[0] != '/')
        path = std::string(folders[folder]) + "/" + path;
      h->files.push_back(static_cast<uint32_t>(out_.files.size()));
      out_.files.push_back(std::move(path));
    }
    if (in->failed()) return damaged("the file names are cut off", in->at());
    return {};
  }

  Status rows(Bytes in, const Header& h) {
    Sequence sequence;
    State s;
    while (!in.done()) {
      const uint8_t opcode = in.u8();
      if (opcode >= h.opcode_base) {
        const int adjusted = opcode - h.opcode_base;
        s.address += static_cast<uint64_t>(adjusted / h.line_range) * h.min_length;
        s.line += static_cast<uint64_t>(h.line_base + adjusted % h.line_range);
        add(s, h, &sequence);
      } else if (opcode == kExtended) {
        const uint64_t size = in.uleb();
        const size_t at = in.at();
        Bytes operands(in.take(size));
        if (in.failed() || size == 0) return damaged("an opcode is cut off", at);
        const uint8_t extended = operands.u8();
        if (extended == kEndSequence) {
          finish(s, &sequence);
          s = State{};
        } else if (extended == kSetAddress) {
          set_address(at + 1, operands.u64(), &s, &sequence);
        } else if (extended == kInlinedCall) {
          s.context = operands.uleb();
          s.name = operands.uleb();
        }  // others say nothing about lines
      } else {
        standard(opcode, h, &in, &s, &sequence);
      }
    }
    if (in.failed()) return damaged("the line program is cut off", in.at());
    return {};
  }

  void standard(uint8_t opcode, const Header& h, Bytes* in, State* s, Sequence* sequence) {
    switch (opcode) {
      case kCopy:
        add(*s, h, sequence);
        return;
      case kAdvancePc:
        s->address += in->uleb() * h.min_length;
        return;
      case kAdvanceLine:
        s->line += static_cast<uint64_t>(in->sleb());
        return;
      case kSetFile:
        s->file = in->uleb();
        return;
      case kSetColumn:
        s->column = in->uleb();
        return;
      case kConstAddPc:
        s->address += static_cast<uint64_t>((255 - h.opcode_base) / h.line_range) * h.min_length;
        return;
      case kFixedAdvancePc:
        s->address += in->u16();
        return;
      default:
        for (int k = 0; k < h.operands[opcode]; ++k) in->uleb();
    }
  }

  void add(const State& s, const Header& h, Sequence* sequence) {
    LineRow row;
    row.offset = s.address;
    row.line = static_cast<uint32_t>(s.line);
    row.column = static_cast<uint32_t>(s.column);
    const bool possible = s.line <= UINT32_MAX;
    const bool sass = section_.name == ".nv_debug_line_sass";  // one file, the PTX; it has no name
    if (!possible || (!sass && (s.file == 0 || s.file > h.files.size()))) {
      row.line = 0;
      ++out_.damaged;
    } else if (!sass) {
      row.file = h.files[s.file - 1];
    }
    // Call sites are rows, numbered as they come, so a row that is out of order keeps its number.
    if (s.context != 0) {
      if (s.context <= sequence->rows.size()) {
        row.called_at = static_cast<int32_t>(s.context) - 1;
        if (strings_ != nullptr) row.function = Bytes(strings_->data, s.name).text();
      } else {
        ++out_.damaged;
      }
    }
    sequence->rows.push_back(std::move(row));
  }

  void set_address(size_t at, uint64_t value, State* s, Sequence* sequence) {
    s->address = value;
    if (relocations_ == nullptr) return;
    auto found = relocations_->find(at);
    if (found == relocations_->end() || found->second.symbol >= cubin_.symbols.size()) return;
    const Symbol& symbol = cubin_.symbols[found->second.symbol];
    if (symbol.section == 0 || symbol.section >= cubin_.sections.size()) return;
    sequence->section = symbol.section;
    s->address = symbol.value + static_cast<uint64_t>(found->second.addend) + value;
    s->known_section = true;
  }

  void finish(const State& s, Sequence* sequence) {
    const uint64_t size = s.known_section ? cubin_.sections[sequence->section].data.size() : 0;
    if (!s.known_section) out_.damaged += static_cast<uint32_t>(sequence->rows.size());
    sequence->end = std::min(s.address, size);
    if (s.known_section) out_.sequences.push_back(std::move(*sequence));
    *sequence = Sequence{};
  }

  // Rows whose offsets do not grow, or lie behind the code, tell no line.
  void check_calls(Sequence* s) {
    uint64_t last = 0;
    for (LineRow& row : s->rows) {
      if (row.offset < last || row.offset > s->end) {
        row.offset = last;
        row.line = 0;
        ++out_.damaged;
      }
      last = row.offset;
    }
  }

  const Cubin& cubin_;
  const Section& section_;
  const std::string& file_;
  const Section* strings_;
  const std::map<uint64_t, Relocation>* relocations_ = nullptr;
  LineTable out_;
};

}  // namespace

LineTable::Found LineTable::find(uint32_t section, uint64_t offset) const {
  for (const Sequence& s : sequences) {
    if (s.section != section || offset >= s.end) continue;
    auto next = std::upper_bound(s.rows.begin(), s.rows.end(), offset,
                                 [](uint64_t at, const LineRow& row) { return at < row.offset; });
    if (next == s.rows.begin()) continue;
    const LineRow& row = *std::prev(next);
    return {&s, row.line == 0 ? nullptr : &row};
  }
  return {};
}

Result<LineTable> read_lines(const Cubin& cubin, std::string_view section,
                             const std::string& file) {
  const Section* s = cubin.find(section);
  if (s == nullptr) return LineTable{};
  return LineReader(cubin, *s, file).run();
}

}  // namespace assay::elf
