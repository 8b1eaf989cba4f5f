// Lane operations for AVX2 with FMA (compiled with -march=x86-64-v3, see extra.cmake).
#include "machine/lanes.h"
#include "machine/lanes_impl.inc"

namespace assay::machine {

const LaneTable& lanes_v3();
const LaneTable& lanes_v3() { return kTable; }

}  // namespace assay::machine
