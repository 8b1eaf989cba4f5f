#pragma once
// Arithmetic on Affine (nest.h). Missing coefficients count as zero.
#include <algorithm>
#include <cstdint>

#include "tensor/nest.h"

namespace assay::tensor {

inline Affine affine(int64_t constant) { return Affine{constant, {}}; }

inline Affine affine_iter(int k, int64_t coeff = 1) {
  Affine a;
  a.coeff.assign(static_cast<size_t>(k) + 1, 0);
  a.coeff.back() = coeff;
  return a;
}

inline int64_t coeff_of(const Affine& a, size_t k) { return k < a.coeff.size() ? a.coeff[k] : 0; }

inline Affine operator+(Affine a, const Affine& b) {
  a.constant += b.constant;
  if (a.coeff.size() < b.coeff.size()) a.coeff.resize(b.coeff.size(), 0);
  for (size_t k = 0; k < b.coeff.size(); ++k) a.coeff[k] += b.coeff[k];
  return a;
}

inline Affine operator*(Affine a, int64_t factor) {
  a.constant *= factor;
  for (int64_t& c : a.coeff) c *= factor;
  return a;
}

inline Affine operator+(Affine a, int64_t constant) {
  a.constant += constant;
  return a;
}

inline bool is_constant(const Affine& a) {
  return std::all_of(a.coeff.begin(), a.coeff.end(), [](int64_t c) { return c == 0; });
}

inline bool operator==(const Affine& a, const Affine& b) {
  if (a.constant != b.constant) return false;
  for (size_t k = 0; k < std::max(a.coeff.size(), b.coeff.size()); ++k) {
    if (coeff_of(a, k) != coeff_of(b, k)) return false;
  }
  return true;
}

// Smallest and largest value over the box 0 <= iter[k] < extents[k] (all extents > 0).
struct Range {
  int64_t lo = 0, hi = 0;
};
template <class Extents>
Range range_of(const Affine& a, const Extents& extents) {
  Range r{a.constant, a.constant};
  for (size_t k = 0; k < a.coeff.size(); ++k) {
    int64_t span = a.coeff[k] * (extents[k] - 1);
    (span < 0 ? r.lo : r.hi) += span;
  }
  return r;
}

}  // namespace assay::tensor
