// Lane operations for any x86-64, and the choice at run time.
#include "machine/lanes.h"
#include "machine/lanes_impl.inc"

namespace assay::machine {

const LaneTable& lanes_v3();  // lanes_v3.cpp

const LaneTable& lanes() {
  static const LaneTable& table =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? lanes_v3() : kTable;
  return table;
}

}  // namespace assay::machine
