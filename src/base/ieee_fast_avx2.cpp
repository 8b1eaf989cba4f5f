// Compiled for AVX2 and FMA where the compiler targets x86-64 (extra.cmake); called only on
// processors that have both.
#include "base/ieee_impl.h"
#include "base/vectorize.h"

#if defined(__AVX2__) && defined(__FMA__)
#define FAST_HAS_FMA 1

namespace assay::ieee {
namespace {
#include "base/ieee_fast.inc"
}  // namespace

bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
FastFn fast_avx2(Fn fn, Ty type, bool ftz) { return pick(fn, type, ftz); }
FastFn fast_cvt_avx2(Fn fn, Ty to, Ty from) { return pick_cvt(fn, to, from); }

}  // namespace assay::ieee
#else
namespace assay::ieee {
bool has_avx2() { return false; }
FastFn fast_avx2(Fn, Ty, bool) { return nullptr; }
FastFn fast_cvt_avx2(Fn, Ty, Ty) { return nullptr; }
}  // namespace assay::ieee
#endif
