#pragma once
// The golden file: what a device gave for every row. Rows are found by their text, so that rows may
// be added without recording anew; the operands' hash shows when a row's table has changed.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/gpu/opcodes/rows.h"

namespace assay::opcodes {

struct GoldenRow {
  uint64_t operand_hash = 0;
  std::vector<uint64_t> results;  // kTuples values
};
using Golden = std::map<std::string, GoldenRow>;  // by Row::ptx

uint64_t operand_hash(const Row& r);

// Little-endian: "ASSAYOP1", rows, then for each row the length of its text, the text, bytes of one
// result, hash, results. Both return false if the file cannot be written or is malformed.
bool write_golden(const std::string& path, const Golden& golden);
bool read_golden(const std::string& path, Golden* golden);

}  // namespace assay::opcodes
