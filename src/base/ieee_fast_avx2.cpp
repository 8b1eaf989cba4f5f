// Compiled for AVX2 and FMA where the compiler targets x86-64 (extra.cmake); called only on
// processors that have both.
#include "base/ieee_impl.h"

#if defined(__AVX2__) && defined(__FMA__)
#define FAST_HAS_FMA 1

namespace assay::ieee {
namespace {
#include "base/ieee_fast.inc"
}  // namespace

FastFn fast_avx2(Fn fn, Ty type, bool ftz) {
  static const bool usable = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return usable ? pick(fn, type, ftz) : nullptr;
}

}  // namespace assay::ieee
#else
namespace assay::ieee {
FastFn fast_avx2(Fn, Ty, bool) { return nullptr; }
}  // namespace assay::ieee
#endif
