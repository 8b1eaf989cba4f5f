#pragma once
// Internal to classes: what one CTA of a launch computes, up to a shift of each buffer.
#include <cstdint>
#include <vector>

#include "check/classes.h"
#include "term/field.h"

namespace assay::check {

struct Hash {
  uint64_t a = 1, b = 2;
  void add(uint64_t x) {
    a = term::mix64(a ^ x);
    b = term::mix64(b * 0x9e3779b97f4a7c15ULL + x);
  }
  void add(const Hash& h) { add(h.a), add(h.b); }
  bool operator==(const Hash&) const = default;
};

// A CTA as far as it writes wanted elements of a buffer. Equal hashes: traces alike up to a shift.
struct Signed {
  Hash hash;
  ClassMember member;
  std::vector<int64_t> written;
  std::vector<int> looked_up;
  bool all_wanted = true;  // what it stores to the buffer
};

// What a CTA does for elements [first, first + count) of a buffer. keep: with all of `written`,
// else one of them. Errors: of the trace; Unsupported (atomics, stores at data-dependent
// addresses).
Result<Signed> sign(const PreparedLaunch& launch, uint32_t cta, int buffer, int64_t first,
                    int64_t count, bool keep);

}  // namespace assay::check
