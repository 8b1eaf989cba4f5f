#include "elf/nv_info.h"

#include "elf/bytes.h"

namespace assay::elf {

namespace {

enum class Attr : uint8_t {
#define ATTR(id, code) id = code,
#include "elf/nv_info.def"
#undef ATTR
};

constexpr uint8_t kByteValue = 2, kHalfValue = 3, kSized = 4;

struct Entry {
  uint8_t code = 0;
  uint16_t value = 0;        // formats with a value in the entry itself
  std::string_view payload;  // kSized
};

CubinFunction* by_symbol(Cubin* cubin, uint32_t symbol) {
  for (CubinFunction& f : cubin->functions) {
    if (f.symbol == symbol) return &f;
  }
  return nullptr;
}

std::array<uint32_t, 3> three(std::string_view payload) {
  Bytes in(payload);
  std::array<uint32_t, 3> out{};
  for (uint32_t& n : out) n = in.u32();
  return in.failed() ? std::array<uint32_t, 3>{} : out;
}

// `own`: the function whose section this is; nullptr in the module's section.
void apply(Cubin* cubin, CubinFunction* own, const Entry& e) {
  Bytes in(e.payload);
  switch (static_cast<Attr>(e.code)) {
    case Attr::RegCount:
    case Attr::FrameSize: {
      const uint32_t symbol = in.u32(), n = in.u32();
      CubinFunction* f = by_symbol(cubin, symbol);
      if (f == nullptr || in.failed()) return;
      (static_cast<Attr>(e.code) == Attr::RegCount ? f->registers : f->frame_bytes) = n;
      return;
    }
    case Attr::MaxThreads:
      if (own != nullptr) own->max_threads = three(e.payload);
      return;
    case Attr::ReqNTid:
      if (own != nullptr) own->required_threads = three(e.payload);
      return;
    case Attr::CbankParamSize:
      if (own != nullptr) own->parameter_bytes = e.value;
      return;
    case Attr::NumBarriers:
      if (own != nullptr) own->barriers = e.value;
      return;
  }
}

}  // namespace

void read_nv_info(Cubin* cubin) {
  constexpr std::string_view kPrefix = ".nv.info";
  for (const Section& s : cubin->sections) {
    if (s.name.rfind(kPrefix, 0) != 0) continue;
    CubinFunction* own = nullptr;
    for (CubinFunction& f : cubin->functions) {
      if (s.name.substr(kPrefix.size()) == "." + f.name) own = &f;
    }
    Bytes in(s.data);
    while (!in.done()) {
      const uint8_t format = in.u8();
      Entry e;
      e.code = in.u8();
      const uint16_t value = in.u16();
      if (format == kByteValue) e.value = value & 0xff;
      if (format == kHalfValue) e.value = value;
      if (format == kSized) e.payload = in.take(value);
      if (!in.failed()) apply(cubin, own, e);
    }
  }
}

}  // namespace assay::elf
