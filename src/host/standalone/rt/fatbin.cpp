// The fat binary container: a header and entries; PTX entries hold text, plain or compressed.
#include <zstd.h>

#include <cstring>

#include "host/standalone/rt/modules.h"

namespace assay::host {

namespace {

constexpr uint32_t kMagic = 0xBA55ED50;
constexpr uint16_t kKindPtx = 1;
constexpr uint64_t kFlagLz4 = 0x2000, kFlagZstd = 0x8000;
constexpr uint64_t kMaxText = 1ull << 28;

template <class T>
T read(const uint8_t* p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

// LZ4 block format; empty on malformed input.
std::string lz4(const uint8_t* in, size_t n, size_t out_size) {
  std::string out;
  out.reserve(out_size);
  size_t at = 0;
  auto length = [&](size_t v) {
    if (v != 15) return v;
    uint8_t more = 255;
    while (more == 255 && at < n) v += more = in[at++];
    return v;
  };
  while (at < n) {
    uint8_t token = in[at++];
    size_t literals = length(token >> 4);
    if (literals > n - at || out.size() + literals > out_size) return {};
    out.append(reinterpret_cast<const char*>(in + at), literals);
    at += literals;
    if (at + 2 > n) break;
    size_t distance = read<uint16_t>(in + at);
    at += 2;
    size_t match = length(token & 15) + 4;
    if (distance == 0 || distance > out.size() || out.size() + match > out_size) return {};
    for (size_t k = 0; k < match; ++k) out.push_back(out[out.size() - distance]);
  }
  return out;
}

}  // namespace

std::vector<std::string> ptx_of_fat_binary(const void* image) {
  std::vector<std::string> texts;
  auto* p = static_cast<const uint8_t*>(image);
  if (p == nullptr || read<uint32_t>(p) != kMagic) return texts;
  uint16_t header = read<uint16_t>(p + 6);
  uint64_t size = read<uint64_t>(p + 8);
  const uint8_t *at = p + header, *end = at + size;
  while (at + 64 <= end) {
    uint16_t kind = read<uint16_t>(at);
    uint32_t entry_header = read<uint32_t>(at + 4);
    uint64_t padded = read<uint64_t>(at + 8);
    uint32_t compressed = read<uint32_t>(at + 16);
    uint64_t flags = read<uint64_t>(at + 40), plain = read<uint64_t>(at + 56);
    const uint8_t* payload = at + entry_header;
    if (entry_header < 64 || payload + padded > end) break;
    if (kind == kKindPtx && plain <= kMaxText) {
      std::string text;
      if ((flags & kFlagLz4) != 0) {
        text = lz4(payload, compressed, plain);
      } else if ((flags & kFlagZstd) != 0) {
        text.resize(plain);
        size_t n = ZSTD_decompress(text.data(), plain, payload, compressed);
        text.resize(ZSTD_isError(n) ? 0 : n);
      } else {
        text.assign(reinterpret_cast<const char*>(payload), padded);
      }
      text.resize(std::strlen(text.c_str()));  // padded with NUL
      if (!text.empty()) texts.push_back(std::move(text));
    }
    at = payload + padded;
  }
  return texts;
}

}  // namespace assay::host
