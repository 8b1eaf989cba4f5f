#include "program/philox.h"

#include <algorithm>
#include <cmath>

#include "base/ieee.h"

namespace assay::program {

namespace {

constexpr uint32_t kMul0 = 0xD2511F53, kMul1 = 0xCD9E8D57;
constexpr uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
constexpr int kRounds = 10;
constexpr int kLanes = 16;  // counters in flight; the loops over lanes vectorise

// Word 0 for elements first .. first + kLanes.
#if defined(__GNUC__) && !defined(__clang__)
__attribute__((optimize("O3")))
#endif
void philox_lanes(uint64_t seed, uint64_t input, uint64_t first, uint32_t* out) {
  uint32_t c0[kLanes], c1[kLanes], c2[kLanes], c3[kLanes];
  for (uint32_t l = 0; l < kLanes; ++l) {
    c0[l] = static_cast<uint32_t>(first + l);
    c1[l] = static_cast<uint32_t>((first + l) >> 32);
    c2[l] = static_cast<uint32_t>(input);
    c3[l] = static_cast<uint32_t>(input >> 32);
  }
  auto k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);
  for (int r = 0; r < kRounds; ++r) {
    for (int l = 0; l < kLanes; ++l) {
      const uint64_t p0 = uint64_t{kMul0} * c0[l], p1 = uint64_t{kMul1} * c2[l];
      c0[l] = static_cast<uint32_t>(p1 >> 32) ^ c1[l] ^ k0;
      c1[l] = static_cast<uint32_t>(p1);
      c2[l] = static_cast<uint32_t>(p0 >> 32) ^ c3[l] ^ k1;
      c3[l] = static_cast<uint32_t>(p0);
    }
    k0 += kWeyl0;
    k1 += kWeyl1;
  }
  std::copy(c0, c0 + kLanes, out);
}

double map_unit(const Draw& d, double u) {
  switch (d.kind) {
    case Draw::Kind::Uniform:
      return d.lo + (d.hi - d.lo) * u;
    case Draw::Kind::Grid:
      return d.lo + d.step * std::floor(u * static_cast<double>(d.count));
    case Draw::Kind::Constant:
      return d.lo;
    case Draw::Kind::Integers:
      return std::floor(d.lo + (d.hi - d.lo) * u);
  }
  return 0;
}

void apply_band(const Draw::Band& b, uint64_t first, size_t n, double* values) {
  if (b.extent <= 0 || b.inner <= 0) return;
  for (size_t j = 0; j < n; ++j) {
    const auto index = static_cast<int64_t>((first + j) / static_cast<uint64_t>(b.inner) %
                                            static_cast<uint64_t>(b.extent));
    if (index >= b.first && index < b.last) values[j] *= b.factor;
  }
}

void round_to(DType dtype, size_t n, double* values) {
  switch (dtype) {
    case DType::F32:
      for (size_t j = 0; j < n; ++j) values[j] = static_cast<float>(values[j]);
      return;
    case DType::F16:
    case DType::BF16: {
      const Ty type = dtype_ty(dtype);
      for (size_t j = 0; j < n; ++j) {
        values[j] = ieee_to_double(type, ieee_from_double(type, values[j]));
      }
      return;
    }
    default:
      return;
  }
}

}  // namespace

std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> c, std::array<uint32_t, 2> key) {
  for (int r = 0; r < kRounds; ++r) {
    const uint64_t p0 = uint64_t{kMul0} * c[0], p1 = uint64_t{kMul1} * c[2];
    c = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ key[0], static_cast<uint32_t>(p1),
         static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ key[1], static_cast<uint32_t>(p0)};
    key = {key[0] + kWeyl0, key[1] + kWeyl1};
  }
  return c;
}

void philox_words(uint64_t seed, uint64_t input, uint64_t first, size_t n, uint32_t* out) {
  size_t j = 0;
  for (; j + kLanes <= n; j += kLanes) philox_lanes(seed, input, first + j, out + j);
  if (j == n) return;
  uint32_t rest[kLanes];
  philox_lanes(seed, input, first + j, rest);
  std::copy(rest, rest + (n - j), out + j);
}

void draw_values(uint64_t seed, uint64_t input, const Draw& draw, DType dtype, uint64_t first,
                 size_t n, double* out) {
  constexpr size_t kChunk = 1024;
  uint32_t words[kChunk];
  for (size_t j = 0; j < n; j += kChunk) {
    const size_t count = std::min(kChunk, n - j);
    philox_words(seed, input, first + j, count, words);
    for (size_t k = 0; k < count; ++k) out[j + k] = map_unit(draw, (words[k] >> 8) * 0x1p-24);
  }
  apply_band(draw.band, first, n, out);
  round_to(dtype, n, out);
}

}  // namespace assay::program
