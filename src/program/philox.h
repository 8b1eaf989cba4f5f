#pragma once
// The counter-based generator of witnesses: Philox4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel
// random numbers: as easy as 1, 2, 3", SC 2011). Any element of any input can be made alone, with
// the same bits in C++ and in numpy (python/assay/philox.py).
#include <array>
#include <cstddef>
#include <cstdint>

#include "program/program.h"

namespace assay::program {

std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

// Word 0 of the block with key (seed low, seed high) and counter (element low, element high, input
// low, input high), for elements first .. first + n.
void philox_words(uint64_t seed, uint64_t input, uint64_t first, size_t n, uint32_t* out);

// How the elements of one input are drawn. u = (word >> 8) * 2^-24 in [0, 1); every operation is
// one correctly rounded double operation, in the order written, so that C++ and numpy agree.
struct Draw {
  enum class Kind : uint8_t {
    Uniform,   // lo + (hi - lo) * u
    Grid,      // lo + step * floor(u * count): ties and boundaries
    Constant,  // lo
    Integers   // floor(lo + (hi - lo) * u), hi exclusive
  } kind = Kind::Uniform;
  double lo = -1, hi = 1;
  double step = 1;
  int64_t count = 1;

  // Elements whose index along one dimension lies in [first, last) are multiplied by `factor`: that
  // index is (element / inner) mod extent. No band: extent 0.
  struct Band {
    int64_t inner = 1, extent = 0, first = 0, last = 0;
    double factor = 1;
    bool operator==(const Band&) const = default;
  } band = {};

  bool operator==(const Draw&) const = default;
};

// Elements first .. first + n of the input, rounded to nearest even in `dtype` if it is a float
// type. Elements count from the start of the input's buffer.
void draw_values(uint64_t seed, uint64_t input, const Draw& draw, DType dtype, uint64_t first,
                 size_t n, double* out);

}  // namespace assay::program
