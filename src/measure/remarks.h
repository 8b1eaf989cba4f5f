#pragma once
#include "region/map.h"

namespace assay::measure {

// What ptxas -v wrote, to the functions it speaks of: spilled bytes, and every warning or remark.
void add_remarks(const std::string& text, region::RegionMap* map);

}  // namespace assay::measure
