#include "elf/cubin.h"

#include <fmt/format.h>

#include <algorithm>

#include "elf/bytes.h"
#include "elf/nv_info.h"

namespace assay::elf {

namespace {

constexpr uint16_t kMachineCuda = 190;  // EM_CUDA
constexpr uint32_t kSymtab = 2, kRela = 4, kNobits = 8, kRel = 9;
constexpr uint64_t kExecutable = 4;    // SHF_EXECINSTR
constexpr uint8_t kFunctionType = 2;   // STT_FUNC
constexpr uint8_t kEntryOther = 0x10;  // STO_CUDA_ENTRY in st_other
constexpr uint64_t kReservedShared = 1024;
constexpr size_t kHeaderSize = 64, kSectionSize = 64, kSymbolSize = 24;

class Reader {
 public:
  Reader(Cubin* cubin, const std::string& file) : out_(*cubin), file_(file) {}

  Status run() {
    ASSAY_CHECK(header());
    ASSAY_CHECK(sections());
    ASSAY_CHECK(symbols());
    ASSAY_CHECK(relocations());
    functions();
    read_nv_info(&out_);
    note();
    return {};
  }

 private:
  tl::unexpected<Diag> damaged(const std::string& what, uint64_t at) const {
    return fail(DiagKind::Invalid, fmt::format("damaged cubin: {} (byte {})", what, at),
                {file_, 0, 0});
  }

  Status header() {
    const std::string_view all = out_.bytes;
    if (all.substr(0, 4) !=
        "\x7f"
        "ELF") {
      const bool fat = all.substr(0, 4) == std::string_view("\x50\xed\x55\xba", 4);
      return fail(DiagKind::Invalid,
                  fat ? "a fat binary, not a cubin; cuobjdump -xelf all extracts its cubins"
                      : "no ELF file, so no cubin",
                  {file_, 0, 0});
    }
    if (all.size() < kHeaderSize) return damaged("the ELF header is cut off", all.size());
    if (all[4] != 2 || all[5] != 1)
      return fail(DiagKind::Unsupported, "only 64-bit little-endian cubins are read",
                  {file_, 0, 0});
    Bytes in(all, 18);
    if (const uint16_t machine = in.u16(); machine != kMachineCuda)
      return fail(
          DiagKind::Invalid,
          fmt::format("an ELF file of machine {}, not of a GPU ({})", machine, kMachineCuda),
          {file_, 0, 0});
    Bytes rest(all, 40);
    section_offset_ = rest.u64();
    flags_ = rest.u32();
    rest.skip(6);
    entry_size_ = rest.u16();
    section_count_ = rest.u16();
    names_ = rest.u16();
    // Layout 8 (CUDA 13) keeps the architecture in bits 8-15, older ones in bits 0-7.
    out_.sm = static_cast<uint8_t>(all[8]) >= 8 ? flags_ >> 8 & 0xff : flags_ & 0xff;
    return {};
  }

  Status sections() {
    if (section_count_ == 0) return damaged("it has no sections", 60);
    if (entry_size_ != kSectionSize) return damaged("section headers of an odd size", 58);
    const uint64_t total = uint64_t{section_count_} * kSectionSize;
    if (section_offset_ > out_.bytes.size() || total > out_.bytes.size() - section_offset_)
      return damaged("the section headers lie behind its end", section_offset_);
    std::vector<uint32_t> names;
    for (uint32_t k = 0; k < section_count_; ++k) {
      Bytes in(out_.bytes, section_offset_ + k * kSectionSize);
      Section s;
      names.push_back(in.u32());
      s.type = in.u32();
      s.flags = in.u64();
      in.skip(8);
      const uint64_t offset = in.u64();
      s.size = in.u64();
      s.link = in.u32();
      s.info = in.u32();
      if (s.type != kNobits && s.type != 0) {
        if (offset > out_.bytes.size() || s.size > out_.bytes.size() - offset)
          return damaged(fmt::format("section {} lies behind its end", k), offset);
        s.data = std::string_view(out_.bytes).substr(offset, s.size);
      }
      out_.sections.push_back(std::move(s));
    }
    if (names_ >= out_.sections.size()) return damaged("no section holds the names", 62);
    for (uint32_t k = 0; k < section_count_; ++k) {
      Bytes in(out_.sections[names_].data, names[k]);
      out_.sections[k].name = in.text();
      if (in.failed()) return damaged(fmt::format("section {} has no name", k), names[k]);
    }
    return {};
  }

