#pragma once
// What changed between two region maps: kernels and regions matched by identity, with the static
// causes beside each; and which of the changes are regressions.
#include <optional>
#include <string>
#include <vector>

#include "region/map.h"

namespace assay::measure {

// A static quantity that differs, of a kernel or a region.
struct Change {
  std::string what;  // "registers", "spill loads", "global load width", "tensor"
  std::string unit;  // "", "B", "instructions"
  double before = 0, after = 0;
  bool worse =
      false;          // known to cost: spills, lost tensor cores, TMA or width; else only different
  std::string words;  // what is lost by name: "HGMMA.64x64x16.F32"; may be ""
};

enum class Match : uint8_t { Same, Changed, Added, Removed };
const char* match_name(Match m);

struct RegionDiff {
  Match match = Match::Same;
  region::Kind kind = region::Kind::Line;
  std::string id, label, text;  // of B where there is one, else of A
  std::string file;
  uint32_t line_a = 0, line_b = 0, depth = 0;
  int64_t instructions_a = 0, instructions_b = 0;  // without children
  std::vector<Change> changes;
};

struct KernelDiff {
  Match match = Match::Same;
  std::string name, symbol;
  int64_t instructions_a = 0, instructions_b = 0;
  std::vector<Change> changes;
  std::vector<RegionDiff> regions;  // in the order of B's tree, removed ones behind their siblings
};

struct Diff {
  std::string input_a, input_b;
  bool comparable = true;  // false: one counts machine instructions, the other PTX ones
  std::vector<KernelDiff> kernels;
  std::vector<std::string> missing;
};

Diff compare(const region::RegionMap& a, const region::RegionMap& b);

// What `guard` refuses.
struct GuardLimits {
  double code_growth = 0.10;          // of a kernel's instructions, as a fraction
  uint32_t code_slack = 16;           // instructions that a kernel may grow by in any case
  std::optional<uint32_t> registers;  // growth allowed; none: not looked at
};

struct Breach {
  std::string kernel, what;  // "spills: 0 B before, 144 B now"
};

// Spills that grew, tensor cores, TMA, cp.async or width of memory accesses that a kernel lost,
// code growth, kernels that are gone.
std::vector<Breach> guard(const Diff& diff, const GuardLimits& limits);

}  // namespace assay::measure
