#pragma once
// What the files of FieldDomain share: loops over lanes, and small functions of single images.
#include <bit>

#include "term/field_domain.h"

namespace assay::term {

template <class F>
void for_lanes(uint32_t mask, F&& f) {
  for (; mask != 0; mask &= mask - 1) f(__builtin_ctz(mask));
}

inline void clear_marks(FieldDomain::Row& r) {
  r.raw = r.pinf = r.ninf = r.undef = r.taint = r.lazy = 0;
}

inline FieldDomain::Pair FieldDomain::pair_of(double image) {
  const double* e = facts_.exponents.find(image);
  return {image, e != nullptr ? *e : e_hash(image)};
}

// No value of the type at hand is below this constant.
inline bool FieldDomain::is_lowest(double image) const {
  const uint32_t width = is_float(op_type_) ? bits(op_type_) : 64;
  return image == neg_max_f64_ || (width <= 32 && image == neg_max_f32_) ||
         (op_type_ == Ty::F16 && image == neg_max_f16_);
}

// A selection of values and one of their indices ask for the same extremum, a row apart.
inline FieldDomain::Pair FieldDomain::extremum_again(bool is_max, Pair a, Pair b) {
  const uint64_t key = mix64(std::bit_cast<uint64_t>(a.v) ^ (std::bit_cast<uint64_t>(b.v) << 1)) +
                       static_cast<uint64_t>(is_max) + static_cast<uint64_t>(op_type_) * 2;
  Recent& r = recent_[key % recent_.size()];
  if (r.a != a.v || r.b != b.v || r.is_max != is_max || r.type != op_type_)
    r = {a.v, b.v, is_max, op_type_, extremum1(is_max, a, b)};
  return r.result;
}

}  // namespace assay::term
