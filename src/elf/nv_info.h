#pragma once
// Resources of functions, from the .nv.info sections.
#include "elf/cubin.h"

namespace assay::elf {

// Fills in what Cubin::functions lack. Entries that are cut off or name no function are passed
// over.
void read_nv_info(Cubin* cubin);

}  // namespace assay::elf