  Status symbols() {
    for (const Section& s : out_.sections) {
      if (s.type != kSymtab) continue;
      if (s.link >= out_.sections.size()) return damaged("symbols without names", s.link);
      const std::string_view names = out_.sections[s.link].data;
      Bytes in(s.data);
      while (in.left() >= kSymbolSize) {
        Symbol symbol;
        Bytes name(names, in.u32());
        symbol.name = name.text();
        if (name.failed()) return damaged("a symbol's name lies behind the names", in.at());
        symbol.type = in.u8() & 0xf;
        other_.push_back(in.u8());
        symbol.section = in.u16();
        symbol.value = in.u64();
        symbol.size = in.u64();
        out_.symbols.push_back(std::move(symbol));
      }
      return {};  // ELF allows one symbol table
    }
    return {};
  }

  Status relocations() {
    for (const Section& s : out_.sections) {
      if (s.type != kRela && s.type != kRel) continue;
      if (s.info >= out_.sections.size()) return damaged("relocations of no section", s.info);
      auto& into = out_.relocations[s.info];
      const size_t entry = s.type == kRela ? 24 : 16;
      Bytes in(s.data);
      while (in.left() >= entry) {
        const uint64_t offset = in.u64();
        in.skip(4);
        Relocation r;
        r.symbol = in.u32();
        if (s.type == kRela) r.addend = static_cast<int64_t>(in.u64());
        into[offset] = r;
      }
    }
    return {};
  }

  void functions() {
    for (uint32_t k = 0; k < out_.symbols.size(); ++k) {
      const Symbol& symbol = out_.symbols[k];
      if (symbol.type != kFunctionType || symbol.section == 0 ||
          symbol.section >= out_.sections.size())
        continue;
      const Section& code = out_.sections[symbol.section];
      if ((code.flags & kExecutable) == 0 || symbol.value > code.data.size()) continue;
      CubinFunction f;
      f.name = symbol.name;
      f.section = symbol.section;
      f.symbol = k;
      f.offset = symbol.value;
      f.size = std::min<uint64_t>(symbol.size, code.data.size() - symbol.value);
      f.is_kernel = (other_[k] & kEntryOther) != 0;
      f.barriers = code.flags >> 20 & 0x7f;
      if (const Section* shared = out_.find(".nv.shared." + f.name)) {
        // From sm_90 on the section begins with what the system takes of each CTA.
        const uint64_t reserved = out_.sm >= 90 ? kReservedShared : 0;
        f.shared_bytes = shared->size - std::min(shared->size, reserved);
      }
      out_.functions.push_back(std::move(f));
    }
    std::sort(out_.functions.begin(), out_.functions.end(),
              [](const auto& a, const auto& b) { return a.name < b.name; });
  }

  // .note.nv.tkinfo: an ELF note; its description is 6 words (version, offsets) and the strings.
  void note() {
    const Section* s = out_.find(".note.nv.tkinfo");
    if (s == nullptr) return;
    Bytes in(s->data);
    const uint32_t name = in.u32(), size = in.u32();
    in.skip(4 + (uint64_t{name} + 3) / 4 * 4);
    Bytes description(in.take(size));
    description.skip(24);
    while (!description.done()) {
      const std::string_view word = description.text();
      if (word.empty()) continue;
      if (!out_.assembler.empty()) out_.assembler += "; ";
      out_.assembler += word;
    }
  }

  Cubin& out_;
  const std::string& file_;
  uint64_t section_offset_ = 0;
  uint32_t flags_ = 0, section_count_ = 0, entry_size_ = 0, names_ = 0;
  std::vector<uint8_t> other_;  // st_other of each symbol
};

}  // namespace

const Section* Cubin::find(std::string_view name) const {
  for (const Section& s : sections) {
    if (s.name == name) return &s;
  }
  return nullptr;
}

Result<std::unique_ptr<Cubin>> read_cubin(std::string bytes, const std::string& file) {
  auto cubin = std::make_unique<Cubin>();
  cubin->bytes = std::move(bytes);
  ASSAY_CHECK(Reader(cubin.get(), file).run());
  return cubin;
}

std::string embedded_ptx(const Cubin& cubin) {
  const Section* s = cubin.find(".nv_debug_ptx_txt");
  if (s == nullptr) return "";
  std::string text(s->data);
  std::replace(text.begin(), text.end(), '\0', '\n');
  return text;
}

}  // namespace assay::elf
