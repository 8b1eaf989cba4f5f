#include <array>

#include "program/codec.h"

namespace assay::program {

namespace {
constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::array<int8_t, 256> make_values() {
  std::array<int8_t, 256> v{};
  v.fill(-1);
  for (size_t i = 0; i < kAlphabet.size(); ++i) {
    v[static_cast<uint8_t>(kAlphabet[i])] = static_cast<int8_t>(i);
  }
  return v;
}
constexpr std::array<int8_t, 256> kValues = make_values();
}  // namespace

std::string base64_encode(const std::vector<uint8_t>& bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t n = std::min<size_t>(3, bytes.size() - i);
    uint32_t word = uint32_t{bytes[i]} << 16;
    if (n > 1) word |= uint32_t{bytes[i + 1]} << 8;
    if (n > 2) word |= bytes[i + 2];
    for (size_t k = 0; k < 4; ++k) {
      out.push_back(k <= n ? kAlphabet[word >> (18 - 6 * k) & 63] : '=');
    }
  }
  return out;
}

std::optional<std::vector<uint8_t>> base64_decode(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::vector<uint8_t> out;
  out.reserve(text.size() / 4 * 3);
  for (size_t i = 0; i < text.size(); i += 4) {
    size_t pad = 0;
    if (i + 4 == text.size())
      pad = (text[i + 3] == '=') + (text[i + 3] == '=' && text[i + 2] == '=');
    uint32_t word = 0;
    for (size_t k = 0; k < 4 - pad; ++k) {
      const int8_t v = kValues[static_cast<uint8_t>(text[i + k])];
      if (v < 0) return std::nullopt;
      word |= static_cast<uint32_t>(v) << (18 - 6 * k);
    }
    for (size_t k = 0; k < 3 - pad; ++k) out.push_back(static_cast<uint8_t>(word >> (16 - 8 * k)));
  }
  return out;
}

}  // namespace assay::program
