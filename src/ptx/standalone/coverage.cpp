// Writes docs/ptx-coverage.md from ops.def: assay_ptx_coverage FILE; with --check it only says
// whether the file is up to date (exit code 1: it is not).
#include <fmt/format.h>

#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <string>

#include "ptx/form.h"

namespace assay::ptx {
namespace {

std::string_view family_name(Family f) {
  switch (f) {
    case Family::Int:
      return "integer";
    case Family::Fp:
      return "floating point";
    case Family::Half:
      return "half precision";
    case Family::Cvt:
      return "conversion";
    case Family::Mov:
      return "move and select";
    case Family::Mem:
      return "memory";
    case Family::Atom:
      return "atomics";
    case Family::Sync:
      return "synchronization";
    case Family::Warp:
      return "warp collectives";
    case Family::Ctl:
      return "control";
    case Family::Misc:
      return "miscellaneous";
    case Family::Tensor:
      return "tensor, texture and asynchronous";
  }
  return "";
}

std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

std::string page() {
  std::map<Family, std::pair<int, int>> counts;  // executed, all
  std::string rows;
  int executed = 0;
  for (int k = 0; k < static_cast<int>(Op::Count); ++k) {
    const OpRow& r = row(static_cast<Op>(k));
    const bool runs = r.status == OpStatus::Executed;
    counts[r.family].first += runs;
    counts[r.family].second += 1;
    executed += runs;
    rows += fmt::format("| {} | `{}` | {} | {} | {} | {}.{} | sm_{} | {} |\n", r.section,
                        r.spelling, r.name, r.syntax.empty() ? "" : "`" + escaped(r.syntax) + "`",
                        r.operands.empty() ? "" : "`" + escaped(r.operands) + "`", r.min_ptx / 10,
                        r.min_ptx % 10, r.min_sm, runs ? "executed" : "parsed");
  }
  std::string out =
      "# PTX coverage\n\nMade from `src/ptx/ops.def` by `assay_ptx_coverage`; do not edit.\n\n"
      "*Executed* forms run on the virtual GPU. *Parsed* forms are recognised, and a kernel that "
      "uses one is reported as unsupported by its name. The notation is explained at the head of "
      "`ops.def`.\n\n";
  out += fmt::format("{} forms, {} of them executed.\n\n", static_cast<int>(Op::Count), executed);
  out += "| family | executed | forms |\n|---|---|---|\n";
  for (const auto& [family, n] : counts) {
    out += fmt::format("| {} | {} | {} |\n", family_name(family), n.first, n.second);
  }
  out += "\n| PTX ISA section | opcode | form | words | operands | PTX | target | status |\n";
  out += "|---|---|---|---|---|---|---|---|\n" + rows;
  return out;
}

}  // namespace
}  // namespace assay::ptx

int main(int argc, char** argv) {
  const bool check = argc == 3 && std::string_view(argv[1]) == "--check";
  if (argc != 2 && !check) {
    std::cerr << "usage: assay_ptx_coverage [--check] FILE\n";
    return 4;
  }
  const std::string text = assay::ptx::page();
  const char* path = argv[argc - 1];
  if (!check) {
    std::ofstream out(path, std::ios::binary);
    out << text;
    out.close();
    if (!out) std::cerr << path << ": cannot write\n";
    return out ? 0 : 4;
  }
  std::ifstream in(path, std::ios::binary);
  const std::string have{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (have == text) return 0;
  std::cerr << path << " is not up to date: run assay_ptx_coverage " << path << "\n";
  return 1;
}
