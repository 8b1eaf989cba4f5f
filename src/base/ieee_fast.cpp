#include "base/ieee_impl.h"
#include "base/vectorize.h"

#define FAST_HAS_FMA 0

namespace assay::ieee {
namespace {
#include "base/ieee_fast.inc"
}  // namespace

FastFn fast_baseline(Fn fn, Ty type, bool ftz) { return pick(fn, type, ftz); }
FastFn fast_cvt_baseline(Fn fn, Ty to, Ty from) { return pick_cvt(fn, to, from); }

}  // namespace assay::ieee
