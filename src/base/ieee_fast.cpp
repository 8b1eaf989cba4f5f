#include "base/ieee_impl.h"

#define FAST_HAS_FMA 0

namespace assay::ieee {
namespace {
#include "base/ieee_fast.inc"
}  // namespace

FastFn fast_baseline(Fn fn, Ty type, bool ftz) { return pick(fn, type, ftz); }

}  // namespace assay::ieee
