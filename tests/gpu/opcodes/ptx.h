#pragma once
// The PTX module that runs every row: entry r<i>(operands, results, n), one thread a tuple.
// Operands lie as four 64-bit words a tuple, results as one.
#include <string>
#include <vector>

#include "tests/gpu/opcodes/rows.h"

namespace assay::opcodes {

std::string entry_name(size_t row);
std::string entry_text(size_t row);  // the .entry alone
std::string module_header();         // .version, .target, .address_size
std::string module_text();           // header and all entries

}  // namespace assay::opcodes
