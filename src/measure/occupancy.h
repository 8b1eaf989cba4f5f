#pragma once
#include "region/map.h"

namespace assay::measure {

// How many CTAs of each kernel an SM holds by the device model (machine/device.h); dynamic shared
// memory is not known and counted as none. `threads`: of a CTA; 0: the kernel's own bound, else
// 128, 256, 512 and 1024. Where there is no model of the architecture, that is said.
void add_occupancy(uint32_t threads, region::RegionMap* map);

}  // namespace assay::measure
